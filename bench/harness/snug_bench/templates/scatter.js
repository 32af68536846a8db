// Time against memory, both logarithmic, left and low being better; the dashed line is the frontier.
function frontierOf(points) {
  let least = Infinity;
  return [...points].sort((a, b) => a.time[0] - b.time[0] || a.memory[0] - b.memory[0])
    .filter((point) => point.memory[0] < least && ((least = point.memory[0]), true));
}

// `points`: [{name, hollow, time: [median, low, high], memory: the same, tip}]; `x`, `y`: {title, unit}, unit "×" for multiples.
function scatter(width, label, points, x, y, judged) {
  const height = Math.round(Math.min(400, Math.max(360, width * 0.62)));
  const box = { width, height, left: 52, right: 12, top: 24, bottom: 40 };
  const end = width - box.right, floor = height - box.bottom;
  const scaleFor = (key, { unit, title }, from, to, wanted) => {
    const [name, size] = unit === "×" ? ["×", 1] : scaleOf(Math.max(...points.map((point) => point[key][0])), unit);
    const least = Math.min(...points.map((point) => point[key][0])) / 10;
    const values = points.flatMap((point) => point[key].slice(0, 3)).map((value) => Math.max(value, least) / size);
    const scale = logScale(values, from, to, wanted);
    return { ticks: scale.ticks, place: (value) => scale.place(value), at: (value) => scale.place(Math.max(value, least) / size),
             text: (tick) => (unit === "×" ? `${tick}×` : number(tick)), title: unit === "×" ? title : `${title}, ${name}` };
  };
  const across = scaleFor("time", x, box.left, end, width < 500 ? 5 : 8), up = scaleFor("memory", y, floor, box.top, 6);
  across.title += " →";
  up.title = `↑ ${up.title}`;
  const chart = frame(box, label, across, up);
  for (const point of points) Object.assign(point, { x: across.at(point.time[0]), y: up.at(point.memory[0]) });
  const steps = frontierOf(points.filter((point) => !point.hollow));
  if (steps.length && (judged ?? !DATA.noise.too_noisy)) {
    chart.append(svg("path", { class: "frontier", d: steps.map((point, i) =>
      (i ? `H${point.x.toFixed(1)}V${point.y.toFixed(1)}` : `M${point.x.toFixed(1)} ${box.top}V${point.y.toFixed(1)}`)).join("") + `H${end}` }));
  }
  for (const point of points) {
    for (const [x1, x2, y1, y2] of [[across.at(point.time[1]), across.at(point.time[2]), point.y, point.y],
      [point.x, point.x, up.at(point.memory[1]), up.at(point.memory[2])]]) {
      if (x1 !== x2 || y1 !== y2) chart.append(svg("line", { class: "spread", x1, x2, y1, y2, style: `--c:${ALLOCATORS.get(point.name).colour}` }));
    }
  }
  // Names first, so that no line to one lies over a marker; the subject's and the frontier's nearest to their points.
  const order = (point) => (isSubject(point.name) ? 0 : steps.includes(point) ? 1 : 2);
  const ordered = [...points].sort((a, b) => order(a) - order(b));
  nameAll(chart, ordered, { left: box.left + 2, top: box.top - 6, right: end, bottom: floor - 2 });
  for (const point of ordered.reverse()) chart.append(tipped(marker(point.name, point.x, point.y, { hollow: point.hollow }), point.tip));
  return chart;
}

// A point a load: medians with their spreads.
function rowScatter(row) {
  const points = DATA.allocators.filter(({ name }) => row.cells[name] && row.cells[name].samples.time && row.cells[name].samples.memory)
    .map(({ name }) => {
      const { time, memory } = row.cells[name].samples;
      return { name, time, memory, tip: `${name}\n${quantity(time[0], "ns")} ${spread(time, "ns")}\n${quantity(memory[0], "B")} ${spread(memory, "B")}` };
    });
  if (!points.length) return null;
  return figure(`${row.name}: time against memory`, (width) => scatter(width, `time against peak memory of ${row.name}`, points,
    { title: "time", unit: "ns" }, { title: "peak memory", unit: "B" }), missingFrom(row, points.map(({ name }) => name), ""));
}

const withSpread = (value, interval) => (interval ? [value, interval.low, interval.high] : [value, value, value]);

// A point an allocator: the means over all loads of a kind.
function startOverview() {
  for (const { kind, caption, points } of DATA.overviews) {
    const shown = points.map((point) => ({ name: point.name, hollow: point.rows < point.of,
      time: withSpread(point.time, point.time_interval), memory: withSpread(point.memory, point.memory_interval),
      tip: `${point.name}: ${ALLOCATORS.get(point.name).title}\ntime ${ratioText(point.time)}×, memory ${ratioText(point.memory)}×\nmeans over ${point.rows} of ${point.of} rows` }));
    const holder = document.querySelector(`[data-overview="${kind}"]`);
    if (shown.length) {
      drawn(holder, (width) => scatter(width, `${caption}: time against peak memory`, shown, { title: `time, in multiples of ${DATA.subject}'s`, unit: "×" },
        { title: `peak memory, in multiples of ${DATA.subject}'s`, unit: "×" }, !DATA.noise.disturbed));
    }
  }
}

// Which allocators have no point or line, and why: one sentence for each reason.
function missingFrom(row, there, otherwise) {
  const reasons = new Map();
  for (const { name } of DATA.allocators) {
    if (there.includes(name)) continue;
    const cell = row.cells[name];
    const why = !cell ? "not run" : cell.failed ? `failed: ${cell.failures.join("; ")}` : otherwise || "nothing that counts";
    reasons.set(why, [...(reasons.get(why) || []), name]);
  }
  return [...reasons].map(([why, names]) => `Missing: ${names.join(", ")} (${why}).`);
}
