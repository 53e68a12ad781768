// The plans by two measures: a front to be pointed at, clicked, or walked with the arrow keys.
const front = { points: [], across: null, up: null, only: false };
const RISING = new Set(data.maximised);

const valueOf = (entry, name) => {
  const k = data.objectives.indexOf(name);
  if (k >= 0) return entry.values[k];
  return entry.metrics ? entry.metrics[name] : null;
};
const hasFront = () => byId("front-chart") !== null;

function drawFront() {
  if (!hasFront()) return;
  const holder = byId("front-chart");
  const width = drawnWidth(holder, 480);
  const focused = holder.contains(document.activeElement);
  const chart = front.up === null ? drawValues(width) : drawPlane(width);
  chart.setAttribute("class", "chart");
  chart.setAttribute("role", "listbox");
  chart.setAttribute("aria-label", front.up === null ? `Plans and policies by ${titled(front.across)}` : `Plans by ${titled(front.across)} and ${titled(front.up)}`);
  holder.replaceChildren(chart);
  markChosen();
  if (focused) front.points.find((one) => one.index === state.chosen)?.element.focus();
}

function extentOf(values, margin) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const rounding = 1e-9 * Math.abs(high); // values that differ by less are one
  const pad = ((high - low > rounding && high - low) || Math.abs(high) || 1) * margin;
  return [low - pad, high + pad];
}

function drawPlane(width) {
  const height = Math.round(Math.min(430, Math.max(280, width * 0.6)));
  const [left, right, top, bottom] = [74, 18, 14, height - 48];
  const known = data.entries.map((entry, index) => ({ entry, index, a: valueOf(entry, front.across), b: valueOf(entry, front.up) }));
  const all = known.filter((one) => one.a !== null && one.b !== null);
  const plans = all.filter((one) => one.entry.kind !== "baseline");
  if (!plans.length) {
    front.points = [];
    return shape("svg", { viewBox: `0 0 ${width} 60` }, shape("text", { x: 0, y: 30 }, "this measure is not known of these plans"));
  }
  const [bestA, bestB] = [Math.min(...plans.map((one) => one.a)), Math.min(...plans.map((one) => one.b))];
  const shown = all.filter((one) => one.entry.kind !== "baseline" || (one.a <= 2 * bestA && one.b <= 2 * bestB));
  const near = front.only ? shown.filter(besides(plans)) : shown;
  const away = shown.filter((one) => !near.includes(one));
  const limit = !front.only && front.across === data.objectives[0] && front.up === data.objectives[1] ? data.boundFront : [];
  const [lowA, highA] = extentOf([...near.map((one) => one.a), ...limit.map((one) => one[0])], 0.07);
  const [lowB, highB] = extentOf([...near.map((one) => one.b), ...limit.map((one) => one[1])], 0.09);
  const x = (value) => left + ((value - lowA) / (highA - lowA)) * (width - right - left);
  const y = (value) => bottom - ((value - lowB) / (highB - lowB)) * (bottom - top);
  const chart = shape("svg", { viewBox: `0 0 ${width} ${height}` });
  drawPlaneAxes(chart, { width, height, left, right, top, bottom, x, y, lowA, highA, lowB, highB });
  if (limit.length) {
    const stairs = `M${x(limit[0][0])},${top}` + limit.map(([a, b]) => `L${x(a)},${y(b)}`).join("") + `L${width - right},${y(limit.at(-1)[1])}`;
    chart.append(shape("path", { class: "impossible", d: `${stairs}L${width - right},${bottom}L${left},${bottom}L${left},${top}Z` }));
    chart.append(shape("path", { class: "bound", d: stairs }));
    chart.append(shape("text", { x: left + 8, y: bottom - 8 }, "no schedule can be here"));
  }
  const isFront = plans.length > 1 && plans[0].entry.kind === "plan" && !RISING.has(front.across) && !RISING.has(front.up);
  if (isFront && data.objectives.includes(front.across) && data.objectives.includes(front.up) && data.objectives.length === 2) {
    const sorted = [...plans].sort((one, other) => one.a - other.a);
    let path = `M${x(sorted[0].a)},${y(sorted[0].b)}`;
    for (const one of sorted.slice(1)) path += `H${x(one.a)}V${y(one.b)}`;
    chart.append(shape("path", { class: "stairs", d: path }));
  }
  const order = [...near].sort((one, other) => one.a - other.a || one.b - other.b);
  front.points = order.map((one) => pointOf(chart, one, x(one.a), y(one.b)));
  const inset = away.length ? drawInset(chart, { shown, away, left, right: width - right, top, bottom, seen: [lowA, highA, lowB, highB] }) : "";
  labelPoints(chart, width - right);
  const far = all.filter((one) => !shown.includes(one)).map((one) => one.entry.label);
  byId("front-away").textContent = [inset, far.length ? `Too far off to show: ${far.join(", ")}.` : ""].filter(Boolean).join(" ");
  return chart;
}

