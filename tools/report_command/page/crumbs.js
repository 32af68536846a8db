// The way from the whole to the frame that fills the flame graph's width. Each step but the last is a button that goes there.
"use strict";
(() => {
  const { element } = Snug;
  const MOST = 7; // steps that are shown

  // list: the element that is filled; frame: the last step; go(frame): called with the step that was pressed.
  function crumbs(list, frame, go) {
    const path = [];
    for (let step = frame; step; step = step.parent) path.unshift(step);
    list.hidden = path.length < 2;
    // A deep stack's way is long: its two ends say where one is.
    const shown = path.length > MOST ? [path[0], null, ...path.slice(2 - MOST)] : path;
    const of = (step) => {
      if (step === null) return "…";
      const { name } = step.data;
      if (step === frame) return element("span", { "aria-current": "true", title: name }, name);
      return element("button", { type: "button", class: "link", title: name, onclick: () => go(step) }, name);
    };
    list.replaceChildren(...shown.map((step) => element("li", {}, of(step))));
  }

  Snug.crumbs = crumbs;
})();
