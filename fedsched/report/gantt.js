// The Gantt chart: a row a node, a bar a job and run of neighbouring nodes, or a bar a job and node if jobs share nodes.
// Drawn whole on every change of the window; ten thousand jobs take a few milliseconds.
const gantt = { canvas: byId("gantt"), shown: null, jobs: null, near: -1, by: "job", pattern: null };
const AXIS = 24;
const CELLS_ACROSS = 256; // of a thinned plan's shading that a window shows at least, and
const CELLS_DOWN = 64;
const LEAST_NODE = 8; // pixels of a node's row from which on lines divide nodes that jobs share, and
const LEAST_LINE = 1.5; // of a bar's height there
const WAITS = [0, 600, 3600, 21600, 86400]; // seconds: the classes of colour by waiting
const ganttHeight = () => Math.min(560, Math.max(200, Math.round(rows * (gantt.shown?.plan.low ? 28 : 2.4))));

function colouring() {
  // The bars of each colour; a colour is set once a frame.
  const { shown, jobs, by } = gantt;
  const users = by === "user" ? new Map([...new Set(jobs.user)].map((user, k) => [user, k])) : null;
  const buckets = Array.from({ length: 8 }, () => []);
  for (let b = 0; b < shown.bars.count; b += 1) {
    const j = shown.bars.job[b];
    let k = j % 8;
    if (by === "user") k = users.get(jobs.user[j]) % 8;
    if (by === "cluster") k = shown.clustersPerJob[j] > 1 ? 1 : 0;
    if (by === "wait") k = WAITS.findLastIndex((least) => waitOf(shown, jobs, j) >= least);
    buckets[Math.max(k, 0)].push(b);
  }
  gantt.buckets = buckets;
}

function hatching(context, style) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = style;
  pen.lineWidth = 1.2;
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

function drawGantt() {
  const { shown, near } = gantt;
  if (!shown) return;
  const colours = theme();
  const { context, width, height } = sharp(gantt.canvas, ganttHeight() + AXIS);
  const bottom = height - AXIS;
  const left = gutter();
  const across = (width - 1 - left) / (view.to - view.from);
  const down = bottom / (view.bottom - view.top);
  const x = (time) => left + (time - view.from) * across;
  const y = (row) => (row - view.top) * down;
  drawGround(context, colours, { left, width, bottom, x, y });
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left, bottom);
  context.clip();
  drawDark(context, colours, shown.dark, { x, y, across, down });
  context.fillStyle = hatching(context, colours.soft);
  for (const one of shown.closed) context.fillRect(x(one.begin), y(one.row), (one.end - one.begin) * across, one.height * down);
  drawReserved(context, colours, shown.reserved, { x, y, across, down });
  drawLost(context, colours, shown.lost, { x, y, across, down });
  if (shown.shading) drawShading(context, colours, { left, width, bottom, x, y });
  const { begin, end, row, height: size, job } = shown.bars;
  const gap = down >= 5 ? 1 : 0;
  const seen = (b) => end[b] > view.from && begin[b] < view.to && row[b] < view.bottom && row[b] + size[b] > view.top;
  const divided = shown.plan.low && down >= LEAST_NODE;
  const crossing = [];
  const lettered = [];
  const thin = [];
  const palette = gantt.by === "wait" ? colours.waits : colours.bars;
  for (const [k, bucket] of gantt.buckets.entries()) {
    context.fillStyle = palette[k % palette.length];
    for (const b of bucket) {
      if (!seen(b)) continue;
      if (divided && size[b] * down < LEAST_LINE) {
        thin.push([b, context.fillStyle]);
        continue;
      }
      const wide = (end[b] - begin[b]) * across;
      const high = size[b] * down;
      // What is thinner than a pixel is paler, so that a crowd of short jobs looks as full as it is.
      context.globalAlpha = Math.max(Math.min(wide, 1) * Math.min(high, 1), 0.12);
      context.fillRect(x(begin[b]), y(row[b]), Math.max(wide - (wide > 4 ? 1 : 0), 1), Math.max(high - gap, 1));
      if (wide > 3 && high > 3 && shown.clustersPerJob[job[b]] > 1) crossing.push(b);
      if (wide > 26 && high > 12) lettered.push(b);
    }
  }
  context.globalAlpha = 1;
  if (divided) drawBorders(context, colours, { left, width, y });
  for (const [b, style] of thin) { // over the borders, else a job of few cores cannot be seen
    context.fillStyle = style;
    context.fillRect(x(begin[b]), y(row[b]), Math.max((end[b] - begin[b]) * across, 1), LEAST_LINE);
  }
  context.fillStyle = hatching(context, colours.hatch);
  for (const b of crossing) context.fillRect(x(begin[b]), y(row[b]), (end[b] - begin[b]) * across - 1, size[b] * down - gap);
  context.fillStyle = colours["on-bar"];
  context.textAlign = "center";
  for (const b of lettered) {
    const [from, to] = [Math.max(x(begin[b]), left), Math.min(x(end[b]), width)];
    const text = String(gantt.jobs.id[job[b]]);
    if (shown.clustersPerJob[job[b]] > 1 || context.measureText(text).width + 8 > to - from) continue;
    context.fillText(text, (from + to) / 2, y(row[b] + middleOf(shown, size[b])));
  }
  if (near >= 0) {
    context.strokeStyle = colours.ink;
    for (let b = shown.barOfJob[near]; b >= 0 && job[b] === near; b += 1) {
      const wide = Math.max((end[b] - begin[b]) * across, 3);
      const high = size[b] * down;
      context.lineWidth = shown.plan.low && high < 8 ? 1 : 2; // frames of thin neighbours would be one black patch
      context.strokeRect(x(begin[b]) - 1, y(row[b]) - 1, wide + 1, Math.max(high, shown.plan.low ? 1 : 3) + 1);
    }
  }
  context.restore();
  drawCursor(context, colours, x, bottom, left);
  gantt.canvas.setAttribute("aria-label", `${gantt.name}, from ${duration(view.from)} to ${duration(view.to)}`);
}

