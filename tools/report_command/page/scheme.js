// Light and dark: the system's choice until the button is pressed, which some browsers keep for the next page.
"use strict";
(() => {
  const KEY = "snug-report-scheme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  let printing = false; // on white paper, so in light colours

  const dark = () => !printing && (chosen ? chosen === "dark" : system.matches);
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  function apply() {
    document.documentElement.dataset.scheme = dark() ? "dark" : "light";
    document.getElementById("scheme").textContent = dark() ? "Light" : "Dark";
    document.getElementById("scheme").setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
  }

  function change() {
    apply();
    Snug.views.refresh();
  }

  function toggle() {
    chosen = dark() ? "light" : "dark";
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      /* a page from a file may have no storage: the choice holds for this one */
    }
    change();
  }

  function start() {
    try {
      chosen = localStorage.getItem(KEY);
    } catch {
      /* as above */
    }
    if (chosen !== "light" && chosen !== "dark") chosen = null;
    apply();
    system.addEventListener("change", change);
    for (const name of ["beforeprint", "afterprint"]) {
      window.addEventListener(name, () => {
        printing = name === "beforeprint";
        change();
        if (printing) Snug.views.drawAll();
      });
    }
    document.getElementById("scheme").addEventListener("click", toggle);
  }

  Snug.scheme = { start, toggle, dark, color };
})();
