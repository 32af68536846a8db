// The sizes of the blocks. The trace's sizes are counted over the whole recording, so this view does not follow the selection.
"use strict";
(() => {
  const { element, words } = Snug;
  let recording = null;

  function table(of) {
    const rows = of.data.sizes;
    if (!rows.length) return Snug.sentence("No block was allocated, so there are no sizes.");
    const waste = (row) => (row.takes ? (row.takes - row.size) / row.takes : 0);
    const number = (title, field, note) => ({
      title,
      number: true,
      note,
      value: (row) => row[field],
      text: (row) => words.count(row[field]),
    });
    return Snug.table({
      caption: `${words.things(rows.length, "size", "sizes")}, those first that take most at the peak`,
      rows,
      limit: 20,
      key: (row) => row.size,
      columns: [
        { title: "Size", value: (row) => row.size, text: (row) => words.size(row.size) },
        { title: "Takes on snug", number: true, value: (row) => row.takes, text: (row) => words.size(row.takes) },
        {
          title: "Of it unused",
          number: true,
          value: waste,
          text: (row) => words.share(waste(row), 1),
          note: "the share of what a block takes that the program did not ask for",
        },
        {
          title: "Bytes at the peak",
          number: true,
          bar: true,
          value: (row) => row.takes * row.peak_blocks,
          text: (row) => words.bytes(row.takes * row.peak_blocks),
          note: "what the blocks take on snug at the peak",
        },
        number("Blocks at the peak", "peak_blocks"),
        number("Blocks in all", "allocated_blocks"),
        number("Left at the end", "live_at_end_blocks"),
        {
          title: "Short-lived",
          number: true,
          value: (row) => row.temporary_blocks,
          node: (row) =>
            element(
              "span",
              {},
              words.count(row.temporary_blocks),
              row.temporary_blocks ? element("small", {}, ` ${words.share(row.temporary_blocks, row.allocated_blocks)}`) : "",
            ),
        },
      ],
    });
  }

  function draw(body) {
    body.replaceChildren(table(recording));
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
      "Which sizes the program asked for, over the whole recording. A block takes more than its size: " +
        "allocators round up.",
      draw,
      { follows: false },
    );
  }

  Snug.sizes = { start, table, showSize };
})();
