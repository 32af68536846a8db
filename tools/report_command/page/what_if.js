// What would change: the recorded calls made again on each of some allocators.
"use strict";
(() => {
  const { element, words } = Snug;

  function draw(body, recording) {
    const what = recording.data.what_if;
    if (!what || !what.allocators.length) {
      body.replaceChildren(
        Snug.sentence(
          "Nothing was replayed. `snug report TRACE -o PAGE` without `--no-replay` makes the recorded calls again on snug " +
            "and on the C library's allocator, and shows here what each needed; `--replay jemalloc,mimalloc` takes others.",
        ),
      );
      return;
    }
    const good = what.allocators.filter((one) => one.ok);
    const least = (field) => good.filter((one) => one[field] !== null).sort((a, b) => a[field] - b[field])[0];
    const leanest = least("peak_resident_bytes");
    const fastest = least("seconds");
    const mark = (text) => element("em", { class: "mark" }, text);
    const number = (title, field, write, note) => ({
      title,
      note,
      number: true,
      bar: true,
      value: (row) => (row.ok && row[field]) || 0,
      text: (row) => (row.ok && row[field] !== null ? write(row[field]) : "–"),
    });
    const pace = what.speed === "recorded" ? "as fast as the program made them" : "as fast as the allocator can";
    const table = Snug.table({
      caption: `${words.things(what.allocators.length, "allocator", "allocators")}; less is better in each column`,
      remember: "what-if",
      rows: what.allocators,
      key: (row) => row.name,
      columns: [
        {
          title: "Allocator",
          wide: true,
          value: (row) => row.name,
          node: (row) =>
            element(
              "span",
              { class: "allocator" },
              element("b", {}, row.name),
              row.version ? element("small", {}, ` ${row.version}`) : "",
              good.length > 1 && row === leanest ? mark("least memory") : "",
              good.length > 1 && row === fastest ? mark("least time") : "",
              row.ok ? "" : element("small", { class: "why" }, `Not replayed: ${row.why || "it did not run"}.`),
            ),
        },
        number("Memory at its peak", "peak_resident_bytes", words.bytes, "most resident memory of the replaying process"),
        number("Memory at the end", "end_resident_bytes", words.bytes, "its resident memory after the last call"),
        number(
          "Processor time",
          "seconds",
          (seconds) => words.time(Math.round(seconds * 1e9)),
          "of the whole replay, user and system",
        ),
        number(
          "Mean of a call",
          "mean_ns",
          (ns) => `${ns.toFixed(ns < 100 ? 1 : 0)}${words.GAP}ns`,
          "time in the allocator's functions",
        ),
      ],
    });
    body.replaceChildren(
      ...[
        good.length > 1
          ? element(
              "p",
              { class: "told" },
              leanest === fastest
                ? `${leanest.name} needed the least memory at its peak, and the least processor time.`
                : `${leanest.name} needed the least memory at its peak, ${fastest.name} the least processor time.`,
            )
          : null,
        table,
        Snug.sentence(
          `The calls came ${pace}, once on each allocator, and each block was written to. The program's own work is not in ` +
            "these times. One replay is a hint: `snug replay` repeats it, and tells how far the rounds differ.",
          "hint",
        ),
      ].filter(Boolean),
    );
  }

  function start(recording) {
    Snug.views.add(
      "what-if",
      "What would change on another allocator",
      "Allocators",
      "The program's recorded calls of malloc and free, made again on each of these allocators: the memory that each held " +
        "in RAM, and the time that it took.",
      (body) => draw(body, recording),
      { follows: false },
    );
  }

  Snug.whatIf = { start };
})();
