// Makes the page's elements: element("p", { class: "hint" }, "text", child). Text is never taken as HTML: the names of
// functions and programs come from outside.
"use strict";
(() => {
  const SVG = new Set(["svg", "path", "rect", "line", "circle"]);

  function element(name, attributes, ...children) {
    const made = SVG.has(name) ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (key === "style") for (const [property, set] of Object.entries(value)) made.style.setProperty(property, set);
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return made;
  }

  // A sentence where a chart has nothing to show. Words between backquotes are code.
  function sentence(text, kind = "empty") {
    const parts = text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
    return element("p", { class: kind }, ...parts);
  }

  // A row of tabs by the ARIA pattern: one of them is in the order of Tab, the arrow keys go on from there.
  function tabs(label, choices, chosen, choose, panel) {
    const list = element("div", { role: "tablist", "aria-label": label, class: "tabs" });
    const mark = (key) => {
      for (const tab of list.children) {
        const is = tab.dataset.key === key;
        tab.setAttribute("aria-selected", String(is));
        tab.tabIndex = is ? 0 : -1;
      }
    };
    const take = (key) => {
      mark(key);
      choose(key);
    };
    for (const [key, text] of choices) {
      list.append(
        element(
          "button",
          { type: "button", role: "tab", "data-key": key, "aria-controls": panel, onclick: () => take(key) },
          text,
        ),
      );
    }
    list.addEventListener("keydown", (event) => {
      const all = [...list.children];
      const at = all.indexOf(document.activeElement);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      const next = all[(to + all.length) % all.length];
      next.focus();
      take(next.dataset.key);
    });
    mark(chosen);
    return list;
  }

  Snug.element = element;
  Snug.sentence = sentence;
  Snug.tabs = tabs;
})();
