// The small box beside the pointer: a title and rows of a name and a value. It repeats what a view's own text says, so
// that it may be left out for a screen reader and for keys.
"use strict";
(() => {
  const box = () => document.getElementById("tip");

  function show(title, rows, x, y) {
    const made = box();
    made.replaceChildren(
      Snug.element("strong", {}, title),
      ...rows
        .filter(Boolean)
        .map(([name, value, color]) =>
          Snug.element(
            "div",
            {},
            color && Snug.element("i", { style: { background: color } }),
            Snug.element("span", {}, name),
            Snug.element("b", {}, value),
          ),
        ),
    );
    made.hidden = false;
    const { width, height } = made.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    made.style.left = `${Math.max(4, x + 14 + width > room ? Math.min(x - width - 14, room - width - 4) : x + 14)}px`;
    made.style.top = `${Math.max(4, y + 14 + height > window.innerHeight ? y - height - 14 : y + 14)}px`;
  }

  function hide() {
    box().hidden = true;
  }

  window.addEventListener("scroll", hide, { passive: true });
  Snug.tip = { show, hide };
})();
