// Beneath the Gantt chart, in the same window of time: watts of the clusters upon each other, and the load of uplinks.
const POWER_HEIGHT = 120;
const LOAD_GAP = 8;
const MANY = 8; // clusters; more are not told apart by colour, and of their uplinks only those that carry something

function grounded(canvas, height) {
  const colours = theme();
  const { context, width } = sharp(canvas, height + AXIS);
  const left = gutter();
  const x = (time) => left + ((time - view.from) * (width - 1 - left)) / (view.to - view.from);
  const time = (at) => view.from + ((at - left) / (width - 1 - left)) * (view.to - view.from);
  return { context, width, colours, left, x, time };
}

// Each pixel shows the mean over its own time, so that areas are energies however far one has zoomed out.
function drawPower() {
  const { shown } = gantt;
  if (!shown) return;
  const { context, width, colours, left, x, time } = grounded(byId("power"), POWER_HEIGHT);
  drawTimes(context, colours, { left, width, bottom: POWER_HEIGHT, x });
  const cap = shown.entry.plan.cap;
  const most = Math.max(shown.peak, ...(cap ? cap.watts : [])) * 1.06 || 1;
  const y = (value) => POWER_HEIGHT - (value / most) * POWER_HEIGHT;
  const [name, size] = scaleOf("W", shown.peak);
  context.textAlign = "right";
  for (const tick of roundTicks(0, most / size, 3)) {
    context.fillStyle = colours.soft;
    context.fillText(`${number(tick)} ${name}`, left - 8, Math.min(Math.max(y(tick * size), 7), POWER_HEIGHT - 6));
  }
  const sums = new Float64Array(width + 1);
  for (const [k, cluster] of shown.clusters.entries()) {
    context.fillStyle = colours.bars[shown.clusters.length > MANY ? 0 : k];
    for (let at = left; at < width; at += 1) {
      const [from, to] = [time(at), Math.min(time(at + 1), shown.until)];
      if (from >= shown.until) break;
      const upper = sums[at] + meanOf(cluster.power, from, to);
      context.fillRect(at, y(upper), 1, y(sums[at]) - y(upper));
      sums[at] = upper;
    }
  }
  const idle = y(shown.clusters.reduce((sum, cluster) => sum + cluster.idleWatts, 0));
  context.strokeStyle = colours.ink;
  context.setLineDash([5, 4]);
  context.beginPath();
  context.moveTo(left, idle);
  context.lineTo(width, idle);
  context.stroke();
  context.setLineDash([]);
  if (cap) {
    context.lineWidth = 1.5;
    context.beginPath();
    cap.times.forEach((begin, i) => {
      const end = i + 1 < cap.times.length ? cap.times[i + 1] : shown.until;
      context.lineTo(Math.max(x(begin), left), y(cap.watts[i]));
      context.lineTo(Math.max(x(end), left), y(cap.watts[i]));
    });
    context.stroke();
    context.lineWidth = 1;
  }
  drawCursor(context, colours, x, POWER_HEIGHT, left);
  sayPower(shown);
}

function sayPower(shown) {
  const at = view.cursor;
  const said = byId("power-said");
  if (at === null || at > shown.until) {
    const capped = shown.entry.plan.cap ? "; line: the cap" : "";
    said.textContent = `mean ${watts(shown.energy / shown.until)}, most ${watts(shown.peak)}; dashed: all nodes idle${capped}`;
    return;
  }
  const values = shown.clusters.map((cluster) => valueAt(cluster.power, at));
  const parts = shown.clusters.length > 1 && shown.clusters.length <= 6 ? ` (${shown.clusters.map((c, k) => `${c.name} ${watts(values[k])}`).join(", ")})` : "";
  said.textContent = `at ${duration(at)}: ${watts(values.reduce((a, b) => a + b, 0))}${parts}`;
}

// Left of a lane, whose it is, and beneath, where there is room, what it measures.
function nameLane(context, colours, left, middle, name, beneath) {
  context.textAlign = "right";
  context.fillStyle = colours.ink;
  context.fillText(shortened(context, name, left - 10), left - 8, middle - (beneath ? 7 : 0));
  context.fillStyle = colours.soft;
  context.fillText(shortened(context, beneath, left - 10), left - 8, middle + 8);
}

