// The small box beside the pointer: a title and rows of a name and a value. It repeats what a view's own text says, so
// that it may be left out for a screen reader and for keys.
"use strict";
(() => {
  const box = () => document.getElementById("tip");

  // Where the pointer was last; what moves beneath a pointer that rests is not pointed at.
  let at = null;
  let rests = false;
  const note = (event) => {
    rests = event.type === "mouseover" && at !== null && at.x === event.clientX && at.y === event.clientY;
    at = { x: event.clientX, y: event.clientY };
  };
  for (const type of ["mouseover", "mousemove", "mousedown"])
    window.addEventListener(type, note, { capture: true, passive: true });

  function show(title, rows, x, y) {
    if (rests) return;
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
