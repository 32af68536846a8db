// The table of functions beneath the flame graph: all of the tree, the twenty largest first.
"use strict";
(() => {
  const { element, words } = Snug;
  const SHOWN = 20;
  // What starts a program or a thread calls everything: it says least, and stands last.
  const STARTS = /^(__libc_start|_start$|start_thread$|(__)?clone)/;

  // own: { bytes, blocks } of the nodes; mark(name): marks a function in the flame graph.
  function table(recording, own, unit, mark) {
    const other = recording.byFunction(own[unit === "bytes" ? "blocks" : "bytes"]);
    const rows = recording
      .byFunction(own[unit])
      .map((row, index) => ({ ...row, other: other[index].own }))
      .filter((row) => row.total > 0);
    const all = Snug.sum(own[unit]);
    if (!rows.length) return null;
    const [write, writeOther] = unit === "bytes" ? [words.bytes, words.count] : [words.count, words.bytes];
    return Snug.table({
      caption: `${words.things(rows.length, "function", "functions")}, by ${unit}`,
      rows,
      key: (row) => row.name,
      remember: "functions",
      sorted: 3,
      limit: SHOWN,
      last: (row) => STARTS.test(row.name),
      columns: [
        {
          title: "Function",
          wide: true,
          value: (row) => row.name,
          node: (row) =>
            element(
              "span",
              { class: "function" },
              element(
                "button",
                {
                  type: "button",
                  class: "link name",
                  title: `Mark in the flame graph: ${row.name}`,
                  onclick: () => mark(row.name),
                },
                row.name,
              ),
              row.place ? element("small", {}, row.place) : null,
            ),
        },
        {
          title: "Own",
          number: true,
          bar: true,
          value: (row) => row.own,
          text: (row) => write(row.own),
          note: "what the function itself allocated",
        },
        { title: "Share", number: true, spare: true, value: (row) => row.own, text: (row) => words.share(row.own, all) },
        {
          title: "With called",
          number: true,
          value: (row) => row.total,
          text: (row) => write(row.total),
          bar: true,
          note: "with all functions that it called; a function that calls itself counts once",
        },
        {
          title: unit === "bytes" ? "Blocks" : "Bytes",
          number: true,
          spare: true,
          value: (row) => row.other,
          text: (row) => writeOther(row.other),
        },
      ],
    });
  }

  // Leaves the functions in the table that have the words in their names.
  function filter(made, find) {
    const term = find.toLowerCase();
    if (made && made.filter) made.filter((row) => row.name.toLowerCase().includes(term));
  }

  Snug.functions = { table, filter };
})();
