// The matrix of threads: which thread frees what another has allocated.
"use strict";
(() => {
  const { element, words } = Snug;
  let recording = null;
  let drawn = null;

  const called = (index) => {
    const name = recording.data.threads.name[index];
    return /^\d+$/.test(name) ? `thread ${name}` : name;
  };

  function sums() {
    const { name, pairs } = recording.data.threads;
    const made = {
      blocks: new Float64Array(name.length ** 2),
      bytes: new Float64Array(name.length ** 2),
      quick: new Float64Array(name.length ** 2),
    };
    for (let at = 0; at < pairs.length; at += 6) {
      if (!Snug.selection.has(pairs[at])) continue;
      const cell = pairs[at + 1] * name.length + pairs[at + 2];
      made.blocks[cell] += pairs[at + 3];
      made.bytes[cell] += pairs[at + 4];
      made.quick[cell] += pairs[at + 5];
    }
    return made;
  }

  function across(made, field, count) {
    let all = 0;
    for (let from = 0; from < count; ++from)
      for (let by = 0; by < count; ++by) if (from !== by) all += made[field][from * count + by];
    return all;
  }

  function draw(body) {
    const { name, allocated_bytes: allocated, allocated_blocks: blocks } = recording.data.threads;
    drawn = null;
    if (!name.length) {
      body.replaceChildren(Snug.sentence("No thread allocated anything."));
      return;
    }
    if (name.length === 1) {
      body.replaceChildren(
        Snug.sentence(
          `One thread made all ${words.blocks(blocks[0])} (${words.bytes(allocated[0])}), and none of them ` + "changed hands.",
        ),
      );
      return;
    }
    const made = sums();
    if (!Snug.sum(made.blocks)) {
      body.replaceChildren(
        Snug.sentence(
          Snug.selection.all
            ? "No block was freed, by its own thread or by another."
            : "No block was freed in the selected time.",
        ),
      );
      return;
    }
    const at = (from, by) => from * name.length + by;
    const text = (from, by) => {
      const cell = at(from, by);
      const what =
        from === by ? `${called(from)} allocated and freed itself` : `${called(from)} allocated and ${called(by)} freed`;
      if (!made.blocks[cell]) return `There is no block that ${what}.`;
      const quick = made.quick[cell]
        ? `; ${words.share(made.quick[cell], made.blocks[cell])} of them lived less than 1 ms`
        : "";
      return `${words.blocks(made.blocks[cell])} (${words.bytes(made.bytes[cell])}) that ${what}${quick}.`;
    };
    drawn = Snug.grid({
      id: "threads-grid",
      caption: "Bytes by the thread that allocated and the thread that freed",
      corner: "Allocated by ↓, freed by →",
      rows: name.map((one, index) => element("span", { title: words.bytes(allocated[index]) }, one)),
      columns: name,
      text,
      write: words.bytes,
      value: (from, by) => made.bytes[at(from, by)],
      mark: (from, by) => (from === by ? "●" : made.quick[at(from, by)] > made.blocks[at(from, by)] / 2 ? "⚡" : ""),
    });
    const away = across(made, "blocks", name.length);
    const bytes = words.bytes(across(made, "bytes", name.length));
    const quick = words.blocks(across(made, "quick", name.length));
    const part = words.share(away, Snug.sum(made.blocks));
    body.replaceChildren(
      element(
        "p",
        { class: "told" },
        away
          ? `${words.blocks(away)} (${bytes}), ${part} of those freed, were freed by another thread; ${quick} within 1 ms.`
          : "Each block was freed by the thread that had allocated it.",
      ),
      drawn,
      element("p", { class: "hint" }, "● a thread's own blocks; ⚡ most of these blocks lived less than 1 ms."),
    );
  }

  function showPair(from, by) {
    if (drawn) drawn.enter(from, by);
  }

  function start(of) {
    recording = of;
    Snug.views.add(
      "threads",
      "Threads",
      "Threads",
      "Blocks that one thread allocates and another frees cost more than those that stay at home.",
      draw,
    );
  }

  Snug.threads = { start, showPair };
})();
