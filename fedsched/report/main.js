// Everything together: which plan is shown, and drawing again when paper, theme or width change.
const state = { chosen: data.chosen, asked: 0, jobs: null };

async function choose(index) {
  const entry = data.entries[index];
  if (!("DecompressionStream" in window)) {
    byId("shown-words").textContent = "This browser is too old to unpack the schedules; the tables stand.";
    return;
  }
  if (!entry.plan) {
    byId("said").textContent = `${entry.label}: only its values are in this file`;
    return;
  }
  state.chosen = index;
  state.asked += 1;
  const asked = state.asked;
  markChosen();
  byId("shown-plan").value = String(index);
  for (const row of document.querySelectorAll("[data-entry]")) {
    const chosen = Number(row.dataset.entry) === index;
    row.closest("tr").classList.toggle("shown", chosen);
    row.setAttribute("aria-pressed", chosen);
  }
  state.jobs ??= await unpack(data.jobs);
  const shown = await shownPlan(entry, state.jobs);
  if (asked !== state.asked) return; // another was chosen meanwhile
  setStrips(shown);
  setGantt(shown, state.jobs);
  const metrics = entry.metrics;
  byId("shown-words").textContent = [entry.label, ...["makespan", "energy", "mean_wait", "utilisation"].map((name) => `${titled(name)} ${measure(name, metrics[name])}`)].join(" · ");
  jobTable.page = 0;
  drawJobs();
  drawEnergy();
  byId("said").textContent = `${entry.label} is shown`;
  document.documentElement.dataset.shown = String(index);
}

function drawAll() {
  drawFront();
  drawProgress();
  for (const listener of view.listeners) listener();
  drawJobs();
}

function paper() {
  for (const details of document.querySelectorAll("details.printed")) {
    if (printing()) details.dataset.was = String(details.open);
    details.open = printing() || details.dataset.was === "true";
  }
  drawAll();
}

for (const [g, group] of groups.entries()) group.position = g + 1 - groups.findIndex((one) => one.cluster === group.cluster);
setUpGantt();
setUpStrips();
setUpFront();
setUpEnergy();
setUpJobs();
drawFront();
drawProgress();
byId("shown-plan").addEventListener("change", (event) => choose(Number(event.target.value)));
for (const button of document.querySelectorAll("[data-entry]")) button.addEventListener("click", () => choose(Number(button.dataset.entry)));
window.matchMedia("print").addEventListener("change", paper);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  drawAll();
});
choose(state.chosen);
