// How the search came about: the best of each objective, and the front's hypervolume, after so many evaluations.
function drawProgress() {
  const holder = byId("progress-charts");
  if (!holder) return;
  const kinds = data.objectives.map((name, k) => ({ name, values: data.history.map((moment) => moment[2][k]), bound: data.bounds[name] ?? null }));
  if (data.objectives.length > 1) kinds.push({ name: "hypervolume", values: data.history.map((moment) => moment[3]), bound: null });
  holder.replaceChildren(...kinds.map((kind) => {
    const figure = make("figure", {}, make("h3", {}, kind.name === "hypervolume" ? "hypervolume of the front" : `best ${titled(kind.name)}`));
    holder.append(figure);
    return figure;
  }));
  for (const [k, figure] of [...holder.children].entries()) figure.append(curve(kinds[k], drawnWidth(figure, 330)));
}

function curve({ name, values, bound }, width) {
  const height = 210;
  const [left, right, top, bottom] = [64, 12, 10, height - 40];
  const spent = data.history.map((moment) => Math.max(moment[0], 1));
  const [first, last] = [Math.log10(spent[0]), Math.log10(Math.max(spent.at(-1), spent[0] * 1.001))];
  const known = [...values, ...(bound > 0 ? [bound] : [])];
  const [low, high] = extentOf(known, 0.06);
  const unit = axisUnit(name, high);
  const x = (evaluations) => left + ((Math.log10(evaluations) - first) / (last - first)) * (width - left - right);
  const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const chart = shape("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${titled(name)}: from ${measure(name, values[0])} to ${measure(name, values.at(-1))}` });
  for (const tick of roundTicks(low / unit.size, high / unit.size, 4)) {
    chart.append(shape("line", { class: "gridline", x1: left, x2: width - right, y1: y(tick * unit.size), y2: y(tick * unit.size) }));
    chart.append(shape("text", { x: left - 7, y: y(tick * unit.size) + 4, "text-anchor": "end" }, tick.toLocaleString("en")));
  }
  for (const tick of logTicks(spent[0], spent.at(-1))) {
    chart.append(shape("text", { x: x(tick), y: bottom + 16, "text-anchor": "middle" }, tick.toLocaleString("en")));
    chart.append(shape("line", { class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }));
  }
  chart.append(shape("line", { class: "axis", x1: left, x2: width - right, y1: bottom, y2: bottom }));
  chart.append(shape("text", { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" }, `evaluations (${unit.label.split(", ")[1] || titled(name)} upwards)`));
  if (bound > 0) {
    chart.append(shape("line", { class: "bound", x1: left, x2: width - right, y1: y(bound), y2: y(bound) }));
    chart.append(shape("text", { x: width - right, y: y(bound) - 6, "text-anchor": "end" }, "lower bound"));
  }
  let path = `M${x(spent[0])},${y(values[0])}`;
  for (let i = 1; i < values.length; i += 1) path += `H${x(spent[i])}V${y(values[i])}`;
  chart.append(shape("path", { class: "curve", d: path }));
  return chart;
}

function logTicks(from, to) {
  const found = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power += 1) {
    for (const factor of to / from > 200 ? [1] : to / from > 30 ? [1, 3] : [1, 2, 5]) {
      const tick = factor * 10 ** power;
      if (tick >= from * 0.999 && tick <= to * 1.001) found.push(tick);
    }
  }
  return found;
}
