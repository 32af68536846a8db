// The findings: what is worth doing, worst first. Each says where it can be seen.
"use strict";
(() => {
  const { element, words } = Snug;
  const KINDS = {
    leak: "left at the end, and growing",
    held: "left at the end",
    temporary: "short-lived",
    rounding: "rounding",
    growth: "copied while growing",
    handover: "handover",
    spike: "short peak",
    peak: "peak",
  };
  // What the share of a finding of the kind is of.
  const OF = {
    leak: "of the peak",
    held: "of the peak",
    temporary: "of all blocks",
    rounding: "of the peak on snug",
    growth: "of all bytes allocated",
    handover: "of all blocks",
    spike: "of the peak",
    peak: "of the peak",
  };
  // The tab of the flame graph in which a finding of the kind is visible.
  const TAB = { leak: "left", held: "left", temporary: "temporary", growth: "allocated", rounding: "peak", peak: "peak" };

  function ways(finding, recording) {
    const made = [];
    const way = (text, go) => made.push(element("button", { type: "button", class: "way", onclick: go }, text));
    if (
      finding.node !== null &&
      finding.node !== undefined &&
      finding.node < recording.nodeCount &&
      recording.data.trace.has_stacks
    ) {
      way("Show it in the flame graph", () => {
        Snug.selection.reset();
        Snug.views.show("flame", () => Snug.flame.showNode(finding.node, TAB[finding.kind] || "allocated"));
      });
    }
    if (finding.size !== null && finding.size !== undefined) {
      way(`Show blocks of ${words.size(finding.size)}`, () => {
        Snug.views.show("sizes", () => Snug.sizes.showSize(finding.size));
      });
    }
    if (finding.threads) {
      way("Show these two threads", () => {
        Snug.selection.reset();
        Snug.views.show("threads", () => Snug.threads.showPair(...finding.threads));
      });
    }
    if (finding.kind === "spike") way("Show memory over time", () => Snug.views.show("time"));
    return made;
  }

  function item(finding, recording) {
    const part = Math.max(0, Math.min(1, finding.share || 0));
    return element(
      "li",
      { class: "finding", "data-kind": finding.kind },
      element(
        "div",
        {},
        element("p", { class: "kind" }, KINDS[finding.kind] || finding.kind),
        element("p", { class: "says" }, finding.sentence),
        Snug.sentence(finding.advice, "advice"),
        element("p", { class: "ways" }, ...ways(finding, recording)),
      ),
      element(
        "div",
        { class: "weight" },
        element("b", {}, words.bytes(finding.bytes)),
        element(
          "span",
          { class: "meter", "aria-hidden": "true" },
          element("i", { style: { width: `${(100 * part).toFixed(1)}%` } }),
        ),
        element("span", {}, `${words.share(part, 1)} ${OF[finding.kind] || ""}`),
      ),
    );
  }

  function draw(recording) {
    const { findings } = recording.data;
    document
      .getElementById("findings")
      .replaceChildren(
        element("h2", { id: "findings-title" }, "What to look at"),
        findings.length
          ? element("ol", { class: "findings" }, ...findings.map((finding) => item(finding, recording)))
          : Snug.sentence(
              "Nothing stands out: no place, size or pair of threads is worth a change for its memory alone.",
              "empty good",
            ),
      );
  }

  Snug.findings = { draw };
})();
