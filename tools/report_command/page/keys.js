// The keys of the whole page, and the dialog that tells them.
"use strict";
(() => {
  const { element } = Snug;
  const KEYS = [
    ["?", "shows these keys"],
    ["/", "goes to the search for a function"],
    ["Esc", "shows everything again"],
    ["1 to 9", "go to a view"],
    ["Tab, Shift+Tab", "go through the page"],
    ["← →", "in the timeline: move the selected time; in tabs: the next tab"],
    ["Shift+← →", "in the timeline: make the selected time shorter or longer"],
    ["Home, End", "in the timeline: to its two ends"],
    ["← → ↑ ↓", "in the flame graph, the heat maps and the map: go from cell to cell"],
    ["Enter, Backspace", "in the flame graph: zoom into a frame, and back"],
    ["d", "changes between light and dark"],
  ];

  function help() {
    const dialog = document.getElementById("keys");
    dialog.replaceChildren(
      element("h2", { id: "keys-title" }, "Keys"),
      element(
        "dl",
        {},
        ...KEYS.flatMap(([keys, what]) => [
          element("dt", {}, ...keys.split(", ").flatMap((one, index) => [index ? " " : "", element("kbd", {}, one)])),
          element("dd", {}, what),
        ]),
      ),
      element("form", { method: "dialog" }, element("button", { class: "way" }, "Close")),
    );
    dialog.showModal();
  }

  function press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || document.getElementById("keys").open) return;
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (event.key === "Escape") {
      if (typing && event.target.value) return; // the search box empties itself first
      Snug.selection.reset();
      return;
    }
    if (typing) return;
    const digit = Number(event.key);
    if (event.key === "?") help();
    else if (event.key === "d") Snug.scheme.toggle();
    else if (event.key === "/") {
      event.preventDefault();
      Snug.views.show("flame", () => {
        const find = document.getElementById("find");
        if (find) find.focus({ preventScroll: true });
      });
    } else if (digit >= 1 && digit <= Snug.views.list.length) Snug.views.show(Snug.views.list[digit - 1].id);
  }

  function start() {
    document.addEventListener("keydown", press);
    document.getElementById("help").addEventListener("click", help);
  }

  Snug.keys = { start };
})();
