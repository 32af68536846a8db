// Lines: RSS over time, and time over the number of threads. Each line's name stands at its end.
const FAR = 6; // times as long
const TOO_SHORT = "over before its memory was looked at three times";

// Names at the right, in the order of the lines' ends, none over another.
function nameEnds(chart, ends, from, { top, floor }) {
  const sorted = [...ends].sort((a, b) => a.y - b.y);
  const step = Math.min(NAME_HEIGHT, (floor - top) / Math.max(1, sorted.length - 1));
  sorted.forEach((each, i) => { each.at = Math.max(each.y, i ? sorted[i - 1].at + step : top); });
  for (let i = sorted.length - 1; i >= 0; --i) sorted[i].at = Math.min(sorted[i].at, i === sorted.length - 1 ? floor : sorted[i + 1].at - step);
  for (const { name, x, y, at, group } of sorted) {
    group.append(svg("path", { class: "leader", d: `M${x} ${y}L${from - 6} ${at}H${from - 2}`, style: `--c:${ALLOCATORS.get(name).colour}` }),
      marker(name, from + 5, at, { size: 4.2 }),
      svg("text", { class: isSubject(name) ? "name own" : "name", x: from + 13, y: at + 4 }, name));
  }
}

// `series`: [{name, points: [[x, y], …]}]. `x` and `y` of the frame, made for the box.
function lines(width, label, series, scales) {
  const height = Math.max(260, 60 + series.length * (NAME_HEIGHT + 1));
  const names = Math.max(...series.map(({ name }) => nameWidth(name))) + 24;
  const box = { width, height, left: 52, right: names, top: 24, bottom: 40 };
  const end = width - box.right, floor = height - box.bottom;
  const { x, y } = scales(box, end, floor);
  const chart = frame(box, label, x, y), ends = [];
  for (const { name, points } of [...series].sort((a, b) => isSubject(a.name) - isSubject(b.name))) {
    const placed = points.map(([at, value]) => [x.place(at), y.place(value)]);
    const group = svg("g", { class: "series", style: `--c:${ALLOCATORS.get(name).colour}` }, svg("path", { class: isSubject(name) ? "line own" : "line",
      d: placed.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("") }));
    if (points.length < 8) group.append(...placed.map(([px, py]) => marker(name, px, py, { size: 4.2 })));
    chart.append(group);
    const [px, py] = placed[placed.length - 1];
    ends.push({ name, x: px, y: py, group });
  }
  nameEnds(chart, ends, end + 8, { top: box.top, floor });
  return chart;
}

function rssOverTime(row) {
  const series = DATA.allocators.filter(({ name }) => row.cells[name] && row.cells[name].rss.length > 2)
    .map(({ name }) => ({ name, points: row.cells[name].rss }));
  if (!series.length) return null;
  const all = series.flatMap(({ points }) => points), ends = series.map(({ points }) => points[points.length - 1][0]);
  // One that takes many times as long would press all others into a corner.
  const far = Math.max(...ends) > FAR * Math.min(...ends), first = Math.min(...all.map(([at]) => at).filter((at) => at > 0));
  const times = (from, to, wanted) => {
    if (!far) return { ...linearScale(0, Math.max(...ends), from, to, wanted), text: String, title: "seconds →" };
    const scale = logScale([first, Math.max(...ends)], from, to, wanted);
    return { ticks: scale.ticks, place: (at) => scale.place(Math.max(at, first)), text: String, title: "seconds, logarithmic →" };
  };
  return figure(`${row.name}: memory over time`, (width) => lines(width, `memory over time of ${row.name}`, series, (box, end, floor) => ({
    x: times(box.left, end, width < 500 ? 4 : 6),
    y: { ...linearScale(0, Math.max(...all.map(([, value]) => value)) * 1.04, floor, box.top, 5), text: number, title: "↑ resident memory, MiB" },
  })), missingFrom(row, series.map(({ name }) => name), TOO_SHORT));
}

function scaling(rows) {
  if (rows.length < 2) return null;
  const series = DATA.allocators.map(({ name }) => ({ name, points: rows.filter((row) => median(row, name, "time") !== null)
    .map((row) => [row.threads, median(row, name, "time")]) })).filter(({ points }) => points.length);
  if (!series.length) return null;
  const threads = rows.map((row) => row.threads), times = series.flatMap(({ points }) => points.map(([, value]) => value));
  const [unit, size] = scaleOf(Math.max(...times), "ns");
  const failed = rows.flatMap((row) => missingFrom(row, series.filter(({ points }) => points.some(([at]) => at === row.threads)).map(({ name }) => name), "")
    .map((note) => `${row.name}: ${note}`));
  return figure("time over the number of threads", (width) => lines(width, `time over threads of ${rows[0].load}`, series, (box, end, floor) => {
    const x = logScale(threads, box.left, end, 5), y = logScale(times.map((value) => value / size), floor, box.top, 6);
    return { x: { place: x.place, ticks: threads, text: String, title: "threads →" },
             y: { place: (value) => y.place(value / size), ticks: y.ticks.map((tick) => tick * size), text: (tick) => number(Number((tick / size).toPrecision(3))),
                  title: `↑ time an operation, ${unit}` } };
  }), failed);
}
