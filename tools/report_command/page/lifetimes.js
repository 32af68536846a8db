// Sizes against lifetimes: a heat map of the blocks that ended in the selected time.
"use strict";
(() => {
  const { element, words } = Snug;
  let recording = null;
  let unit = "blocks";

  const short = (bytes) =>
    bytes < 1024
      ? `${bytes} B`
      : bytes < 2 ** 20
        ? `${Number((bytes / 1024).toFixed(1))} KiB`
        : bytes < 2 ** 30
          ? `${Number((bytes / 2 ** 20).toFixed(1))} MiB`
          : `${Number((bytes / 2 ** 30).toFixed(1))} GiB`;

  // Which sizes and lifetimes occur in the recording, from the least to the most: the same for each selection, so that cells
  // stay where they are. Lifetimes have one more, of the blocks that live at the end.
  function used() {
    const { life_from_ns: lives, cells } = recording.data.lifetimes;
    const [rows, columns] = [new Set(), new Set()];
    for (let at = 0; at < cells.length; at += 5) {
      rows.add(cells[at + 1]);
      columns.add(cells[at + 2]);
    }
    const end = lives.length - 1;
    const lives_on = lives[end] === null && columns.delete(end);
    const between = (set) => {
      const [first, last] = [Math.min(...set), Math.max(...set)];
      return set.size ? Array.from({ length: last - first + 1 }, (_, index) => first + index) : [];
    };
    return { rows: between(rows).reverse(), columns: [...between(columns), ...(lives_on ? [end] : [])] };
  }

  function sums() {
    const { size_from: sizes, life_from_ns: lives, cells } = recording.data.lifetimes;
    const made = {
      blocks: new Float64Array(sizes.length * lives.length),
      bytes: new Float64Array(sizes.length * lives.length),
    };
    for (let at = 0; at < cells.length; at += 5) {
      if (!Snug.selection.has(cells[at])) continue;
      const cell = cells[at + 1] * lives.length + cells[at + 2];
      made.blocks[cell] += cells[at + 3];
      made.bytes[cell] += cells[at + 4];
    }
    return made;
  }

  const range = (bounds, index, write, last) =>
    bounds[index] === null
      ? ""
      : index === last
        ? `${write(bounds[index])} or more`
        : `${write(bounds[index])} to ${write(bounds[index + 1])}`;

  function lived(lives, index) {
    if (lives[index] === null) return "lived to the end";
    const last = lives.length - 1 - (lives[lives.length - 1] === null ? 1 : 0);
    return `lived ${range(lives, index, words.time, last)}`;
  }

  function draw(body) {
    const { size_from: sizes, life_from_ns: lives } = recording.data.lifetimes;
    const made = sums();
    const all = Snug.sum(made.blocks);
    if (!all) {
      body.replaceChildren(
        Snug.sentence(
          Snug.selection.all ? "No block was allocated, so none has lived." : "No block ended in the selected time.",
        ),
      );
      return;
    }
    const { rows, columns } = used();
    const at = (r, c) => rows[r] * lives.length + columns[c];
    const text = (r, c) => {
      const blocks = made.blocks[at(r, c)];
      const what = `of ${range(sizes, rows[r], short, sizes.length - 1)} that ${lived(lives, columns[c])}`;
      return blocks
        ? `${words.blocks(blocks)} ${what}: ${words.bytes(made.bytes[at(r, c)])}, ${words.share(
            made[unit][at(r, c)],
            Snug.sum(made[unit]),
          )} of all ${unit}.`
        : `No block ${what}.`;
    };
    body.replaceChildren(
      Snug.tabs(
        "Unit of the heat map",
        [
          ["blocks", "Blocks"],
          ["bytes", "Bytes"],
        ],
        unit,
        (next) => {
          unit = next;
          redraw(body);
        },
        "lifetimes-grid",
      ),
      Snug.grid({
        id: "lifetimes-grid",
        caption: `${words.blocks(all)} (${words.bytes(Snug.sum(made.bytes))}), by size and lifetime`,
        corner: "Size from ↓, lived from →",
        rows: rows.map((row) => short(sizes[row])),
        // A heading stands in two lines, so that the columns are narrow.
        columns: columns.map((column) =>
          lives[column] === null ? "to the end" : words.time(lives[column]).replace(words.GAP, " "),
        ),
        value: (r, c) => made[unit][at(r, c)],
        text,
        write: unit === "bytes" ? words.bytes : words.count,
      }),
    );
  }

  function redraw(body) {
    draw(body);
    body.querySelector('[role="tab"][aria-selected="true"]').focus({ preventScroll: true });
  }

  function start(of) {
    recording = of;
    Snug.views.add(
      "lifetimes",
      "Lifetimes",
      "Lifetimes",
      "How long blocks of each size lived: to the left those that were freed at once, to the right " + "those that stayed.",
      draw,
    );
  }

  Snug.lifetimes = { start };
})();
