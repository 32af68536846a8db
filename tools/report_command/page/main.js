// Starts the page: reads the recording, and hands it to each part.
"use strict";
(() => {
  const { element } = Snug;

  function chip() {
    const { selection } = Snug;
    document.getElementById("chip").hidden = selection.all;
    document.getElementById("chip-text").textContent = selection.all ? "" : selection.text;
  }

  function ways() {
    document.getElementById("ways").replaceChildren(
      ...Snug.views.list.map((view) =>
        element(
          "a",
          {
            href: `#${view.id}`,
            onclick(event) {
              event.preventDefault();
              Snug.views.show(view.id);
            },
          },
          view.short,
        ),
      ),
    );
  }

  function start() {
    Snug.scheme.start();
    let recording = null;
    try {
      recording = Snug.read();
      Snug.selection.start(recording);
      Snug.summary.draw(recording);
      Snug.findings.draw(recording);
    } catch (error) {
      const place = document.getElementById("error");
      place.textContent = error.message.replaceAll("`", "");
      place.hidden = false;
      for (const id of ["summary", "findings", "ways"]) document.getElementById(id).hidden = true;
      document.documentElement.dataset.ready = "error";
      return;
    }
    const parts = [
      Snug.timeline,
      Snug.flame,
      Snug.sizes,
      Snug.lifetimes,
      Snug.threads,
      Snug.whatIf,
      Snug.parts,
      Snug.heapMap,
      Snug.against,
    ];
    for (const part of parts) part.start(recording);
    ways();
    Snug.selection.listen(chip);
    document.getElementById("chip-reset").addEventListener("click", () => Snug.selection.reset());
    Snug.keys.start();
    Snug.views.start();
    // Ready is when the first drawings are on the screen.
    requestAnimationFrame(() =>
      setTimeout(() => {
        document.documentElement.dataset.ready = String(Math.round(performance.now()));
      }, 0),
    );
  }

  start();
})();
