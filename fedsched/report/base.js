// What every part uses: the data, elements, numbers as people read them, packed arrays. Text is only ever set as text.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const METRIC = new Map(data.metrics.map((metric) => [metric.name, metric]));
const SHARES = new Set(["utilisation", "loss_of_capacity"]);
const KWH = 3.6e6;

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const make = (tag, attributes = {}, ...children) => made(document.createElement(tag), attributes, children);
const shape = (tag, attributes = {}, ...children) => made(document.createElementNS(SVG, tag), attributes, children);

// ---- numbers ----
const GAP = "\u00a0";
const SCALES = data.scales; // unit -> [name, size, from where on], the largest first: those of tables and pictures
const scaleOf = (unit, most) => SCALES[unit].find(([, , least]) => Math.abs(most) >= least) || SCALES[unit].at(-1);

function number(value) {
  if (value === null || Number.isNaN(value)) return "–";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}
function share(value) {
  if (value === null || Number.isNaN(value)) return "–";
  const small = value !== 0 && Math.abs(value) < 0.001;
  return `${small ? Number((100 * value).toPrecision(2)) : (100 * value).toFixed(1)}${GAP}%`;
}

function scaled(unit, value) {
  if (value === null || Number.isNaN(value)) return "–";
  const [name, size] = scaleOf(unit, value);
  return `${number(value / size)}${GAP}${name}`;
}
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const duration = (seconds) => scaled("s", seconds);
const energy = (joules) => scaled("J", joules);
const watts = (value) => scaled("W", value);

function measure(name, value) {
  const unit = METRIC.has(name) ? METRIC.get(name).unit : "";
  if (value === null || value === undefined) return "–";
  if (unit === "s") return duration(value);
  if (unit === "J") return energy(value);
  return SHARES.has(name) ? share(value) : number(value);
}
// An energy that follows from watts that nobody gave says so wherever it is named.
const markOf = (name) => (METRIC.has(name) && METRIC.get(name).mark ? ` (${METRIC.get(name).mark})` : "");
const titled = (name) => name.replaceAll("_", " ") + markOf(name);

// ---- packed arrays ----
const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.bytes), (sign) => sign.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(inflated).arrayBuffer();
  const columns = {};
  let at = 0;
  for (const [name, kind, length] of packed.columns) {
    columns[name] = new KINDS[kind](buffer, at, length);
    at += columns[name].byteLength;
  }
  return columns;
}
