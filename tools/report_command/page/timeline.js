// Memory over time, and beneath it how fast was allocated. The selection of slices is made here.
"use strict";
(() => {
  const { element, words } = Snug;
  // Lines switched off in the legend. The highest of each slice follows the live line so closely that it waits to be asked for.
  const hidden = new Set(["most"]);
  const FEW = 8; // moments; fewer make no curve
  const MOST_MISSED = 10; // moments, a second as a rule, that a line goes over
  let recording = null;
  let plots = [];

  // { key, label, color, x, y, dots, dash, fill }: a line has times of its own, which uPlot.join brings together.
  function lines() {
    const { slices, samples, totals, against } = recording.data;
    const x = [0, ...slices.end_ns];
    const from0 = (values) => [0, ...values];
    const all = [
      { key: "most", label: "highest in each slice", color: "live", x: slices.end_ns, y: slices.most_live_bytes, thin: true },
      { key: "live", label: "live", color: "live", fill: true, ...withPeak(x, from0(slices.live_bytes), totals) },
      { key: "rounded", label: "live with snug's rounding", color: "rounded", x, y: from0(slices.rounded_bytes), dash: [5, 4] },
    ];
    const sampled = (key, label, color, y) => {
      if (y && y.some((value) => value !== null))
        all.push({ key, label, color, dots: true, ...withGaps(samples.ns, y) });
    };
    sampled("resident", "resident (kernel)", "resident", samples.resident_bytes);
    sampled("heap", "resident, heap alone", "heap", samples.heap_bytes);
    sampled("in_use", "in use (allocator)", "in_use", samples.in_use_bytes);
    if (against) {
      all.push({
        key: "against",
        label: "live in the other trace",
        color: "against",
        x: [0, ...against.slices.end_ns],
        y: from0(against.slices.live_bytes),
        dash: [8, 4],
      });
    }
    return all;
  }

  // Where a line was not looked at for long, while others were, it stops: what was between is not known. For uPlot that is
  // null; at the times of other lines this one is undefined, and goes on.
  function withGaps(x, y) {
    const made = { x: [], y: [] };
    let last = null;
    for (let at = 0; at < x.length; ++at) {
      if (y[at] === null) continue;
      if (last !== null && at - last > MOST_MISSED) {
        made.x.push((x[last] + x[at]) / 2);
        made.y.push(null);
      }
      made.x.push(x[at]);
      made.y.push(y[at]);
      last = at;
    }
    return made;
  }

  // The peak lies between two ends of slices: the line goes through it.
  function withPeak(x, y, { peak_ns: ns, peak_bytes: bytes }) {
    const at = x.findIndex((time) => time >= ns);
    if (ns === null || at < 0 || x[at] === ns) return { x, y };
    return { x: [...x.slice(0, at), ns, ...x.slice(at)], y: [...y.slice(0, at), bytes, ...y.slice(at)] };
  }

  // A dot for each moment at which memory was looked at, where there is room for them.
  const dotted = (width) => recording.data.samples.ns.length * 10 < width;

  function series(line, width) {
    const stroke = Snug.scheme.color(line.color);
    return {
      label: line.label,
      stroke,
      width: line.thin ? 1 : 2,
      dash: line.dash,
      spanGaps: !line.dots,
      show: !hidden.has(line.key),
      alpha: line.thin ? 0.55 : 1,
      fill: line.fill ? Snug.plot.faint(line.color, 0.14) : undefined,
      points: { show: Boolean(line.dots) && dotted(width), size: 5, fill: stroke, stroke },
    };
  }

  function peakMark(plot) {
    const { peak_ns: ns, peak_bytes: bytes } = recording.data.totals;
    if (!bytes) return;
    const { ctx } = plot;
    const x = plot.valToPos(ns, "x", true);
    const y = plot.valToPos(bytes, "y", true);
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.fillStyle = Snug.scheme.color("ink");
    ctx.strokeStyle = Snug.scheme.color("surface");
    ctx.lineWidth = 2 * ratio;
    ctx.beginPath();
    ctx.arc(x, y, 5 * ratio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.stroke();
    ctx.font = `600 ${12 * ratio}px system-ui, sans-serif`;
    const text = `peak ${words.bytes(bytes)}`;
    const width = ctx.measureText(text).width;
    const left = x + 10 * ratio + width > plot.bbox.left + plot.bbox.width;
    ctx.textAlign = left ? "right" : "left";
    const [from, under] = [x + (left ? -10 : 10) * ratio, y - 6 * ratio];
    ctx.fillStyle = Snug.plot.faint("surface", 0.85); // lines go through beneath
    ctx.fillRect((left ? from - width : from) - 3 * ratio, under - 12 * ratio, width + 6 * ratio, 16 * ratio);
    ctx.fillStyle = Snug.scheme.color("ink");
    ctx.fillText(text, from, under);
    ctx.restore();
  }

  function memory(box, width, shown, end) {
    const data = uPlot.join(shown.map((line) => [line.x, line.y]));
    return new uPlot(
      {
        width,
        height: Math.round(Math.max(220, Math.min(420, width * 0.34))),
        legend: { show: false },
        cursor: { sync: { key: "snug" }, drag: { x: false, y: false }, points: { size: 7 } },
        scales: { x: { time: false, range: [0, end] }, y: { range: (_, low, high) => [0, Math.max(1, high) * 1.12] } },
        axes: Snug.plot.axes(),
        series: [{}, ...shown.map((line) => series(line, width))],
        padding: [8, 12, 0, 0],
        hooks: { drawClear: [Snug.plot.dim(recording)], draw: [peakMark], setCursor: [(plot) => tell(plot, shown)] },
      },
      data,
      box,
    );
  }

  function rates() {
    const { slices } = recording.data;
    return slices.allocated_bytes.map(
      (bytes, slice) => (bytes * 1e9) / Math.max(1, recording.end(slice) - recording.begin(slice)),
    );
  }

  function rate(box, width, end) {
    const values = rates();
    const color = Snug.scheme.color("rate");
    return new uPlot(
      {
        width,
        height: 92,
        legend: { show: false },
        cursor: { sync: { key: "snug" }, drag: { x: false, y: false }, y: false, points: { show: false } },
        scales: { x: { time: false, range: [0, end] }, y: { range: (_, low, high) => [0, Math.max(1, high)] } },
        axes: Snug.plot.axes({ shown: false, space: 28, bytes: (value) => (value ? `${Snug.plot.byteTick(value)}/s` : "") }),
        series: [
          {},
          {
            stroke: color,
            fill: Snug.plot.faint("rate", 0.35),
            width: 1,
            paths: uPlot.paths.stepped({ align: -1 }),
            points: { show: false },
          },
        ],
        padding: [4, 12, 4, 0],
        hooks: { drawClear: [Snug.plot.dim(recording)] },
      },
      [
        [0, ...recording.data.slices.end_ns],
        [values[0] || 0, ...values],
      ],
      box,
    );
  }

  // The box beside the pointer: the slice beneath it, and the samples nearest to it.
  function tell(plot, shown) {
    const { left, top, event } = plot.cursor;
    if (left < 0 || !event) return Snug.tip.hide();
    const ns = plot.posToVal(left, "x");
    const box = plot.over.getBoundingClientRect();
    const rows = shown
      .filter((line) => !hidden.has(line.key))
      .map((line) => {
        const value = line.y[nearest(line.x, ns)];
        return value === null || value === undefined ? null : [line.label, words.bytes(value), Snug.scheme.color(line.color)];
      });
    const slice = recording.sliceAt(ns);
    rows.push(
      ["allocated", `${words.bytes(rates()[slice])}/s`, Snug.scheme.color("rate")],
      ["live blocks", words.count(recording.data.slices.live_blocks[slice])],
    );
    Snug.tip.show(`at ${words.time(Math.round(ns))}`, rows, box.left + left, box.top + top);
    return undefined;
  }

  function nearest(x, ns) {
    let low = 0;
    let high = x.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x[middle] < ns) low = middle;
      else high = middle;
    }
    return ns - x[low] < x[high] - ns ? low : high;
  }

  function legend(shown) {
    return element(
      "div",
      { class: "lines", role: "group", "aria-label": "Lines of the chart" },
      ...shown.map((line, index) =>
        element(
          "button",
          {
            type: "button",
            "aria-pressed": String(!hidden.has(line.key)),
            onclick(event) {
              if (!hidden.delete(line.key)) hidden.add(line.key);
              event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(line.key)));
              plots[0].setSeries(index + 1, { show: !hidden.has(line.key) });
            },
          },
          element("i", { class: line.dash ? "dashed" : line.thin ? "thin" : "", style: { "--line": `var(--${line.color})` } }),
          line.label,
        ),
      ),
    );
  }

  function draw(body) {
    for (const plot of plots) plot.destroy();
    plots = [];
    if (!recording.sliceCount) {
      body.replaceChildren(Snug.sentence("The trace has no event, so there is no memory to show over time."));
      return;
    }
    const focused = document.activeElement && document.activeElement.classList.contains("brush");
    const shown = lines();
    const told = element("p", { class: "selected", "aria-live": "polite" });
    const charts = element("div", {
      class: "charts brush",
      id: "brush",
      tabindex: "0",
      role: "group",
      "aria-roledescription": "chart",
      "aria-label": label(),
    });
    const hints = element("div", { class: "hints" });
    body.replaceChildren(
      legend(shown),
      charts,
      told,
      hints,
    );
    const width = charts.clientWidth;
    hints.append(
      ...[
        "Drag over the chart, or focus it and use the arrow keys (with Shift: shorter or longer), to select a time; the " +
          "views below follow. Esc shows everything again.",
        "Live is what the program asked for and has not freed. Press a name above the chart to switch its line off or on.",
        ...looked(width),
      ].map((text) => Snug.sentence(text, "hint")),
    );
    const box = element("div", { class: "plot" });
    const strip = element("div", { class: "plot" });
    charts.append(box, element("p", { class: "strip-name" }, "allocated in a second"), strip);
    const end = Math.max(...shown.map((line) => line.x[line.x.length - 1] || 0), 1);
    plots.push(memory(box, width, shown, end), rate(strip, width, end));
    Snug.brush.attach(charts, plots, recording);
    charts.addEventListener("pointerleave", Snug.tip.hide);
    if (focused) charts.focus({ preventScroll: true });
    follow(told);
    followed = told;
  }

  // What the dots are, and what to do where there are few of them.
  function looked(width) {
    const { samples, trace } = recording.data;
    const times = samples.ns.length;
    if (!times)
      return ["Nobody looked at resident memory: `snug record` does it ten times a second; imported traces have none of it."];
    const often = "`snug record` looks at resident memory and asks the allocator ten times a second, as a rule";
    const told = dotted(width)
      ? `A dot is a moment at which memory was looked at: ${often}. Between two dots nothing is known.`
      : `The lines of resident memory and of what is in use go through ${words.things(times, "moment", "moments")}: ${often}.`;
    if (times >= FEW) return [told];
    return [
      told,
      `Here it was at ${words.things(times, "moment", "moments")} only, since the program ran for ` +
        `${words.time(trace.duration_ns)}. Record a longer run, or let it do its work several times, to see more.`,
    ];
  }

  let followed = null;
  function follow(told) {
    if (!told) return;
    const text = element(
      "span",
      {},
      Snug.selection.all ? "Nothing is selected: all views show the whole recording." : `Selected: ${Snug.selection.text}.`,
    );
    told.replaceChildren(
      text,
      ...(Snug.selection.all
        ? []
        : [
            element(
              "button",
              {
                type: "button",
                class: "way",
                onclick: () => {
                  Snug.selection.reset();
                  document.getElementById("brush").focus();
                },
              },
              "Show everything",
            ),
          ]),
    );
  }

  function label() {
    const { totals } = recording.data;
    return (
      `Memory over time: a peak of ${words.bytes(totals.peak_bytes)} at ${words.time(totals.peak_ns)}, and ` +
      `${words.bytes(totals.live_at_end_bytes)} at the end. The arrow keys select a time.`
    );
  }

  function start(of) {
    recording = of;
    Snug.views.add(
      "time",
      "Memory over time",
      "Time",
      "What the program held at each moment, what that takes in memory, and how fast it " + "allocated.",
      draw,
      { follows: false, painted: true },
    );
    // The charts stay, and draw the new selection at once: a brush that lags is of no use.
    Snug.selection.listen(() => {
      for (const plot of plots) plot.redraw(false);
      follow(followed);
    });
  }

  Snug.timeline = { start, withGaps };
})();
