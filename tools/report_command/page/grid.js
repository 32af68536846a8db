// A table of coloured cells, as the heat map of lifetimes and the matrix of threads are. One cell is in the order of Tab,
// the arrow keys go on from there, and a line under the grid says what the cell under the pointer or in focus holds.
"use strict";
(() => {
  const { element } = Snug;
  const STEPS = 6; // as many as the eye tells apart, and style.css has colours for

  // 0 for nothing, 1 to STEPS on a scale of logarithms between the smallest and the largest value that is there.
  function steps(values) {
    const there = values.filter((value) => value > 0);
    const low = Math.log(Math.min(...there));
    const high = Math.log(Math.max(...there));
    const step = (value) =>
      value <= 0 ? 0 : high === low ? STEPS : 1 + Math.round(((STEPS - 1) * (Math.log(value) - low)) / (high - low));
    return { step, low: Math.exp(low), high: Math.exp(high) };
  }

  function legend(scale, write) {
    const swatches = Array.from({ length: STEPS }, (_, index) => element("i", { class: `heat-${index + 1}` }));
    return element(
      "p",
      { class: "legend" },
      element("span", {}, write(scale.low)),
      element("span", { class: "ramp" }, ...swatches),
      element("span", {}, write(scale.high)),
    );
  }

  // rows, columns: their headings; value(r, c): the number that colours a cell; text(r, c): its sentence; write: a number as
  // text; mark(r, c): a short text inside the cell.
  function grid({ caption, corner, rows, columns, value, text, write, mark, id }) {
    const scale = steps(rows.flatMap((_, r) => columns.map((__, c) => value(r, c))));
    const told = element("p", { class: "told", "aria-live": "polite" }, "Point at a cell, or go to it with the arrow keys.");
    const body = element(
      "tbody",
      {},
      ...rows.map((name, r) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, name),
          ...columns.map((_, c) =>
            element(
              "td",
              { class: `heat-${scale.step(value(r, c))}`, tabindex: "-1", "data-r": r, "data-c": c, "aria-label": text(r, c) },
              mark ? mark(r, c) : "",
            ),
          ),
        ),
      ),
    );
    const cells = [...body.querySelectorAll("td")];
    const at = (r, c) => cells[r * columns.length + c];
    const tell = (cell) => {
      told.textContent = text(Number(cell.dataset.r), Number(cell.dataset.c));
    };
    const most = cells.reduce(
      (best, cell) =>
        value(Number(cell.dataset.r), Number(cell.dataset.c)) > value(Number(best.dataset.r), Number(best.dataset.c))
          ? cell
          : best,
      cells[0],
    );
    most.tabIndex = 0;

    function enter(cell) {
      for (const one of cells) one.tabIndex = -1;
      cell.tabIndex = 0;
      cell.focus();
    }

    body.addEventListener("pointerover", (event) => {
      const cell = event.target.closest("td");
      if (cell) tell(cell);
    });
    body.addEventListener("focusin", (event) => {
      const cell = event.target.closest("td");
      if (cell) tell(cell);
    });
    body.addEventListener("keydown", (event) => {
      const cell = event.target.closest("td");
      const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!cell || !move) return;
      event.preventDefault();
      const r = Math.max(0, Math.min(rows.length - 1, Number(cell.dataset.r) + move[0]));
      const c = Math.max(0, Math.min(columns.length - 1, Number(cell.dataset.c) + move[1]));
      enter(at(r, c));
    });
    const made = element(
      "div",
      { class: "grid", id },
      element(
        "div",
        { class: "scroll" },
        element(
          "table",
          { class: "heat" },
          element("caption", {}, caption),
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              element("th", { scope: "col", class: "corner" }, corner),
              ...columns.map((name) => element("th", { scope: "col" }, name)),
            ),
          ),
          body,
        ),
      ),
      told,
      legend(scale, write),
    );
    made.enter = (r, c) => enter(at(r, c));
    return made;
  }

  Snug.grid = grid;
})();
