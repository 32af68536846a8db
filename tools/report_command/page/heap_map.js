// The map of the heap: addresses upward, time to the right, and how full each row of the heap was.
"use strict";
(() => {
  const { element, words } = Snug;
  let recording = null;
  let at = null; // [row, column] of the keys

  const fill = (letter) => (letter === "." || letter === undefined ? -1 : letter === "#" ? 10 : Number(letter));

  function paint(canvas, map) {
    const columns = map.columns.length;
    const rows = map.row_address.length;
    const ctx = canvas.getContext("2d");
    canvas.width = columns;
    canvas.height = rows;
    const image = ctx.createImageData(columns, rows);
    const colors = Array.from({ length: 11 }, (_, step) => rgb(Snug.scheme.color(`map-${step}`)));
    for (let column = 0; column < columns; ++column) {
      const faint = !Snug.selection.has(recording.sliceAt(map.ns[column]));
      for (let row = 0; row < rows; ++row) {
        const step = fill(map.columns[column][row]);
        if (step < 0) continue;
        // The lowest address is at the bottom.
        const pixel = 4 * ((rows - 1 - row) * columns + column);
        image.data.set(colors[step], pixel);
        image.data[pixel + 3] = faint ? 90 : 255;
      }
    }
    ctx.putImageData(image, 0, 0);
  }

  function rgb(hex) {
    return [1, 3, 5].map((from) => parseInt(hex.slice(from, from + 2), 16));
  }

  function text(map, row, column) {
    const step = fill(map.columns[column][row]);
    const told =
      step < 0
        ? "no live block is here"
        : step === 10
          ? "all of it is in live blocks"
          : step === 0
            ? "less than 10% is in live blocks"
            : `${10 * step}% is in live blocks`;
    return `At ${words.time(map.ns[column])}, ${words.bytes(map.bytes_per_row)} from ${map.row_address[row]}: ${told}.`;
  }

  function draw(body) {
    const { map } = recording.data;
    if (!map || !map.columns.length || !map.row_address.length) {
      body.replaceChildren(
        Snug.sentence("A map is made by a replay on snug: `snug report` makes one unless `--no-replay` stands there."),
      );
      return;
    }
    const rows = map.row_address.length;
    const columns = map.columns.length;
    const canvas = element("canvas", {
      class: "map",
      id: "map-canvas",
      tabindex: "0",
      role: "img",
      "aria-label": "Map of the heap. The arrow keys go over it, and the text beneath says what is there.",
    });
    const told = element(
      "p",
      { class: "told", "aria-live": "polite" },
      "Point at the map, or focus it and use the arrow keys.",
    );
    const cross = element("i", { class: "cross", hidden: true });
    const go = (row, column) => {
      at = [Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))];
      told.textContent = text(map, ...at);
      cross.hidden = false;
      cross.style.left = `${(100 * (at[1] + 0.5)) / columns}%`;
      cross.style.top = `${(100 * (rows - 1 - at[0] + 0.5)) / rows}%`;
    };
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      go(
        rows - 1 - Math.floor((rows * (event.clientY - box.top)) / box.height),
        Math.floor((columns * (event.clientX - box.left)) / box.width),
      );
    });
    canvas.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] }[event.key];
      if (!move) return;
      event.preventDefault();
      const [row, column] = at || [0, 0];
      go(row + move[0], column + move[1]);
    });
    paint(canvas, map);
    body.replaceChildren(
      element(
        "div",
        { class: "map-box" },
        element(
          "p",
          { class: "axis" },
          element("span", {}, map.row_address[rows - 1]),
          element("span", {}, map.row_address[0]),
        ),
        element("div", { class: "map-frame" }, canvas, cross),
        element(
          "p",
          { class: "axis time" },
          element("span", {}, words.time(map.ns[0])),
          element("span", {}, words.time(map.ns[columns - 1])),
        ),
      ),
      told,
      element(
        "p",
        { class: "legend" },
        element("span", {}, "empty"),
        element(
          "span",
          { class: "ramp" },
          ...Array.from({ length: 11 }, (_, step) => element("i", { style: { background: `var(--map-${step})` } })),
        ),
        element("span", {}, "full"),
      ),
      element(
        "p",
        { class: "hint" },
        "A column is a moment of the replay: where the program calls the allocator often, they lie close in time.",
      ),
      Snug.parts.few(columns, recording) || "",
    );
    if (at) go(...at);
  }

  function start(of) {
    recording = of;
    Snug.views.add(
      "map",
      "Map of the heap",
      "Map",
      "Where in memory the program's blocks lay in that replay. Nearly empty rows that stay are memory held for few blocks.",
      draw,
      { painted: true },
    );
  }

  Snug.heapMap = { start };
})();