// Where a bar has its text: never between two nodes if lines divide them.
const middleOf = (shown, size) => (shown.plan.low && size > 1 ? Math.floor(size / 2) + 0.5 : size / 2);

function drawBorders(context, colours, { left, width, y }) {
  context.strokeStyle = colours.ink;
  context.lineWidth = 0.6;
  context.beginPath();
  for (const group of groups) {
    for (let node = 0; node <= group.count; node += 1) {
      if (group.top + node < view.top || group.top + node > view.bottom) continue;
      context.moveTo(left, y(group.top + node));
      context.lineTo(width, y(group.top + node));
    }
  }
  context.stroke();
}

function drawDark(context, colours, dark, { x, y, across, down }) {
  context.fillStyle = colours.rule;
  for (const one of dark) {
    context.globalAlpha = one.changes ? 0.45 : 1;
    context.fillRect(x(one.begin), y(one.row), (one.end - one.begin) * across, one.height * down);
  }
  context.globalAlpha = 1;
}

function drawReserved(context, colours, reserved, { x, y, across, down }) {
  context.strokeStyle = context.fillStyle = colours.ink;
  context.lineWidth = 1;
  context.textAlign = "left";
  for (const one of reserved) {
    const [wide, high] = [(one.end - one.begin) * across, one.height * down];
    context.strokeRect(x(one.begin) + 0.5, y(one.row) + 0.5, Math.max(wide - 1, 1), Math.max(high - 1, 1));
    if (high > 12 && context.measureText(one.name).width < wide - 8) context.fillText(one.name, x(one.begin) + 4, y(one.row) + 10);
  }
}

function drawLost(context, colours, lost, { x, y, across, down }) {
  const hatch = hatching(context, colours.ink);
  for (const one of lost) {
    const size = [Math.max((one.end - one.begin) * across, 1), Math.max(one.height * down, 1)];
    context.globalAlpha = 0.35;
    context.fillStyle = colours.bars[one.job % colours.bars.length];
    context.fillRect(x(one.begin), y(one.row), ...size);
    context.globalAlpha = 1;
    context.fillStyle = hatch;
    context.fillRect(x(one.begin), y(one.row), ...size);
  }
}

