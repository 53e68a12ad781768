// Energy by cluster, and what it costs by the reader's own factors.
function factor(id) {
  const input = byId(id);
  return input.value.trim() !== "" && input.validity.valid ? Number(input.value) : null;
}
const money = (kwh, price) => (price === null ? "–" : (kwh * price).toLocaleString("en", { maximumFractionDigits: kwh * price < 100 ? 2 : 0 }));
const weight = (kwh, co2) => {
  if (co2 === null) return "–";
  const kilograms = kwh * co2;
  return Math.abs(kilograms) >= 2000 ? `${number(kilograms / 1000)}${GAP}t` : `${number(kilograms)}${GAP}kg`;
};

function drawEnergy() {
  const { shown } = gantt;
  if (!shown) return;
  const [price, co2] = [factor("price"), factor("co2")];
  const cells = (one) => {
    const kwh = (one.busyEnergy + one.idleEnergy) / KWH;
    return [one.busySeconds / (one.nodes * shown.until || 1), one.busyEnergy, one.idleEnergy, one.busyEnergy + one.idleEnergy, kwh];
  };
  const row = (name, one, peak, load, total = false) => {
    const [busy, used, idle, sum, kwh] = cells(one);
    const values = [one.nodes.toLocaleString("en"), share(busy), fixed(used), fixed(idle), fixed(sum), watts(sum / shown.until), watts(peak), money(kwh, price), weight(kwh, co2), load];
    return make("tr", total ? { class: "total" } : {}, make("th", { scope: "row" }, name), ...values.map((text) => make("td", {}, text)));
  };
  const loadOf = (cluster) => {
    if (cluster.uplink === null || !gantt.jobs.bandwidth) return "–";
    const most = share(cluster.peakLoad / cluster.uplink);
    return cluster.secondsAbove ? `${most}, over for ${duration(cluster.secondsAbove)}` : most;
  };
  const [unit, size] = scaleOf("J", shown.energy / 4);
  const digits = Math.min(Math.max(0, 3 - Math.floor(Math.log10(shown.energy / size || 1))), 4);
  const fixed = (joules) => (joules / size).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  for (const cell of document.querySelectorAll("[data-energy]")) cell.textContent = `${cell.dataset.energy}, ${unit}`;
  const sum = { nodes: 0, busySeconds: 0, busyEnergy: 0, idleEnergy: 0 };
  for (const cluster of shown.clusters) for (const key of Object.keys(sum)) sum[key] += cluster[key];
  const lines = shown.clusters.map((cluster) => row(cluster.name, cluster, cluster.peak, loadOf(cluster)));
  if (shown.clusters.length > 1) lines.push(row("together", sum, shown.peak, "", true));
  byId("energy-rows").replaceChildren(...lines);
  byId("energy-plan").textContent = shown.entry.label;
  byId("energy-said").textContent = [comparison(price, co2), ...atEqualWaits()].filter(Boolean).join(" ");
  const total = (sum.busyEnergy + sum.idleEnergy) / KWH;
  byId("energy-cards").replaceChildren(
    card(`Energy${markOf("energy")}`, energy(total * KWH), `${share(sum.idleEnergy / (total * KWH))} of it by idle nodes`),
    card("Price", ...priced(shown.entry, total, price)),
    card("CO₂", ...weighed(shown.entry, total, co2)),
  );
}

// By the reader's own factor where there is one, else by the signals that the metrics are of.
function priced({ metrics, plan }, kwh, price) {
  if (price !== null) return [money(kwh, price), `at ${price} per kWh`];
  const unit = (plan.signals || []).find((signal) => signal.kind === "price")?.unit;
  return unit ? [`${money(metrics.cost, 1)}${GAP}${unit.split("/")[0]}`, "as its price goes"] : ["–", "enter a price per kWh above"];
}

function weighed({ metrics, plan }, kwh, co2) {
  if (co2 !== null) return [weight(kwh, co2), `at ${co2} kg per kWh`];
  const known = (plan.signals || []).some((signal) => signal.kind === "carbon");
  return known ? [weight(metrics.carbon, 1), "as its carbon goes"] : ["–", "enter kg CO₂ per kWh above"];
}

function card(name, figure, words) {
  return make("div", { class: "card" }, make("h3", {}, name), make("p", { class: "figure" }, figure), make("p", { class: "soft" }, words));
}

function comparison(price, co2) {
  // Beside EASY where it is known, else FCFS: what the shown plan saves.
  const { entry } = gantt.shown;
  const other = ["easy", "fcfs"].map((name) => data.entries.find((one) => one.label === name && one.metrics)).find((one) => one && one !== entry);
  if (!other || !entry.metrics) return "";
  const saved = (other.metrics.energy - entry.metrics.energy) / KWH;
  if (Math.abs(saved * KWH) < EVEN * other.metrics.energy) return `It takes as much energy as ${other.label}.`;
  const parts = [`${energy(Math.abs(saved) * KWH)} (${share((Math.abs(saved) * KWH) / other.metrics.energy)})`];
  if (price !== null) parts.push(`${money(Math.abs(saved), price)} in money`);
  if (co2 !== null) parts.push(`${weight(Math.abs(saved), co2)} of CO₂`);
  return `Against ${other.label} it ${saved >= 0 ? "saves" : "takes"} ${parts.join(", ")}${saved >= 0 ? "" : " more"}.`;
}

const EVEN = 0.0005; // of which no table shows a digit
function atEqualWaits() {
  // Of all schedules whose jobs wait no longer in the mean: which takes the least, and how much less than the shown one.
  const { entry } = gantt.shown;
  if (!entry.metrics) return [];
  const waits = (one) => one.metrics && one.metrics.mean_wait <= entry.metrics.mean_wait * (1 + 1e-9);
  const others = data.entries.filter((one) => one !== entry && waits(one));
  const told = ["energy", "cost", "carbon"].filter((name) => Number.isFinite(entry.metrics[name]) && entry.metrics[name] > 0);
  if (!others.length) return [];
  const parts = told.map((name) => {
    const least = others.reduce((best, one) => (one.metrics[name] < best.metrics[name] ? one : best));
    const more = least.metrics[name] / entry.metrics[name] - 1;
    const beside = Math.abs(more) < EVEN ? "as much" : `${share(Math.abs(more))} ${more > 0 ? "more" : "less"}`;
    return `${beside} ${name} (${least.label})`;
  });
  return [`The thriftiest others whose jobs wait no longer in the mean take ${parts.join(", ")}.`];
}

function setUpEnergy() {
  for (const id of ["price", "co2"]) byId(id).addEventListener("input", drawEnergy);
}
