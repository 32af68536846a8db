// What every chart is made of: scales, ticks, markers, names that cover nothing, and drawing anew when the width changes.
const SVG = "http://www.w3.org/2000/svg";
const NAME_HEIGHT = 14;
const pen = document.createElement("canvas").getContext("2d");

function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const ALLOCATORS = new Map(DATA.allocators.map((each, index) => [each.name, { ...each, colour: `var(--a${index})` }]));

function isSubject(name) {
  return name === DATA.subject;
}

// Colour and shape of an allocator, around a point.
function marker(name, x, y, { hollow = false, size = isSubject(name) ? 6.5 : 5 } = {}) {
  const { colour, path } = ALLOCATORS.get(name);
  return svg("path", { d: path, class: hollow ? "marker hollow" : "marker", style: `--c:${colour}`, "vector-effect": "non-scaling-stroke",
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size})` });
}

// The same in a line of text.
function swatch(name) {
  const picture = svg("svg", { class: "swatch", viewBox: "-8 -8 16 16", "aria-hidden": true });
  picture.append(marker(name, 0, 0, { size: 5.5 }));
  return picture;
}

function nameWidth(text) {
  pen.font = `600 11.5px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width + 3;
}

// Round ticks between low and high, about as many as wanted.
function logTicks(low, high, wanted) {
  const ladders = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]];
  const of = (steps) => {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; ++power) {
      for (const step of steps) found.push(Number((step * 10 ** power).toPrecision(3)));
    }
    return found.filter((tick) => tick >= low && tick <= high);
  };
  const fitting = ladders.map(of).filter((ticks) => ticks.length <= wanted + 1).pop() || of([1]);
  return fitting.length >= 3 ? fitting : linearTicks(low, high, wanted);
}

function linearTicks(low, high, wanted) {
  const raw = (high - low) / wanted, unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * unit).find((each) => each >= raw * 0.999);
  const found = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) found.push(Number(tick.toPrecision(6)));
  return found;
}

// A scale over the values with some room at both ends. `place` turns a value into a coordinate.
function logScale(values, from, to, wanted) {
  let low = Math.log(Math.min(...values)), high = Math.log(Math.max(...values));
  const room = Math.max(0.03, (high - low) * 0.08);
  low -= room;
  high += room;
  const place = (value) => from + (Math.log(Math.max(value, 1e-9)) - low) / (high - low) * (to - from);
  return { place, ticks: logTicks(Math.exp(low), Math.exp(high), wanted) };
}

function linearScale(low, high, from, to, wanted) {
  const top = high > low ? high : low + 1;
  return { place: (value) => from + (value - low) / (top - low) * (to - from), ticks: linearTicks(low, top, wanted) };
}

// The empty chart: grid lines, numbers at them, and what the axes are.
function frame({ width, height, left, right, top, bottom }, label, x, y) {
  const chart = svg("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const end = width - right, floor = height - bottom;
  for (const tick of x.ticks) {
    const at = x.place(tick);
    chart.append(svg("line", { class: "gridline", x1: at, x2: at, y1: top, y2: floor }),
      svg("text", { class: "axis", x: at, y: floor + 16, "text-anchor": "middle" }, x.text(tick)));
  }
  for (const tick of y.ticks) {
    const at = y.place(tick);
    chart.append(svg("line", { class: "gridline", x1: left, x2: end, y1: at, y2: at }),
      svg("text", { class: "axis", x: left - 7, y: at + 4, "text-anchor": "end" }, y.text(tick)));
  }
  chart.append(svg("text", { class: "axis title", x: end, y: height - 5, "text-anchor": "end" }, x.title),
    svg("text", { class: "axis title", x: 0, y: 12 }, y.title));
  return chart;
}

function overlap(a, b) {
  return Math.max(0, Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x)) *
    Math.max(0, Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y));
}

function meets(from, to, box) {
  for (let part = 1; part <= 10; ++part) {
    const x = from.x + (to.x - from.x) * part / 10, y = from.y + (to.y - from.y) * part / 10;
    if (x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height) return true;
  }
  return false;
}

// The place for a point's name that is nearest and covers least. `others`: the boxes of markers and names, some with a line.
function placeOf(point, width, others, room) {
  let best = null;
  for (const away of [9, 15, 22, 30, 40, 52, 66, 82, 100]) {
    for (let turn = 0; turn < 16; ++turn) {
      const angle = Math.ceil(turn / 2) * Math.PI / 8 * (turn % 2 ? 1 : -1), dx = Math.cos(angle), dy = -Math.sin(angle);
      const x = point.x + dx * away + (dx - 1) / 2 * width, y = point.y + dy * away + (dy - 1) / 2 * NAME_HEIGHT;
      const box = { x, y, width, height: NAME_HEIGHT };
      if (x < room.left || x + width > room.right || y < room.top || y + NAME_HEIGHT > room.bottom) continue;
      const end = { x: Math.min(Math.max(point.x, x), x + width), y: Math.min(Math.max(point.y, y + 4), y + NAME_HEIGHT - 4) };
      let cost = away;
      for (const other of others) {
        cost += 20 * overlap(box, other);
        if (other.end && other.away > 15 && meets(other.point, other.end, box)) cost += 60;
        if (away > 15 && other.of !== point && meets(point, end, other)) cost += 30;
      }
      if (!best || cost < best.cost) best = { ...box, cost, away, end, point };
    }
  }
  return best;
}

// A name for each point, with a line to it where it is not beside it. Placed one after the other, then each anew among all.
function nameAll(chart, points, room) {
  const markers = points.map((point) => ({ x: point.x - 6.5, y: point.y - 6.5, width: 13, height: 13, of: point }));
  const widths = new Map(points.map((point) => [point, nameWidth(point.name)])), placed = new Map();
  for (let pass = 0; pass < 4; ++pass) {
    for (const point of points) {
      placed.delete(point);
      const place = placeOf(point, widths.get(point), [...markers, ...placed.values()], room);
      if (place) placed.set(point, place);
    }
  }
  for (const [point, { x, y, away, end }] of placed) {
    if (away > 15) chart.append(svg("line", { class: "leader", x1: point.x, y1: point.y, x2: end.x, y2: end.y, style: `--c:${ALLOCATORS.get(point.name).colour}` }));
    chart.append(svg("text", { class: isSubject(point.name) ? "name own" : "name", x: x + 1, y: y + 11 }, point.name));
  }
}

// Draws into the holder, and again whenever its width changes.
function drawn(holder, draw) {
  let width = 0;
  const redraw = () => {
    if (holder.clientWidth === width || !holder.clientWidth) return;
    width = holder.clientWidth;
    holder.replaceChildren(draw(width));
  };
  new ResizeObserver(redraw).observe(holder);
  redraw();
}

function figure(caption, draw, notes = []) {
  const holder = element("div", { class: "holder" });
  const made = element("figure", {}, element("figcaption", {}, caption), holder,
    ...notes.map((note) => element("p", { class: "note" }, note)));
  return { made, start: () => drawn(holder, draw) };
}
