// The frames of the flame graph: the tree that d3-flame-graph draws, and the colour of each frame.
"use strict";
(() => {
  const HUES = [20, 32, 44, 10, 50, 26, 38, 2];

  // own, others: the nodes' own numbers, and those of the other trace or null. A frame's children are the largest first.
  // zoom: the node that fills the width, where it has a frame. `n` is what the library writes into the bar.
  function tree(recording, own, others, zoom) {
    const { name, bar, place } = recording.data.nodes;
    const caller = recording.callers();
    const total = recording.withCalled(own);
    const theirs = others && recording.withCalled(others);
    const all = Snug.sum(own);
    const delta = others ? all - Snug.sum(others) : 0;
    const top = { name: "all", n: "all", place: "", value: all, own: 0, node: -1, children: [], delta };
    const made = new Array(recording.nodeCount);
    for (let node = 0; node < recording.nodeCount; ++node) {
      if (total[node] <= 0) continue;
      const frame = { name: name[node], n: bar[node] || name[node], place: place[node], node, delta: 0 };
      Object.assign(frame, { value: total[node], own: own[node], children: [] });
      if (theirs) frame.delta = total[node] - theirs[node];
      made[node] = frame;
      (caller[node] < 0 ? top : made[caller[node]]).children.push(frame);
    }
    for (const one of [top, ...made]) if (one) one.children.sort((a, b) => b.value - a.value);
    for (let node = zoom; node >= 0 && made[node]; node = caller[node]) {
      const parent = caller[node] < 0 ? top : made[caller[node]];
      parent.fade = true; // so the library draws what is around a frame that was zoomed to
      for (const one of parent.children) one.hide = one !== made[node];
    }
    return top;
  }

  function hash(text) {
    let made = 7;
    for (let at = 0; at < text.length; ++at) made = (made * 31 + text.charCodeAt(at)) >>> 0;
    return made;
  }

  // One hue for each library or file, and a shade of it for each function: equal functions look alike everywhere. `whole` is
  // 0, or what a difference to the other trace is measured by: red has more here, blue less.
  function color(frame, whole) {
    const { data } = frame;
    if (frame.highlight) return Snug.scheme.color("frame-found");
    if (data.node < 0) return Snug.scheme.color("frame-all");
    if (whole) {
      const part = Math.min(1, Math.sqrt(Math.abs(data.delta) / whole) * 1.6);
      return `hsl(${data.delta > 0 ? 6 : 212} ${Math.round(20 + 65 * part)}% ${Math.round(88 - 26 * part)}%)`;
    }
    const hue = HUES[hash(Snug.fileOf(data.place) || "?") % HUES.length];
    const shade = hash(data.name) % 13;
    return Snug.scheme.dark() ? `hsl(${hue} 64% ${60 + shade}%)` : `hsl(${hue} 86% ${69 + shade}%)`;
  }

  Snug.frames = { tree, color };
})();