// What has a name beside its rows: each group, or the whole cluster if its groups are scattered over its nodes.
const named = groups.filter((group, g) => !data.clusters[group.cluster].scattered || group.cluster !== groups[g - 1]?.cluster)
  .map((group) => (data.clusters[group.cluster].scattered ? { ...group, all: true, count: data.clusters[group.cluster].groups.reduce((sum, one) => sum + one.count, 0) } : group));

function drawGround(context, colours, { left, width, bottom, x, y }) {
  context.save();
  context.beginPath();
  context.rect(0, 0, width, bottom);
  context.clip();
  context.fillStyle = colours.lane;
  for (const group of groups) context.fillRect(left, y(group.top), width - left, y(group.top + group.count) - y(group.top));
  context.fillStyle = colours.ink;
  context.textAlign = "right";
  let nextFree = -Infinity;
  for (const group of named) {
    const several = !group.all && data.clusters[group.cluster].groups.length > 1;
    const [top, end] = [Math.max(y(group.top), 0), Math.min(y(group.top + group.count), bottom)];
    const middle = (top + end) / 2;
    if (end - top < 6 || middle - 7 < nextFree) continue;
    const name = data.clusters[group.cluster].name;
    const text = several ? `${name} ${group.name || group.position}` : name;
    const two = end - top > 30;
    context.fillStyle = colours.ink;
    context.fillText(shortened(context, text, left - 10), left - 8, middle - (two ? 8 : 0));
    context.fillStyle = colours.soft;
    if (two) context.fillText(shortened(context, left < 100 ? String(group.count) : `${group.count.toLocaleString("en")} nodes`, left - 10), left - 8, middle + 8);
    nextFree = middle + (two ? 16 : 8);
  }
  context.restore();
  drawTimes(context, colours, { left, width, bottom, x });
}

function drawShading(context, colours, { left, width, bottom, x, y }) {
  // Beneath the bars, in one colour; each group's cells on its own rows.
  const { thinned, shading } = gantt.shown;
  const { canvas } = shading;
  if (shading.colour !== colours.bars[2]) {
    const pen = canvas.getContext("2d");
    pen.globalCompositeOperation = "source-in";
    pen.fillStyle = shading.colour = colours.bars[2];
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }
  context.imageSmoothingEnabled = (view.to - view.from) / thinned.seconds > width; // smooth where cells are less than pixels
  context.imageSmoothingQuality = "high";
  const [from, to] = [Math.max(view.from, 0), Math.min(view.to, gantt.shown.until)];
  for (const [g, group] of groups.entries()) {
    const [first, last] = [Math.max(view.top - group.top, 0), Math.min(view.bottom - group.top, group.count)];
    if (last <= first || to <= from) continue;
    const top = thinned.firstRows[g] + first / thinned.nodes;
    context.drawImage(canvas, from / thinned.seconds, top, (to - from) / thinned.seconds, (last - first) / thinned.nodes,
      x(from), y(group.top + first), x(to) - x(from), y(group.top + last) - y(group.top + first));
  }
}

function drawTimes(context, colours, { left, width, bottom, x }) {
  context.textAlign = "center";
  context.strokeStyle = colours.rule;
  context.fillStyle = colours.soft;
  context.lineWidth = 1;
  for (const [time, text] of timeTicks(view.from, view.to, (width - left) / 95)) {
    const at = Math.round(x(time)) + 0.5;
    context.beginPath();
    context.moveTo(at, 0);
    context.lineTo(at, bottom + 4);
    context.stroke();
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(at, left + half - 4), width - half), bottom + 14);
  }
}

function drawCursor(context, colours, x, bottom, left) {
  if (view.cursor === null || x(view.cursor) < left) return;
  context.strokeStyle = colours.ink;
  context.lineWidth = 1;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(x(view.cursor), 0);
  context.lineTo(x(view.cursor), bottom);
  context.stroke();
  context.setLineDash([]);
}

function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let kept = text;
  while (kept && context.measureText(`${kept}…`).width > room) kept = kept.slice(0, -1);
  return `${kept}…`;
}

