// The sizes of the blocks: what each takes on snug, and its blocks at the peak, in all and at the end; or at the highest
// moment of a selected time, in it and at its end.
"use strict";
(() => {
  const { element, words } = Snug;
  const FIELDS = 4; // of an entry of a size's series
  let recording = null;

  // Blocks of a size within the selection.
  function counted(row, of) {
    const { selection } = Snug;
    if (selection.all) {
      const { allocated_blocks: allocated, peak_blocks: high, live_at_end_blocks: end, temporary_blocks: brief } = row;
      return { ...row, allocated, high, end, brief };
    }
    const highest = of.highest(selection);
    const made = { ...row, allocated: 0, high: 0, end: 0, brief: 0 };
    for (let at = 0; at < row.series.length; at += FIELDS) {
      const [slice, came, freed, brief] = row.series.slice(at, at + FIELDS);
      if (slice > selection.to) break;
      made.end += came - freed;
      if (slice <= highest) made.high += came - freed;
      if (slice < selection.from) continue;
      made.allocated += came;
      made.brief += brief;
    }
    return made;
  }

  // What the rows have of all that was live: a program of very many sizes has most of it in others.
  function caption(rows, of) {
    const all = Snug.selection.all ? of.data.totals.peak_bytes : of.data.slices.live_bytes[of.highest(Snug.selection)];
    const here = rows.reduce((sum, row) => sum + row.size * row.high, 0);
    const told = words.things(rows.length, "size", "sizes");
    if (here >= all) return told;
    const moment = Snug.selection.all ? "at the peak" : "at the highest moment selected";
    return (
      `${told}, of those with most at the peak of the recording: ${words.bytes(here)} of the ${words.bytes(all)} that are ` +
      `live ${moment}. The other sizes have no row.`
    );
  }

  function table(of) {
    if (!of.data.sizes.length) return Snug.sentence("No block was allocated, so there are no sizes.");
    const { all } = Snug.selection;
    const rows = of.data.sizes.map((row) => counted(row, of)).filter((row) => row.allocated || row.high || row.end);
    if (!rows.length) return Snug.sentence("No block of these sizes was there in the selected time.");
    const waste = (row) => (row.takes ? (row.takes - row.size) / row.takes : 0);
    const number = (group, title, note, value, write, more) => ({
      group,
      title,
      note,
      number: true,
      value,
      text: (row) => write(value(row)),
      ...more,
    });
    const [one, high, within, end] = all
      ? ["A block", "At the peak", "In all", "At the end"]
      : ["A block", "At the highest moment selected", "In the selected time", "At its end"];
    const share = (part) => words.share(part, 1);
    return Snug.table({
      caption: caption(rows, of),
      remember: "sizes",
      rows,
      limit: 20,
      key: (row) => row.size,
      sorted: 5,
      columns: [
        { ...number(one, "Asked for", "the size in the program's call", (row) => row.size, words.size), number: false },
        number(one, "Takes on snug", "what snug's size class for it has", (row) => row.takes, words.size),
        number(one, "Unused", "the share of what it takes that the program did not ask for", waste, share),
        number(high, "Blocks", "how many were live then", (row) => row.high, words.count),
        number(high, "Asked for", "their bytes, as asked for", (row) => row.size * row.high, words.bytes),
        number(high, "Take on snug", "their bytes with what is unused", (row) => row.takes * row.high, words.bytes, {
          bar: true,
        }),
        number(within, "Blocks", "how many were allocated", (row) => row.allocated, words.count),
        number(within, "Short-lived", "those freed within a few calls of their thread", (row) => row.brief, words.count, {
          node: (row) =>
            element(
              "span",
              {},
              words.count(row.brief),
              row.brief ? element("small", {}, ` ${words.share(row.brief, row.allocated)}`) : "",
            ),
        }),
        number(end, all ? "Blocks left" : "Blocks live", "how many were not freed by then", (row) => row.end, words.count),
      ],
    });
  }

  function draw(body) {
    body.replaceChildren(
      table(recording),
      Snug.sentence(
        "Asked for: the bytes in the program's calls. On snug a block takes what its size class has, and what is more than " +
          "asked for lies unused. Short-lived: freed by its own thread within " +
          `${words.things(recording.data.totals.temporary_events || 0, "call", "calls")}.`,
        "hint",
      ),
    );
  }

  function showSize(size) {
    const find = () => document.querySelector(`#sizes-body tr[data-key="${Number(size)}"]`);
    const [made] = document.getElementById("sizes-body").children;
    if (!find() && made.expand) made.expand();
    const row = find();
    if (!row) return;
    for (const one of document.querySelectorAll("#sizes-body tr.shown")) one.classList.remove("shown");
    row.classList.add("shown");
    row.tabIndex = -1;
    row.scrollIntoView({ block: "center", behavior: Snug.calm() ? "auto" : "smooth" });
    row.focus({ preventScroll: true });
  }

  function start(of) {
    recording = of;
    Snug.views.add(
      "sizes",
      "Sizes",
      "Sizes",
      "Which sizes the program asked for, and what a block of each takes: allocators round up.",
      draw,
    );
  }

  Snug.sizes = { start, table, showSize };
})();
