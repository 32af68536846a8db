// What would change: the recording replayed on other allocators.
"use strict";
(() => {
  const { element, words } = Snug;

  function draw(body, recording) {
    const what = recording.data.what_if;
    if (!what || !what.allocators.length) {
      body.replaceChildren(
        Snug.sentence(
          "`snug report --replay` replays the recording on the allocators of this machine, and adds here what " +
            "each would take.",
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
    const table = Snug.table({
      caption: `${words.things(what.allocators.length, "allocator", "allocators")}, replayed ${
        what.speed === "recorded" ? "at the recorded speed" : "as fast as each can"
      }`,
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
              good.length > 1 && row === leanest ? mark("leanest") : "",
              good.length > 1 && row === fastest ? mark("fastest") : "",
              row.ok ? "" : element("small", { class: "why" }, row.why || "did not run"),
            ),
        },
        number("Peak resident", "peak_resident_bytes", words.bytes),
        number("At the end", "end_resident_bytes", words.bytes),
        number("Processor time", "seconds", (seconds) => words.time(Math.round(seconds * 1e9))),
        number("A call, mean", "mean_ns", (ns) => `${ns.toFixed(ns < 100 ? 1 : 0)} ns`),
      ],
    });
    body.replaceChildren(
      ...[
        good.length > 1
          ? element(
              "p",
              { class: "told" },
              leanest === fastest
                ? `${leanest.name} is both the leanest and the fastest here.`
                : `${leanest.name} takes the least memory, ${fastest.name} the least time.`,
            )
          : null,
        table,
      ].filter(Boolean),
    );
  }

  function start(recording) {
    Snug.views.add(
      "what-if",
      "What would change",
      "Allocators",
      "The same calls on other allocators: what they take, and how long they need.",
      (body) => draw(body, recording),
      { follows: false },
    );
  }

  Snug.whatIf = { start };
})();