// ---- saying which job ----
function jobLines(j, share = "") {
  const { shown, jobs } = gantt;
  const user = jobs.user[j] >= 0 ? `, user ${jobs.user[j]}` : "";
  return [
    `Job ${jobs.id[j]}${user}`,
    `${shown.plan.low ? `${counted(jobs.tasks[j], "task")} on ${counted(nodesOf(shown, j), "node")}` : counted(jobs.tasks[j], "node")}: ${placesOf(shown, j)}`,
    ...(share ? [share] : []),
    `starts at ${duration(startOf(shown, j))} after waiting ${duration(waitOf(shown, jobs, j))}`,
    `runs ${duration(finishOf(shown, j) - startOf(shown, j))}, asked for ${duration(jobs.estimate[j])}`,
    ...(shown.gear && shown.gear[j] ? [`in gear ${shown.gear[j]}`] : []),
  ];
}

function barAt(time, row) {
  const { bars } = gantt.shown;
  const slack = ((view.to - view.from) / gantt.canvas.clientWidth) * 1.5;
  let found = -1;
  let best = Infinity;
  for (let b = 0; b < bars.count; b += 1) {
    if (row < bars.row[b] || row >= bars.row[b] + bars.height[b]) continue;
    const off = Math.max(bars.begin[b] - time, time - bars.end[b], 0);
    if (off <= slack && off < best) [found, best] = [b, off];
  }
  return found;
}

function point(j, x, y, share = "") {
  const tip = byId("job-tip");
  if (j !== gantt.near) {
    gantt.near = j;
    changed();
  }
  tip.hidden = j < 0;
  if (j < 0) return;
  const [first, ...others] = jobLines(j, share);
  tip.replaceChildren(make("b", {}, first), ...others.map((line) => make("span", {}, line)));
  place(tip, x, y);
}

function place(tip, x, y) {
  // Beside the pointer, inside the plot.
  const room = tip.parentElement.clientWidth;
  const left = x + 16 + tip.offsetWidth > room ? x - 16 - tip.offsetWidth : x + 16;
  tip.style.left = `${Math.min(Math.max(left, 0), Math.max(room - tip.offsetWidth, 0))}px`;
  tip.style.top = `${Math.max(y + 14, 0)}px`;
}

function showJob(j, { zoom = false } = {}) {
  // By keyboard or by number: the job comes into the window, and is said aloud.
  const { shown } = gantt;
  if (j === undefined || j < 0 || !shown.plan.pieces[j]) return false;
  const [begin, end] = [startOf(shown, j), finishOf(shown, j)];
  const b = shown.barOfJob[j];
  const middle = shown.bars.row[b] + shown.bars.height[b] / 2;
  const extent = zoom ? Math.max((end - begin) * 8, view.until * 0.01) : view.to - view.from;
  const outside = begin < view.from || end > view.to || middle < view.top || middle > view.bottom;
  if (zoom || outside) look((begin + end - extent) / 2, (begin + end + extent) / 2, middle - (view.bottom - view.top) / 2, middle + (view.bottom - view.top) / 2);
  const across = (gantt.canvas.clientWidth - gutter()) / (view.to - view.from);
  const x = gutter() + (Math.max(begin, view.from) - view.from) * across;
  point(j, x, ((middle - view.top) / (view.bottom - view.top)) * ganttHeight());
  byId("said").textContent = jobLines(j).join("; ");
  return true;
}

function stepJob(step) {
  const { order } = gantt.shown;
  const at = order.indexOf(gantt.near);
  const first = order.findIndex((j) => startOf(gantt.shown, j) >= view.from);
  showJob(order[at < 0 ? Math.max(first, 0) : Math.min(Math.max(at + step, 0), order.length - 1)]);
}

const GANTT_KEYS = {
  "+": () => zoomTime(1.6), "=": () => zoomTime(1.6), "-": () => zoomTime(1 / 1.6), _: () => zoomTime(1 / 1.6), 0: whole,
  ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), ArrowUp: () => move(0, -0.15), ArrowDown: () => move(0, 0.15),
  PageUp: () => zoomRows(1.6), PageDown: () => zoomRows(1 / 1.6),
  Home: () => move(-1e9), End: () => move(1e9), n: () => stepJob(1), p: () => stepJob(-1), Escape: () => point(-1),
};

