// Time against RSS, both on logarithmic axes, with spreads as crosses and the frontier of the medians as a line.
const SVG = "http://www.w3.org/2000/svg";
const VIEW = { width: 460, height: 300, left: 62, right: 18, top: 14, bottom: 38 };
const COLOURS = ["#d1495b", "#3d6fb5", "#8a5bb0", "#6f8f2f", "#c2722b", "#2c8c99", "#b0478f", "#7a6a5a", "#4f9d69", "#9a7b0a",
  "#5a6acf", "#a8483f", "#3b8bc4", "#7d7f86", "#bb6f9f", "#5f7f4f"];

function colourOf(name) {
  const index = DATA.allocators.findIndex((each) => each.name === name);
  return DATA.allocators[index].snug ? "var(--own)" : COLOURS[index % COLOURS.length];
}

function svg(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function logAxis(values, from, to) {
  let low = Math.log10(Math.min(...values)), high = Math.log10(Math.max(...values));
  const room = Math.max(0.04, (high - low) * 0.09);
  low -= room;
  high += room;
  const place = (value) => from + (Math.log10(value) - low) / (high - low) * (to - from);
  const span = high - low;
  const steps = span > 2.2 ? [1] : span > 1 ? [1, 2, 5] : span > 0.45 ? [1, 1.5, 2, 3, 5, 7] : null;
  const ticks = [];
  if (steps) {
    for (let power = Math.floor(low); power <= high; ++power) for (const step of steps) ticks.push(step * 10 ** power);
  } else { // less than a factor of three: even steps read better
    const width = 10 ** high - 10 ** low, raw = width / 5, unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * unit).find((each) => each >= raw);
    for (let tick = Math.ceil(10 ** low / step) * step; tick <= 10 ** high; tick += step) ticks.push(tick);
  }
  return { place, ticks: ticks.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high) };
}

// Ticks must be round in the unit that is shown, so the axis is made in that unit.
function unitAxis(samples, unit, from, to) {
  const top = Math.max(...samples.map(([middle, , high]) => Math.max(middle, high)));
  const [name, size] = scaleOf(top, unit);
  const floor = Math.min(...samples.map(([middle]) => middle)) / size / 10;
  const axis = logAxis(samples.flatMap(([middle, low, high]) => [middle / size, Math.max(low / size, floor), high / size]), from, to);
  return { name, ticks: axis.ticks.map((tick) => [axis.place(tick), number(Number(tick.toPrecision(3)))]),
           place: (value) => axis.place(Math.max(value / size, floor)) };
}

function frontierOf(points) {
  let least = Infinity;
  return [...points].sort((a, b) => a.time[0] - b.time[0] || a.memory[0] - b.memory[0])
    .filter((point) => point.memory[0] < least && ((least = point.memory[0]), true));
}

function overlaps(a, b) {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

// The first place beside the point where the name covers nothing; none if there is no such place: the tip tells it.
function placeLabel(point, taken) {
  const width = point.name.length * 6.3 + 2, height = 12;
  const places = [[8, -6], [-width - 8, -6], [-width / 2, -19], [-width / 2, 8], [8, -17], [8, 5], [-width - 8, -17], [-width - 8, 5]];
  for (const [dx, dy] of places) {
    const box = { x: point.x + dx, y: point.y + dy, width, height };
    const inside = box.x > VIEW.left && box.x + width < VIEW.width && box.y > 0 && box.y + height < VIEW.height - VIEW.bottom;
    if (inside && !taken.some((other) => overlaps(box, other))) return box;
  }
  return null;
}

function scatter(row) {
  const points = DATA.allocators.filter(({ name }) => row.cells[name] && row.cells[name].samples.time && row.cells[name].samples.memory)
    .map(({ name, snug }) => ({ name, snug, ...row.cells[name].samples }));
  if (!points.length) return null;
  const right = VIEW.width - VIEW.right, bottom = VIEW.height - VIEW.bottom;
  const x = unitAxis(points.map((point) => point.time), "ns", VIEW.left, right);
  const y = unitAxis(points.map((point) => point.memory), "B", bottom, VIEW.top);
  const chart = svg("svg", { class: "scatter", viewBox: `0 0 ${VIEW.width} ${VIEW.height}`, role: "img", "aria-label": `time against RSS of ${row.name}` });
  for (const [at, text] of x.ticks) {
    chart.append(svg("line", { class: "gridline", x1: at, x2: at, y1: VIEW.top, y2: bottom }),
      svg("text", { class: "axis", x: at, y: bottom + 14, "text-anchor": "middle" }, text));
  }
  for (const [at, text] of y.ticks) {
    chart.append(svg("line", { class: "gridline", x1: VIEW.left, x2: right, y1: at, y2: at }),
      svg("text", { class: "axis", x: VIEW.left - 6, y: at + 4, "text-anchor": "end" }, text));
  }
  chart.append(svg("text", { class: "axis", x: right, y: VIEW.height - 6, "text-anchor": "end" }, `time, ${x.name} →`),
    svg("text", { class: "axis", x: 14, y: VIEW.top, transform: `rotate(-90 14 ${VIEW.top})`, "text-anchor": "end" }, `peak RSS, ${y.name} →`));
  for (const point of points) Object.assign(point, { x: x.place(point.time[0]), y: y.place(point.memory[0]) });
  const steps = frontierOf(points);
  chart.append(svg("path", { class: "frontier", d: steps.map((point, i) =>
    i ? `H${point.x.toFixed(1)}V${point.y.toFixed(1)}` : `M${point.x.toFixed(1)} ${VIEW.top}V${point.y.toFixed(1)}`).join("") + `H${right}` }));
  for (const point of points) {
    const colour = colourOf(point.name);
    for (const [x1, x2, y1, y2] of [[x.place(point.time[1]), x.place(point.time[2]), point.y, point.y],
      [point.x, point.x, y.place(point.memory[1]), y.place(point.memory[2])]]) {
      chart.append(svg("line", { class: "spread", x1, x2, y1, y2, style: `stroke:${colour}` }));
    }
  }
  const taken = points.map((point) => ({ x: point.x - 4, y: point.y - 4, width: 8, height: 8 }));
  // Snug's own first, then who is on the frontier: they keep their names where it is crowded.
  const order = (point) => (point.snug ? 0 : steps.includes(point) ? 1 : 2);
  for (const point of [...points].sort((a, b) => order(a) - order(b))) {
    const label = placeLabel(point, taken);
    if (label) {
      taken.push(label);
      chart.append(svg("text", { class: point.snug ? "label own" : "label", x: label.x + 1, y: label.y + 10 }, point.name));
    }
  }
  for (const point of [...points].sort((a, b) => order(b) - order(a))) {
    const dot = svg("circle", { cx: point.x, cy: point.y, r: point.snug ? 5.5 : 4, style: `fill:${colourOf(point.name)}` });
    chart.append(tipped(dot, `${point.name}\n${quantity(point.time[0], "ns")} ${spread(point.time, "ns")}\n${quantity(point.memory[0], "B")} ${spread(point.memory, "B")}`));
  }
  return chart;
}
