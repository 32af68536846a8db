// The page's views. A view is drawn when it comes near the window, and again when the selection, its width or the colours
// have changed since: at once if it is near, and otherwise when it comes near. Each drawing is a task of its own, so that
// the page answers between two of them.
"use strict";
(() => {
  const NEAR = "400px";
  const all = [];
  let queued = false;

  // draw(body) fills the view's body; `short` names it where there is little room;
  // `follows` says whether the selection changes it; `painted`, whether the width and the colours do, beyond what CSS does.
  function add(id, title, short, about, draw, { follows = true, painted = false } = {}) {
    const body = Snug.element("div", { class: "body", id: `${id}-body` });
    const section = Snug.element(
      "section",
      { id, class: "view", "aria-labelledby": `${id}-title` },
      Snug.element("h2", { id: `${id}-title`, tabindex: "-1" }, title),
      Snug.sentence(about, "about"),
      body,
    );
    document.getElementById("views").append(section);
    all.push({ id, short, section, body, draw, follows, painted, near: false, stale: true });
  }

  function drawOne(view) {
    view.stale = false;
    const stops = () => [...view.body.querySelectorAll("button, input, [tabindex='0']")];
    const focused = stops().indexOf(document.activeElement);
    try {
      view.draw(view.body);
      // What had the focus may have been made anew.
      if (focused >= 0 && !view.body.contains(document.activeElement) && stops()[focused])
        stops()[focused].focus({ preventScroll: true });
      view.section.dataset.drawn = String(Number(view.section.dataset.drawn || 0) + 1);
    } catch (error) {
      console.error(`${view.id}:`, error);
      view.body.replaceChildren(Snug.sentence(`This view could not be drawn: ${error.message}.`, "error"));
    }
  }

  function queue() {
    if (queued) return;
    queued = true;
    setTimeout(() => {
      queued = false;
      const next = all.find((view) => view.near && view.stale);
      if (!next) return;
      drawOne(next);
      queue();
    }, 0);
  }

  function start() {
    const seen = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) all.find((view) => view.section === entry.target).near = entry.isIntersecting;
        queue();
      },
      { rootMargin: NEAR },
    );
    for (const view of all) seen.observe(view.section);
    Snug.selection.listen(() => {
      for (const view of all) if (view.follows) view.stale = true;
      queue();
    });
    // The width of the views, and not the window's, which stays as it is when a scroll bar comes or goes.
    const views = document.getElementById("views");
    let width = views.clientWidth;
    let timer = 0;
    new ResizeObserver(() => {
      if (views.clientWidth === width) return;
      width = views.clientWidth;
      clearTimeout(timer);
      timer = setTimeout(refresh, 120);
    }).observe(views);
  }

  function refresh() {
    for (const view of all) if (view.painted) view.stale = true;
    queue();
  }

  function drawAll() {
    for (const view of all) if (view.stale) drawOne(view);
  }

  // Brings a view into sight with its heading in focus, and then calls `then`. The views above it are drawn before, one task
  // each: drawn later, they would push it out of sight.
  function show(id, then) {
    const view = all.find((one) => one.id === id);
    if (!view) return;
    const missing = all.slice(0, all.indexOf(view) + 1).find((one) => one.stale);
    if (missing) {
      drawOne(missing);
      setTimeout(() => show(id, then), 0);
      return;
    }
    view.section.scrollIntoView({ behavior: Snug.calm() ? "auto" : "smooth", block: "start" });
    document.getElementById(`${id}-title`).focus({ preventScroll: true });
    if (then) then();
  }

  Snug.calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  Snug.views = { add, start, refresh, drawAll, show, list: all };
})();