function drawLegend() {
  const swatch = (k, name) => shape("svg", { width: 12, height: 12, "aria-hidden": "true" }, shape("rect", { width: 12, height: 12, rx: 2, fill: `var(--${name}${k})` }));
  const entries = [];
  if (gantt.by === "wait") {
    const words = ["under 10 min", "10 min to 1 h", "1 to 6 h", "6 to 24 h", "a day and more"];
    for (const [k, word] of words.entries()) entries.push([swatch(k, "w"), `waited ${word}`]);
  }
  if (gantt.by === "cluster") for (const [k, word] of ["on one cluster", "on several clusters"].entries()) entries.push([swatch(k, "c"), word]);
  if (gantt.shown.plan.low) entries.push(["", "height: the job's share of the node's cores, at least a thin line; an exclusive job fills its nodes"]);
  if (gantt.shown.thinned) entries.push([swatch(2, "c"), "pale: jobs too small to be drawn one by one"]);
  if (gantt.shown.dark.length) entries.push(["", "darker ground: off; between the two: shuts down or boots"]);
  if (gantt.shown.closed.length) entries.push(["", "hatched ground: closed"]);
  if (gantt.shown.reserved.length) entries.push(["", "framed ground: kept by a reservation"]);
  if (gantt.shown.lost.length) entries.push(["", "hatched and pale: lost its nodes to a downtime"]);
  if (gantt.shown.clustersPerJob.some((count) => count > 1)) entries.push(["", "hatched: a job on several clusters"]);
  byId("gantt-legend").replaceChildren(...entries.map(([mark, text]) => make("li", {}, mark, text)));
}

function setUpGantt() {
  const { timeAt, rowAt } = steer(gantt.canvas, ganttHeight);
  gantt.canvas.addEventListener("pointermove", (event) => {
    const inside = event.offsetX >= gutter() && event.offsetY <= ganttHeight() && !gantt.canvas.classList.contains("dragged");
    const row = rowAt(event.offsetY);
    const b = inside ? barAt(timeAt(event.offsetX), row) : -1;
    const { bars, plan } = gantt.shown ?? {};
    point(b < 0 ? -1 : bars.job[b], event.offsetX, event.offsetY, b >= 0 && plan.low ? shareOf(gantt.shown, b, row) : "");
  });
  gantt.canvas.addEventListener("pointerleave", () => point(-1));
  gantt.canvas.addEventListener("keydown", (event) => {
    const act = GANTT_KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  byId("colour-by").addEventListener("change", (event) => {
    gantt.by = event.target.value;
    colouring();
    drawLegend();
    changed();
  });
  const buttons = { "time-in": () => zoomTime(2), "time-out": () => zoomTime(0.5), "rows-in": () => zoomRows(2), "rows-out": () => zoomRows(0.5), whole };
  for (const [id, act] of Object.entries(buttons)) byId(id).addEventListener("click", act);
  view.listeners.push(drawGantt);
}

function setGantt(shown, jobs) {
  const untouched = view.from === 0 && view.to >= view.until * 1.0099;
  Object.assign(gantt, { shown, jobs, near: -1 });
  point(-1);
  view.until = Math.max(shown.until, data.tick);
  const { seconds = 0, nodes = 1 } = shown.thinned ?? {};
  view.leastTime = CELLS_ACROSS * seconds;
  view.leastRows = shown.plan.low ? nodes : shown.thinned ? CELLS_DOWN * nodes : 4;
  colouring();
  drawLegend();
  gantt.name = `Gantt chart of ${shown.entry.label}: ${(shown.thinned?.jobs ?? shown.order.length).toLocaleString("en")} jobs on ${data.clusters.length === 1 ? "one cluster" : `${data.clusters.length} clusters`}`;
  if (untouched) look(0, view.until * 1.01);
  else look(view.from, view.to);
}