// Whether a point lies so near the plans that a picture with it leaves their front room.
const ASIDE = 1.5; // times the front's own extent
function besides(plans) {
  const extents = ["a", "b"].map((key) => {
    const values = plans.map((one) => one[key]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return { key, low: low - ASIDE * (high - low), high: high + ASIDE * (high - low), flat: high - low <= 1e-9 * Math.abs(high) };
  });
  return (one) => extents.every(({ key, low, high, flat }) => flat || (one[key] >= low && one[key] <= high));
}

function drawInset(chart, { shown, away, left, right, top, bottom, seen }) {
  // All of it, small, in the corner that has the fewest points; dashed, what the picture shows.
  const [wide, high, edge] = [(right - left) * 0.34, (bottom - top) * 0.36, 10];
  const corners = [[right - wide, top], [left, top], [right - wide, bottom - high], [left, bottom - high]];
  const inside = ([cornerX, cornerY]) => front.points.filter(({ x, y }) => x > cornerX - 8 && x < cornerX + wide + 8 && y > cornerY - 8 && y < cornerY + high + 8).length;
  const [cornerX, cornerY] = corners.reduce((best, one) => (inside(one) < inside(best) ? one : best));
  const [lowA, highA] = extentOf([...shown.map((one) => one.a), seen[0], seen[1]], 0.02);
  const [lowB, highB] = extentOf([...shown.map((one) => one.b), seen[2], seen[3]], 0.02);
  const x = (value) => cornerX + edge + ((value - lowA) / (highA - lowA)) * (wide - 2 * edge);
  const y = (value) => cornerY + high - edge - ((value - lowB) / (highB - lowB)) * (high - 2 * edge);
  chart.append(shape("rect", { class: "inset", x: cornerX, y: cornerY, width: wide, height: high }));
  const [spanX, spanY] = [Math.max(x(seen[1]) - x(seen[0]), 8), Math.max(y(seen[2]) - y(seen[3]), 8)];
  const [midX, midY] = [x((seen[0] + seen[1]) / 2), y((seen[2] + seen[3]) / 2)];
  chart.append(shape("rect", { class: "seen", x: midX - spanX / 2, y: midY - spanY / 2, width: spanX, height: spanY }));
  for (const one of shown.filter((other) => !away.includes(other))) chart.append(shape("circle", { class: "speck", cx: x(one.a), cy: y(one.b), r: 1.6 }));
  const sorted = [...away].sort((one, other) => one.a - other.a || one.b - other.b);
  front.points.push(...sorted.map((one) => pointOf(chart, one, x(one.a), y(one.b), 3)));
  return "The inset shows the policies farther off; dashed in it: what is drawn large.";
}

function drawPlaneAxes(chart, { width, height, left, right, top, bottom, x, y, lowA, highA, lowB, highB }) {
  const [unitA, unitB] = [axisUnit(front.across, highA), axisUnit(front.up, highB)];
  for (const tick of roundTicks(lowA / unitA.size, highA / unitA.size, (width - left) / 90)) {
    const at = x(tick * unitA.size);
    chart.append(shape("line", { class: "gridline", x1: at, x2: at, y1: top, y2: bottom }));
    chart.append(shape("text", { x: at, y: bottom + 18, "text-anchor": "middle" }, tick.toLocaleString("en")));
  }
  for (const tick of roundTicks(lowB / unitB.size, highB / unitB.size, 6)) {
    const at = y(tick * unitB.size);
    chart.append(shape("line", { class: "gridline", x1: left, x2: width - right, y1: at, y2: at }));
    chart.append(shape("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, tick.toLocaleString("en")));
  }
  chart.append(shape("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, unitA.label));
  chart.append(shape("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)` }, unitB.label));
}

function pointOf(chart, one, x, y, size = 4.5) {
  const { entry, index } = one;
  const round = entry.kind !== "baseline";
  const dot = round ? shape("circle", { class: "dot", cx: x, cy: y, r: size + 1 }) : shape("rect", { class: "dot", x: x - size, y: y - size, width: 2 * size, height: 2 * size, transform: `rotate(45 ${x} ${y})` });
  const words = [titled(front.across), front.up].filter(Boolean).map((_, k) => [front.across, front.up][k]);
  const said = `${entry.label}: ${words.map((name) => `${titled(name)} ${measure(name, valueOf(entry, name))}`).join(", ")}`;
  const element = shape("g", { class: `point ${entry.kind}${entry.plan ? "" : " fixed"}`, role: "option", tabindex: -1, "aria-label": said, "data-index": index }, shape("circle", { class: "halo", cx: x, cy: y, r: 10 }), dot);
  chart.append(element);
  return { index, x, y, element };
}

function labelPoints(chart, right) {
  // Few words: the policies, the knee; what would lie on another label or point is left to the pointer.
  const taken = front.points.map(({ x, y }) => [x - 6, y - 6, x + 6, y + 6]);
  for (const { index, x, y } of front.points) {
    const entry = data.entries[index];
    const text = entry.kind === "baseline" || data.entries.length <= 12 ? entry.label : index === data.knee ? "knee" : "";
    if (!text) continue;
    const wide = 7 * text.length;
    const spots = [[x + 11, y - 9], [x + 11, y + 15], [x - 11 - wide, y - 9], [x - 11 - wide, y + 15]];
    const free = spots.find(([a, b]) => a > 76 && a + wide < right && taken.every((box) => a > box[2] || a + wide < box[0] || b - 11 > box[3] || b + 2 < box[1]));
    if (!free) continue;
    taken.push([free[0], free[1] - 11, free[0] + wide, free[1] + 2]);
    chart.append(shape("text", { class: entry.kind === "baseline" ? "" : "strong", x: free[0], y: free[1] }, text));
  }
}

function drawValues(width) {
  // One objective: a bar for the search and for each policy.
  const name = front.across;
  const sign = RISING.has(name) ? -1 : 1;
  const all = data.entries.map((entry, index) => ({ entry, index, a: valueOf(entry, name) })).filter((one) => one.a !== null);
  all.sort((one, other) => sign * (one.a - other.a));
  const bound = data.bounds[name] ?? null;
  const [left, step] = [Math.min(130, width * 0.3), 26];
  const most = Math.max(...all.map((one) => one.a), 1e-300);
  const x = (value) => left + (Math.max(value, 0) / most) * (width - left - 96);
  const height = all.length * step + 30;
  const chart = shape("svg", { viewBox: `0 0 ${width} ${height}` });
  front.points = all.map((one, k) => {
    const y = k * step + 12;
    const said = `${one.entry.label}: ${titled(name)} ${measure(name, one.a)}`;
    const element = shape("g", { class: `point ${one.entry.kind}${one.entry.plan ? "" : " fixed"}`, role: "option", tabindex: -1, "aria-label": said, "data-index": one.index },
      shape("rect", { class: "halo", x: 1, y: y - 11, width: width - 2, height: 22, rx: 3 }),
      shape("text", { x: left - 8, y: y + 4, "text-anchor": "end", class: one.entry.kind === "plan" ? "strong" : "" }, one.entry.label),
      shape("rect", { class: "bar", x: left, y: y - 7, width: Math.max(x(one.a) - left, 1), height: 14 }),
      shape("text", { x: x(one.a) + 7, y: y + 4 }, measure(name, one.a)));
    chart.append(element);
    return { index: one.index, x: left, y, element };
  });
  if (bound) {
    chart.append(shape("line", { class: "bound", x1: x(bound), x2: x(bound), y1: 0, y2: height - 20 }));
    chart.append(shape("text", { x: x(bound), y: height - 6, "text-anchor": "middle" }, `lower bound ${measure(name, bound)}`));
  }
  return chart;
}

// ---- pointing, walking, choosing ----
function nearest(event) {
  const svg = byId("front-chart").firstElementChild;
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  let best = null;
  let least = 26;
  for (const one of front.points) {
    const off = front.up === null ? Math.abs(one.y - at.y) : Math.hypot(one.x - at.x, one.y - at.y);
    if (off < least) [best, least] = [one, off];
  }
  return best;
}

function readOut(index) {
  // What is said already stays, and so does what holds the focus: an element that is replaced would lose it.
  const key = `${index} ${state.chosen}`;
  if (byId("readout").dataset.key === key || byId("readout").contains(document.activeElement)) return;
  byId("readout").dataset.key = key;
  const entry = data.entries[index];
  const list = make("dl");
  for (const name of data.objectives.filter((one) => !METRIC.has(one))) list.append(make("dt", {}, titled(name)), make("dd", {}, number(valueOf(entry, name))));
  for (const metric of data.metrics) {
    const value = valueOf(entry, metric.name);
    if (value !== null && value !== undefined) list.append(make("dt", { title: metric.meaning }, titled(metric.name)), make("dd", {}, measure(metric.name, value)));
  }
  let below = entry.plan ? "Click to show its schedule." : "Only its values are in this file.";
  if (index === state.chosen) below = make("a", { href: "#schedule" }, "Its schedule is shown below");
  byId("readout").replaceChildren(make("h3", {}, entry.label), make("p", { class: "soft" }, entry.about), list, make("p", { class: "soft screen" }, below));
}

function markChosen() {
  if (!hasFront()) return;
  const there = front.points.some((one) => one.index === state.chosen);
  for (const [k, { index, element }] of front.points.entries()) {
    element.setAttribute("aria-selected", index === state.chosen);
    element.setAttribute("tabindex", index === state.chosen || (!there && k === 0) ? 0 : -1);
  }
  readOut(state.chosen);
}

function hover(one) {
  const tip = byId("front-tip");
  for (const { element } of front.points) element.classList.toggle("near", element === one?.element);
  tip.hidden = !one;
  readOut(one ? one.index : state.chosen);
  if (!one) return;
  const entry = data.entries[one.index];
  const names = [front.across, front.up].filter(Boolean);
  tip.replaceChildren(make("b", {}, entry.label), ...names.map((name) => make("span", {}, `${titled(name)} ${measure(name, valueOf(entry, name))}`)));
  const scale = byId("front-chart").clientWidth / byId("front-chart").firstElementChild.viewBox.baseVal.width;
  place(tip, one.x * scale, one.y * scale);
}

function walk(event) {
  const at = front.points.findIndex(({ element }) => element === document.activeElement);
  if (at < 0) return;
  const last = front.points.length - 1;
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
  if (event.key === "Enter" || event.key === " ") choose(front.points[at].index);
  else if (to === undefined) return;
  else {
    const next = front.points[Math.min(Math.max(to, 0), last)];
    for (const { element } of front.points) element.setAttribute("tabindex", -1);
    next.element.setAttribute("tabindex", 0);
    next.element.focus();
    hover(next);
  }
  event.preventDefault();
}

function setUpFront() {
  if (!hasFront()) return;
  const holder = byId("front-chart");
  [front.across, front.up] = [data.objectives[0], data.objectives[1] ?? null];
  holder.addEventListener("pointermove", (event) => hover(nearest(event)));
  holder.addEventListener("pointerleave", () => hover(null));
  holder.addEventListener("focusout", () => hover(null));
  holder.addEventListener("click", (event) => {
    const one = nearest(event);
    if (one) choose(one.index);
  });
  holder.addEventListener("keydown", walk);
  for (const [id, key] of [["front-across", "across"], ["front-up", "up"]]) {
    byId(id)?.addEventListener("change", (event) => { front[key] = event.target.value; drawFront(); });
  }
  const only = byId("front-only");
  if (only) {
    front.only = only.checked;
    only.addEventListener("change", () => { front.only = only.checked; drawFront(); });
  }
}
