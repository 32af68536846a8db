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
    // Rows of sizes that do not occur at all would only push the others apart.
    const used = sizes
      .map((_, row) => row)
      .filter((row) => lives.some((_, column) => made.blocks[row * lives.length + column] > 0));
    const rows = used.length
      ? sizes
          .map((_, row) => row)
          .slice(used[0], used[used.length - 1] + 1)
          .reverse()
      : [];
    const at = (r, c) => rows[r] * lives.length + c;
    const text = (r, c) => {
      const blocks = made.blocks[at(r, c)];
      const what = `of ${range(sizes, rows[r], short, sizes.length - 1)} that ${lived(lives, c)}`;
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
        corner: "Size, from",
        rows: rows.map((row) => short(sizes[row])),
        columns: lives.map((life) => (life === null ? "to the end" : words.time(life))),
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
