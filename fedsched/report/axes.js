// Scales, the shared window of time, and canvases that are sharp on every screen.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000];

function roundTicks(from, to, most) {
  const rough = (to - from) / Math.max(most, 1);
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = size * [1, 2, 5, 10].find((factor) => factor * size >= rough);
  const ticks = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9 && ticks.length < 40; k += 1) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

function timeTicks(from, to, most) {
  const rough = (to - from) / Math.max(most, 1);
  if (rough < 1) return roundTicks(from, to, most).map((time) => [time, `${time} s`]);
  const step = STEPS.find((one) => one >= rough) || 864000 * Math.ceil(rough / 864000);
  const ticks = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) ticks.push([time, clock(time, step)]);
  return ticks;
}

function clock(time, step) {
  const days = Math.floor(time / 86400);
  const hours = Math.floor((time % 86400) / 3600);
  if (!time) return "0";
  const day = days ? `${days} d` : "";
  if (step >= 86400) return day || "0";
  if (step >= 3600) return hours || !days ? `${day} ${hours} h`.trim() : day;
  const two = (value) => String(value).padStart(2, "0");
  const seconds = step < 60 ? `:${two(Math.floor(time % 60))}` : "";
  return `${day} ${hours}:${two(Math.floor((time % 3600) / 60))}${seconds}`.trim();
}

// An axis reads in the unit that its largest value suggests.
function axisUnit(name, most) {
  const unit = METRIC.has(name) ? METRIC.get(name).unit : "";
  const [text, size] = SCALES[unit] ? scaleOf(unit, most) : [unit, 1];
  return { size, label: text ? `${titled(name)}, ${text}` : titled(name) };
}

function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const found = {};
  for (const name of ["lane", "rule", "ink", "soft", "on-bar", "hatch"]) found[name] = colour(name);
  found.bars = Array.from({ length: 8 }, (_, k) => colour(`c${k}`));
  found.waits = Array.from({ length: 5 }, (_, k) => colour(`w${k}`));
  return found;
}

function sharp(canvas, height) {
  const width = drawnWidth(canvas.parentElement, PAPER);
  const ratio = Math.max(window.devicePixelRatio || 1, printing() ? 3 : 1);
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif';
  context.textBaseline = "middle";
  return { context, width, height };
}
// On paper what is drawn is scaled to the column: it is drawn as wide as its letters are to be read there.
const PAPER = 760;
const drawnWidth = (holder, paper) => (printing() ? paper : Math.max(holder.clientWidth, 200));
const printing = () => window.matchMedia("print").matches;

// The window: what the Gantt chart and the strips beneath show, of time and (the Gantt chart) of rows.
const view = { from: 0, to: 1.01, until: 1, leastTime: 0, top: 0, bottom: rows, leastRows: 4, cursor: null, listeners: [], pending: false };
const gutter = () => (byId("gantt").parentElement.clientWidth < 560 ? 64 : 118);

function changed() {
  // However many events, one drawing a frame.
  if (view.pending) return;
  view.pending = true;
  requestAnimationFrame(() => {
    view.pending = false;
    for (const listener of view.listeners) listener();
  });
}

function fit(low, high, least, most, lowest, highest) {
  const extent = Math.min(Math.max(high - low, least), most);
  const begin = Math.min(Math.max((low + high - extent) / 2, lowest), highest - extent);
  return [begin, begin + extent];
}
function look(from, to, top = view.top, bottom = view.bottom) {
  const most = view.until * 1.01;
  [view.from, view.to] = fit(from, to, Math.min(Math.max(most * 1e-6, 4 * data.tick, view.leastTime), most), most, 0, most);
  [view.top, view.bottom] = fit(top, bottom, Math.min(view.leastRows, rows), rows, 0, rows);
  changed();
}
const whole = () => look(0, view.until * 1.01, 0, rows);

function zoomTime(factor, at = (view.from + view.to) / 2) {
  const extent = (view.to - view.from) / factor;
  const ratio = (at - view.from) / (view.to - view.from);
  look(at - ratio * extent, at + (1 - ratio) * extent);
}
function zoomRows(factor, at = (view.top + view.bottom) / 2) {
  const extent = (view.bottom - view.top) / factor;
  const ratio = (at - view.top) / (view.bottom - view.top);
  look(view.from, view.to, at - ratio * extent, at + (1 - ratio) * extent);
}
function move(times, down = 0) {
  const across = times * (view.to - view.from);
  const rowsDown = down * (view.bottom - view.top);
  look(view.from + across, view.to + across, view.top + rowsDown, view.bottom + rowsDown);
}

// Wheel, drag and pinch on a canvas. The wheel scrolls the page until the pointer has been moved over the chart: a page
// that is scrolled past is not to be caught by it.
function steer(canvas, heightOfRows) {
  let armed = false;
  const pointers = new Map();
  const timeAt = (x) => view.from + ((x - gutter()) / (canvas.clientWidth - gutter() - 1)) * (view.to - view.from);
  const rowAt = (y) => view.top + (y / heightOfRows()) * (view.bottom - view.top);
  window.addEventListener("scroll", () => { armed = false; }, { passive: true });
  canvas.addEventListener("wheel", (event) => {
    if (!armed && document.activeElement !== canvas && !event.ctrlKey) return;
    const factor = Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0016));
    const outermost = view.to - view.from >= view.until * 1.0099;
    if (factor < 1 && outermost && !event.shiftKey && !event.deltaX) return;
    event.preventDefault();
    if (event.shiftKey) zoomRows(Math.exp(-(event.deltaY || event.deltaX) * 0.0016), rowAt(event.offsetY));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / canvas.clientWidth);
    else zoomTime(factor, timeAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add("dragged");
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.movementX || event.movementY) armed = true;
    view.cursor = event.offsetX >= gutter() ? timeAt(event.offsetX) : null;
    const before = pointers.get(event.pointerId);
    if (before) {
      const other = [...pointers].find(([id]) => id !== event.pointerId);
      if (other) {
        const apart = (a, b) => Math.max(Math.abs(a[0] - b[0]), 12);
        zoomTime(apart([event.offsetX], other[1]) / apart(before, other[1]), timeAt((event.offsetX + other[1][0]) / 2));
      } else {
        move((before[0] - event.offsetX) / (canvas.clientWidth - gutter()), (before[1] - event.offsetY) / heightOfRows());
      }
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    }
    changed();
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    canvas.classList.remove("dragged");
  };
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, release);
  canvas.addEventListener("pointerleave", () => { armed = false; view.cursor = null; changed(); });
  canvas.addEventListener("dblclick", (event) => zoomTime(4, timeAt(event.offsetX)));
  return { timeAt, rowAt };
}
