// What the program's memory would be made of on snug, over time: the parts on top of each other.
"use strict";
(() => {
  const { element, words } = Snug;
  const FEW = 20; // moments; fewer make no picture
  let plot = null;

  function draw(body, recording) {
    if (plot) plot.destroy();
    plot = null;
    const on = recording.data.what_if && recording.data.what_if.on_snug;
    if (!on || !on.ns.length || !on.parts.length) {
      body.replaceChildren(
        Snug.sentence("This is known from a replay on snug: `snug report` makes one unless `--no-replay` stands there."),
      );
      return;
    }
    const color = (index) => Snug.scheme.color(`part-${index % 8}`);
    // uPlot fills between two lines: the sums are drawn from the highest down, each filled to the one beneath it.
    const sums = [];
    on.parts.forEach((part, index) => sums.push(part.bytes.map((bytes, at) => bytes + (index ? sums[index - 1][at] : 0))));
    const order = on.parts.map((_, index) => on.parts.length - 1 - index);
    const box = element("div", { class: "plot charts" });
    body.replaceChildren(
      element(
        "p",
        { class: "lines" },
        ...order.map((index) =>
          element(
            "span",
            {},
            element("i", { class: "square", style: { "--line": `var(--part-${index % 8})` } }),
            on.parts[index].name,
          ),
        ),
      ),
      box,
      most(on, sums),
      few(on.ns.length, recording) || "",
    );
    const width = box.clientWidth;
    plot = new uPlot(
      {
        width,
        height: Math.round(Math.max(180, Math.min(300, width * 0.24))),
        legend: { show: false },
        cursor: { sync: { key: "snug" }, drag: { x: false, y: false }, y: false, points: { show: false } },
        padding: [8, 12, 0, 0],
        scales: {
          x: { time: false, range: [0, Math.max(1, recording.end(Infinity), on.ns[on.ns.length - 1])] },
          y: { range: (_, low, high) => [0, Math.max(1, high) * 1.05] },
        },
        axes: Snug.plot.axes(),
        hooks: { drawClear: [Snug.plot.dim(recording)], setCursor: [(made) => tell(made, on, order)] },
        series: [
          {},
          ...order.map((index) => ({ stroke: color(index), fill: color(index), width: 1, points: { show: false } })),
        ],
        bands: order.slice(1).map((_, place) => ({ series: [place + 1, place + 2], fill: color(order[place]) })),
      },
      [on.ns, ...order.map((index) => sums[index])],
      box,
    );
    box.addEventListener("pointerleave", Snug.tip.hide);
  }

  function most(on, sums) {
    const top = sums[sums.length - 1];
    let at = 0;
    top.forEach((bytes, index) => {
      if (bytes > top[at]) at = index;
    });
    const parts = on.parts.map((part) => `${words.bytes(part.bytes[at])} ${part.name}`);
    return element(
      "p",
      { class: "told" },
      `At its highest, ${words.time(on.ns[at])}, it is ${words.bytes(top[at])}: ${parts.join(", ")}.`,
    );
  }

  // A replay looks at memory every so many calls: where there are few, what to do about it. null: there are enough.
  function few(times, recording) {
    if (times >= FEW) return null;
    const { events } = recording.data.trace;
    return Snug.sentence(
      `The replay looked at memory at ${words.things(times, "moment", "moments")} only, since the recording has ` +
        `${words.things(events, "event", "events")}: what lies between is not known. Record a longer run, or let the program ` +
        "do its work several times, to see more.",
      "hint few",
    );
  }

  function tell(made, on, order) {
    const { left, top, idx, event } = made.cursor;
    if (left < 0 || !event || idx === null || idx === undefined) return Snug.tip.hide();
    const box = made.over.getBoundingClientRect();
    Snug.tip.show(
      `on snug at ${words.time(on.ns[idx])}`,
      order.map((index) => [on.parts[index].name, words.bytes(on.parts[index].bytes[idx]), `var(--part-${index % 8})`]),
      box.left + left,
      box.top + top,
    );
    return undefined;
  }

  function start(recording) {
    Snug.views.add(
      "parts",
      "What the memory would be made of on snug",
      "On snug",
      "What snug held in that replay, part on part: the bytes that the program asked for, and what the allocator added.",
      (body) => draw(body, recording),
      { painted: true },
    );
  }

  Snug.parts = { start, few };
})();
