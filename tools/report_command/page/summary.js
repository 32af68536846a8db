// The top of the page: what was recorded, and the four numbers that say most of it.
"use strict";
(() => {
  const { element, words } = Snug;

  function fact(name, value, title) {
    return value === null || value === undefined || value === ""
      ? null
      : element("div", {}, element("dt", {}, name), element("dd", { title }, value));
  }

  function card(id, name, value, under, part) {
    return element(
      "div",
      { class: "card", id },
      element("h3", {}, name),
      element("p", { class: "big" }, ...split(value)),
      element("p", { class: "under" }, under),
      part === undefined
        ? null
        : element(
            "i",
            { class: "meter", "aria-hidden": "true" },
            element("i", { style: { width: `${Math.min(100, 100 * part).toFixed(1)}%` } }),
          ),
    );
  }

  // The unit of a number is smaller than the number.
  function split(text) {
    const at = text.search(/\s?[A-Za-z%]+$/);
    return at < 0 ? [text] : [text.slice(0, at), element("small", {}, text.slice(at))];
  }

  function draw(recording) {
    const { trace, totals, snug } = recording.data;
    const { bytes, blocks, count, time, share } = words;
    const program = trace.program || trace.file || "an unnamed program";
    const began = trace.began_ns
      ? new Date(trace.began_ns / 1e6).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })
      : "";
    // The first word of the command line without its folder is what engineers call the program.
    const called = program.split(" ")[0].split("/").pop().slice(0, 80) || program;
    document.title = `${called}: snug report`;
    const notes = trace.notes || [];
    document
      .getElementById("summary")
      .replaceChildren(
        ...[
          element("p", { class: "kicker" }, "How this program used its memory"),
          element("h1", {}, called),
          program === called ? null : element("p", { class: "command" }, element("code", {}, program)),
          element(
            "dl",
            { class: "facts" },
            fact("Ran for", time(trace.duration_ns)),
            fact("Allocator", trace.allocator || "not known"),
            fact("Events", count(trace.events)),
            fact("Threads", count(trace.threads)),
            fact("Process", trace.process ? String(trace.process) : ""),
            fact("Recorded", began),
            fact("Trace", trace.file),
          ),
          notes.length ? element("ul", { class: "notes" }, ...notes.map((note) => element("li", {}, note))) : null,
          element(
            "div",
            { class: "cards" },
            card(
              "total-peak",
              "Peak",
              bytes(totals.peak_bytes),
              totals.peak_blocks ? `${blocks(totals.peak_blocks)} live at ${time(totals.peak_ns)}` : "nothing was live",
            ),
            card("total-allocated", "Allocated in all", bytes(totals.allocated_bytes), blocks(totals.allocated_blocks)),
            card(
              "total-left",
              "Left at the end",
              bytes(totals.live_at_end_bytes),
              `${blocks(totals.live_at_end_blocks)}, ${share(totals.live_at_end_bytes, totals.peak_bytes)} of the peak`,
              totals.peak_bytes ? totals.live_at_end_bytes / totals.peak_bytes : 0,
            ),
            card(
              "total-temporary",
              "Short-lived",
              share(totals.temporary_blocks, totals.allocated_blocks),
              `${blocks(totals.temporary_blocks)} (${bytes(totals.temporary_bytes)}) freed within ${words.things(
                totals.temporary_events || 0,
                "call",
                "calls",
              )} of the thread`,
              totals.allocated_blocks ? totals.temporary_blocks / totals.allocated_blocks : 0,
            ),
          ),
          more(totals),
        ].filter(Boolean),
      );
    document.getElementById("foot").textContent =
      `Written by snug report ${snug || ""}. Bytes are in binary units: 1 KiB is 1024 bytes.`;
  }

  // The lesser totals, in one line.
  function more(totals) {
    const { bytes, blocks, share } = words;
    const parts = [];
    if (totals.peak_rounded_bytes > 0) {
      parts.push(
        `On snug the peak's blocks take ${bytes(totals.peak_rounded_bytes)}, ${share(
          totals.peak_rounded_bytes - totals.peak_bytes,
          totals.peak_rounded_bytes,
        )} of it rounding.`,
      );
    }
    if (totals.resident_peak_bytes !== null)
      parts.push(`The kernel counted ${bytes(totals.resident_peak_bytes)} resident at most.`);
    if (totals.copied_bytes > 0) parts.push(`Growing blocks copied up to ${bytes(totals.copied_bytes)}.`);
    if (totals.freed_by_others_blocks > 0) {
      parts.push(
        `${blocks(totals.freed_by_others_blocks)} ${
          totals.freed_by_others_blocks === 1 ? "was" : "were"
        } freed by a thread that had not allocated ${totals.freed_by_others_blocks === 1 ? "it" : "them"}.`,
      );
    }
    return parts.length ? element("p", { class: "lesser" }, parts.join(" ")) : null;
  }

  Snug.summary = { draw };
})();
