// This recording against another: totals side by side, and the functions with more and with less than there.
"use strict";
(() => {
  const { element, words } = Snug;
  const SHOWN = 20;
  const MEASURES = [
    ["peak", "At the peak"],
    ["allocated", "Allocated"],
    ["left", "Left at the end"],
    ["temporary", "Short-lived"],
  ];
  const state = { measure: "peak", unit: "bytes" };

  function totals(mine, other) {
    const rows = [
      ["Peak", "peak_bytes", true],
      ["Blocks at the peak", "peak_blocks"],
      ["Allocated in all", "allocated_bytes", true],
      ["Blocks in all", "allocated_blocks"],
      ["Left at the end", "live_at_end_bytes", true],
      ["Blocks left", "live_at_end_blocks"],
      ["Short-lived", "temporary_bytes", true],
      ["Short-lived blocks", "temporary_blocks"],
      ["Copied by growing", "copied_bytes", true],
      ["Resident at most", "resident_peak_bytes", true],
    ]
      .map(([name, field, bytes]) => ({
        name,
        mine: mine[field],
        other: other[field],
        write: bytes ? words.bytes : words.signedCount,
      }))
      .filter((row) => row.mine !== null && row.other !== null && row.mine !== undefined && row.other !== undefined);
    const number = (title, value) => ({ title, number: true, text: (row) => row.write(value(row)) });
    return Snug.table({
      caption: "Totals of both",
      rows,
      key: (row) => row.name,
      columns: [
        { title: "", text: (row) => row.name },
        number("This", (row) => row.mine),
        number("The other", (row) => row.other),
        { title: "Difference", number: true, node: (row) => difference(row.mine - row.other, row.write) },
        { title: "Of the other", number: true, text: (row) => (row.other ? words.share(row.mine, row.other) : "–") },
      ],
    });
  }

  const difference = (by, write) =>
    element("span", { class: by > 0 ? "worse" : by < 0 ? "better" : "" }, by ? words.more(by, write) : "same");

  function changes(recording) {
    const mine = recording.byFunction(
      recording.measure(state.measure, { all: true, from: 0, to: recording.sliceCount - 1 })[state.unit],
    );
    const other = recording.byFunction(recording.other(state.measure)[state.unit]);
    return mine.map((row, index) => ({ ...row, other: other[index].own, by: row.own - other[index].own }));
  }

  function side(rows, caption, sign, nothing) {
    if (!rows.length) return element("div", {}, element("h3", {}, caption), Snug.sentence(nothing));
    const write = state.unit === "bytes" ? words.bytes : words.signedCount;
    return Snug.table({
      caption,
      rows,
      key: (row) => row.name,
      columns: [
        {
          title: "Function",
          wide: true,
          node: (row) =>
            element(
              "span",
              { class: "function" },
              element("span", { class: "name", title: row.name }, row.name),
              row.place ? element("small", {}, row.place) : null,
            ),
        },
        {
          title: "Difference",
          number: true,
          bar: sign > 0 ? "worse" : "better",
          value: (row) => Math.abs(row.by),
          node: (row) => difference(row.by, write),
        },
        { title: "This", number: true, value: (row) => row.own, text: (row) => write(row.own) },
        { title: "The other", number: true, value: (row) => row.other, text: (row) => write(row.other) },
      ],
    });
  }

  function draw(body, recording) {
    const { against, totals: mine, trace } = recording.data;
    const parts = [
      element(
        "p",
        { class: "told" },
        `This: ${trace.program || trace.file}. The other: ${against.trace.program || ""} (${against.trace.file}).`,
      ),
      totals(mine, against.totals),
    ];
    if (recording.nodeCount && trace.has_stacks) {
      const rows = changes(recording);
      const again = (place) => {
        draw(body, recording);
        body.querySelectorAll(".tabs")[place].querySelector('[aria-selected="true"]').focus({ preventScroll: true });
      };
      parts.push(
        element(
          "div",
          { class: "controls" },
          Snug.tabs(
            "What is compared",
            MEASURES,
            state.measure,
            (measure) => {
              state.measure = measure;
              again(0);
            },
            "against-sides",
          ),
          Snug.tabs(
            "Unit of the comparison",
            [
              ["bytes", "Bytes"],
              ["blocks", "Blocks"],
            ],
            state.unit,
            (unit) => {
              state.unit = unit;
              again(1);
            },
            "against-sides",
          ),
        ),
        element(
          "div",
          { class: "sides", id: "against-sides" },
          side(
            rows
              .filter((row) => row.by > 0)
              .sort((a, b) => b.by - a.by)
              .slice(0, SHOWN),
            "More here than there",
            1,
            "No function has more here.",
          ),
          side(
            rows
              .filter((row) => row.by < 0)
              .sort((a, b) => a.by - b.by)
              .slice(0, SHOWN),
            "Less here than there",
            -1,
            "No function has less here.",
          ),
        ),
      );
    } else {
      parts.push(Snug.sentence("By function they can be compared once both were recorded with `snug record --stacks`."));
    }
    body.replaceChildren(...parts);
  }

  function start(recording) {
    if (!recording.data.against) return;
    Snug.views.add(
      "against",
      "Against the other trace",
      "Against",
      "Both recordings side by side, over their whole length.",
      (body) => draw(body, recording),
      { follows: false },
    );
  }

  Snug.against = { start };
})();