function drawLoads() {
  const { shown } = gantt;
  if (!shown) return;
  const canvas = byId("loads");
  const finite = shown.clusters.filter((cluster) => cluster.uplink !== null);
  const linked = finite.length > MANY ? finite.filter((cluster) => cluster.peakLoad > 0) : finite;
  canvas.hidden = !linked.length || !gantt.jobs.bandwidth;
  byId("loads-said").textContent = sayLoads(linked, finite);
  if (canvas.hidden) return;
  const tall = linked.length <= MANY;
  const lane = tall ? 44 : 20;
  const whole = linked.length * (lane + LOAD_GAP);
  const { context, width, colours, left, x, time } = grounded(canvas, whole);
  drawTimes(context, colours, { left, width, bottom: whole, x });
  for (const [i, cluster] of linked.entries()) {
    const base = i * (lane + LOAD_GAP) + lane + LOAD_GAP / 2;
    const most = Math.max(1.15, (cluster.peakLoad / cluster.uplink) * 1.05);
    const high = (load) => (load / cluster.uplink / most) * lane;
    context.fillStyle = colours.lane;
    context.fillRect(left, base - lane, width - left, lane);
    for (let at = left; at < width; at += 1) {
      const [from, to] = [time(at), time(at + 1)];
      if (from >= shown.until) break;
      const [greatest, mean] = [mostOf(cluster.most, from, to), meanOf(cluster.load, from, to)];
      if (!greatest) continue;
      context.fillStyle = colours.bars[greatest > cluster.uplink * (1 + 1e-9) ? 1 : 0];
      context.globalAlpha = 0.4;
      context.fillRect(at, base - high(greatest), 1, high(greatest) - high(mean));
      context.globalAlpha = 1;
      context.fillRect(at, base - high(mean), 1, high(mean));
    }
    context.strokeStyle = colours.ink;
    context.beginPath();
    context.moveTo(left, Math.round(base - high(cluster.uplink)) + 0.5);
    context.lineTo(width, Math.round(base - high(cluster.uplink)) + 0.5);
    context.stroke();
    nameLane(context, colours, left, base - lane / 2, cluster.name, tall ? `${number((cluster.uplink * 8) / 1e9)} Gbit/s` : "");
  }
  drawCursor(context, colours, x, whole, left);
}

function sayLoads(linked, finite) {
  if (!finite.length) return "every uplink is unlimited";
  if (!gantt.jobs.bandwidth) return "no job of this workload communicates";
  if (!linked.length) return "no job runs on several clusters";
  const at = view.cursor;
  if (at === null) return "share of each uplink's bandwidth: mean, and pale the most; the line is all of it";
  const fullest = [...linked].sort((a, b) => valueAt(b.load, at) / b.uplink - valueAt(a.load, at) / a.uplink).slice(0, 4);
  return `at ${duration(at)}: ${fullest.map((c) => `${c.name} ${share(valueAt(c.load, at) / c.uplink)}`).join(", ")}`;
}

// A lane for each price or carbon of a cluster, or of all: its steps from 0, or from its least value, to its most.
const SIGNAL_LANE = 34;
function drawSignals() {
  const { shown } = gantt;
  if (!shown) return;
  const signals = shown.entry.plan.signals || [];
  byId("signals").hidden = byId("signals-strip").hidden = !signals.length;
  byId("signals-said").textContent = saySignals(shown, signals);
  if (!signals.length) return;
  const whole = signals.length * (SIGNAL_LANE + LOAD_GAP);
  const { context, width, colours, left, x } = grounded(byId("signals"), whole);
  drawTimes(context, colours, { left, width, bottom: whole, x });
  for (const [i, signal] of signals.entries()) {
    const base = i * (SIGNAL_LANE + LOAD_GAP) + SIGNAL_LANE + LOAD_GAP / 2;
    const [least, most] = [Math.min(0, ...signal.value), Math.max(0, ...signal.value)];
    const y = (value) => base - ((value - least) / (most - least || 1)) * SIGNAL_LANE;
    context.fillStyle = colours.lane;
    context.fillRect(left, base - SIGNAL_LANE, width - left, SIGNAL_LANE);
    context.fillStyle = signal.cluster < 0 || shown.clusters.length > MANY ? colours.soft : colours.bars[signal.cluster];
    signal.at.forEach((begin, k) => {
      const [from, to] = [Math.max(x(begin), left), Math.min(x(signal.at[k + 1] ?? shown.until), width)];
      const [top, bottom] = [y(Math.max(0, signal.value[k])), y(Math.min(0, signal.value[k]))];
      if (to > from) context.fillRect(from, top, to - from, Math.max(bottom - top, 1));
    });
    nameLane(context, colours, left, base - SIGNAL_LANE / 2, whoseSignal(shown, signal), `≤ ${number(most)} ${signal.unit}`);
  }
  drawCursor(context, colours, x, whole, left);
}

const whoseSignal = (shown, { kind, cluster }) => (cluster < 0 ? kind : `${shown.clusters[cluster].name}, ${kind}`);

function saySignals(shown, signals) {
  const at = view.cursor;
  if (at === null || at > shown.until) return "each from 0, or its least value, to its most";
  return `at ${duration(at)}: ${signals.map((signal) => `${whoseSignal(shown, signal)} ${number(signal.value[placeOf(signal, at)])} ${signal.unit}`).join("; ")}`;
}

function setStrips(shown) {
  shown.energy = shown.clusters.reduce((sum, cluster) => sum + cluster.busyEnergy + cluster.idleEnergy, 0);
  const swatch = (k) => shape("svg", { width: 12, height: 12, "aria-hidden": "true" }, shape("rect", { width: 12, height: 12, rx: 2, fill: `var(--c${k})` }));
  const entries = shown.clusters.length > 1 && shown.clusters.length <= MANY ? shown.clusters.map((cluster, k) => make("li", {}, swatch(k), cluster.name)) : [];
  byId("power-legend").replaceChildren(...entries);
}

function setUpStrips() {
  steer(byId("power"), ganttHeight);
  steer(byId("loads"), ganttHeight);
  steer(byId("signals"), ganttHeight);
  view.listeners.push(drawPower, drawSignals, drawLoads);
}
