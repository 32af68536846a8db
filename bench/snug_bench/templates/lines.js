// Lines by uPlot: RSS over time, and time over the number of threads. A legend of our own switches allocators on and off.
const CHART_HEIGHT = 230;
const drawn = new Set(); // what must be drawn again when the theme or the width changes

function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function lineColour(name) {
  const colour = colourOf(name);
  return colour.startsWith("var") ? themeColour("--own") : colour;
}

function axis(title, more = {}) {
  const faint = themeColour("--faint"), line = themeColour("--line");
  return { label: title, stroke: faint, labelSize: 20, size: 44, font: "11px sans-serif", labelFont: "11px sans-serif",
           grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, ...more };
}

// `series`: [{name, points: [[x, y], …]}]. uPlot wants one x for all, so the xs are united and gaps bridged.
function united(series) {
  const xs = [...new Set(series.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
  const columns = series.map(({ points }) => {
    const known = new Map(points);
    return xs.map((x) => (known.has(x) ? known.get(x) : undefined));
  });
  return [xs, ...columns];
}

function lineChart(holder, series, { xTitle, yTitle, logarithmic, xSplits }) {
  const hidden = new Set();
  let chart = null;
  const draw = () => {
    if (chart) chart.destroy();
    const options = {
      width: Math.max(240, holder.clientWidth), height: CHART_HEIGHT, legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 5 } },
      scales: { x: { time: false, distr: xSplits ? 3 : 1, log: 2 }, y: logarithmic ? { distr: 3, range: (_, low, high) => [low / 1.2, high * 1.2] } : { range: (_, low, high) => [0, high * 1.05] } },
      axes: [axis(xTitle, xSplits ? { splits: () => xSplits, values: (_, splits) => splits.map(String) } : {}), axis(yTitle, logarithmic ? { size: 52, values: (_, splits) => splits.map((split) => (split === null ? "" : number(split))) } : { size: 52 })],
      series: [{}, ...series.map(({ name }) => ({
        label: name, stroke: lineColour(name), width: name === DATA.subject ? 2.5 : 1.25, spanGaps: true, show: !hidden.has(name),
        points: { show: Boolean(xSplits), size: 5 } }))],
    };
    chart = new uPlot(options, united(series), holder);
  };
  draw();
  const legend = element("div", { class: "legend" });
  for (const { name } of series) {
    const button = element("button", { type: "button", "aria-pressed": true }, element("i", { style: `background:${colourOf(name)}` }), name);
    button.addEventListener("click", () => {
      if (!hidden.delete(name)) hidden.add(name);
      button.setAttribute("aria-pressed", !hidden.has(name));
      chart.setSeries(1 + series.findIndex((each) => each.name === name), { show: !hidden.has(name) });
    });
    legend.append(button);
  }
  holder.after(legend);
  drawn.add(draw);
}

function figureOf(caption, fill) {
  const holder = element("div");
  const figure = element("figure", {}, element("figcaption", {}, caption), holder);
  return { figure, start: () => fill(holder) };
}

function rssOverTime(row) {
  const series = DATA.allocators.filter(({ name }) => row.cells[name] && row.cells[name].rss.length > 2)
    .map(({ name }) => ({ name, points: row.cells[name].rss }));
  if (!series.length || typeof uPlot === "undefined") return null;
  return figureOf(`RSS over time, ${row.name}`, (holder) => lineChart(holder, series, { xTitle: "seconds", yTitle: "MiB" }));
}

function scaling(rows) {
  if (rows.length < 2 || typeof uPlot === "undefined") return null;
  const series = DATA.allocators.map(({ name }) => ({ name, points: rows.filter((row) => median(row, name, "time") !== null)
    .map((row) => [row.threads, median(row, name, "time")]) })).filter(({ points }) => points.length > 1);
  if (!series.length) return null;
  return figureOf("time over threads, ns an operation (logarithmic)", (holder) =>
    lineChart(holder, series, { xTitle: "threads", yTitle: "ns", logarithmic: true, xSplits: rows.map((row) => row.threads) }));
}
