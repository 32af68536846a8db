// The brush: selects slices of the timeline with a pointer or with keys.
"use strict";
(() => {
  const FEW = 4; // pixels; a shorter drag was meant as a click
  let recording = null;

  function attach(charts, plots, of) {
    recording = of;
    for (const plot of plots) plot.over.addEventListener("pointerdown", (event) => press(event, plot, charts));
    charts.addEventListener("keydown", key);
  }

  function press(event, plot, charts) {
    if (event.button !== 0) return;
    charts.focus({ preventScroll: true });
    const { over } = plot;
    const left = () => over.getBoundingClientRect().left;
    const slice = (x) => recording.sliceAt(plot.posToVal(Math.max(0, Math.min(over.clientWidth, x - left())), "x"));
    const first = slice(event.clientX);
    let moved = false;
    const move = (next) => {
      if (!moved && Math.abs(next.clientX - event.clientX) < FEW) return;
      moved = true;
      Snug.tip.hide();
      Snug.selection.set(first, slice(next.clientX));
    };
    const stop = () => {
      for (const name of ["pointerup", "pointercancel"]) window.removeEventListener(name, stop);
      window.removeEventListener("pointermove", move);
      if (!moved) Snug.selection.reset();
    };
    window.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, stop);
  }

  // Where nothing is selected yet, the first key selects a sixteenth of the recording around the peak.
  function begin() {
    const last = recording.sliceCount - 1;
    const width = Math.max(1, Math.round(recording.sliceCount / 16));
    const peak = recording.sliceAt(recording.data.totals.peak_ns || 0);
    const from = Math.max(0, Math.min(last - width + 1, peak - (width >> 1)));
    return [from, from + width - 1];
  }

  function key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { selection } = Snug;
    const last = recording.sliceCount - 1;
    if (event.key === "Escape") {
      selection.reset();
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    if (selection.all) {
      const [from, to] = begin();
      if (event.key === "Home") selection.set(0, to - from);
      else if (event.key === "End") selection.set(last - (to - from), last);
      else selection.set(from, to);
      return;
    }
    const { from, to } = selection;
    if (event.key === "Home") selection.set(0, event.shiftKey ? to : to - from);
    else if (event.key === "End") selection.set(event.shiftKey ? from : last - (to - from), last);
    else if (event.shiftKey) selection.set(from, Math.max(from, to + step));
    else if (from + step >= 0 && to + step <= last) selection.set(from + step, to + step);
  }

  Snug.brush = { attach };
})();
