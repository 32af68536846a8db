// The flame graph: which functions allocated, and what called them. Its own drawing is d3-flame-graph's; here are its data,
// its colours, and keys: the graph is one stop of Tab, within which the arrow keys go from frame to frame.
"use strict";
(() => {
  const { element, words } = Snug;
  const CELL = 22; // pixels of a frame's height
  const LEAST = 2; // pixels; narrower frames are not drawn, the table and the zoom have them
  const TABS = [
    ["peak", "At the peak"],
    ["allocated", "Allocated"],
    ["left", "Left at the end"],
    ["temporary", "Short-lived"],
    ["growth", "Growth"],
  ];
  const ABOUT = {
    peak: [
      "What was live at the peak, by the functions that allocated it.",
      "What was live at the end of the highest slice that is selected.",
    ],
    allocated: ["All that was allocated, whether it was freed or not.", "What was allocated in the selected time."],
    left: ["What was never freed.", "At most this was allocated in the selected time and is live at its end."],
    temporary: [
      "What was freed within a few calls of its thread: work that need not be done.",
      "What was freed within a few calls of its thread, in the selected time.",
    ],
    growth: [
      "What is live at the end and was not at the beginning.",
      "Where more is live at the end of the selected time than at its beginning.",
    ],
  };
  // zoom, at: the nodes of the frame that fills the width and of the one that the keys are at. Other measures, times, colours
  // and widths draw other frames, and keep these where they still have something.
  const state = { tab: "peak", unit: "bytes", find: "", compared: false, zoom: -1, at: -1 };
  let recording = null;
  let chart = null;
  let parts = null; // the elements of the view
  let root = null; // of the drawn hierarchy
  let zoomed = null;
  let current = null; // the frame that the keys are at
  let filled = ""; // what the table beneath the graph was made of

  // The other trace has numbers of the whole recording, and none of growth.
  const compared = () => state.compared && Snug.selection.all && recording.other(state.tab) !== null;
  const write = (value) => (state.unit === "bytes" ? words.bytes(value) : words.blocks(value));

  function tip() {}
  tip.show = (frame, box) => {
    const { data } = frame;
    const at = box.getBoundingClientRect();
    const x = Math.max(at.left, 0);
    Snug.tip.show(data.name, rows(data), Math.min(x, window.innerWidth - 40), at.bottom - 8);
  };
  tip.hide = Snug.tip.hide;
  tip.destroy = () => {};

  function rows(data) {
    return [
      data.place ? ["in", data.place] : null,
      ["with called", `${write(data.value)}, ${words.share(data.value, root.data.value)}`],
      data.node >= 0 ? ["own", write(data.own)] : null,
      compared()
        ? ["against the other", words.more(data.delta, state.unit === "bytes" ? words.bytes : words.signedCount)]
        : null,
    ];
  }

  function tell(frame) {
    const { data } = frame;
    parts.told.textContent =
      data.node < 0
        ? `All: ${write(data.value)}.`
        : `${data.name}${data.place ? ` (${data.place})` : ""}: ${write(data.value)} with what it called, ${words.share(
            data.value,
            root.data.value,
          )}; ${write(data.own)} by itself.`;
  }

  function zoomTo(frame) {
    chart.zoomTo(frame); // calls back `zoomedTo`
    focusFrame(frame);
  }

  // The library moves frames to their first place over some frames of the screen. A page that is printed has no time for it.
  function finish() {
    d3.select(parts.graph)
      .selectAll("g")
      .each(function place(frame) {
        this.querySelector("rect").setAttribute("width", this.getAttribute("width"));
        this.querySelector("div").textContent = frame.data.n;
      });
  }

  // The graph is as high as what is drawn of it: the library makes room for a title, and for frames too narrow to draw.
  function fit() {
    let deepest = 0;
    d3.select(parts.graph)
      .selectAll("g")
      .each((frame) => {
        deepest = Math.max(deepest, frame.depth);
      });
    parts.graph.querySelector("svg").setAttribute("height", String((deepest + 1) * CELL + 2));
  }

  function zoomedTo(frame) {
    zoomed = frame;
    state.zoom = frame.data.node;
    fit();
    mark(frame);
    crumbs();
    tell(frame);
  }

  function crumbs() {
    Snug.crumbs(parts.crumbs, zoomed, (frame) => {
      zoomTo(frame);
      parts.graph.focus({ preventScroll: true });
    });
  }

  function mark(frame) {
    current = frame;
    state.at = frame.data.node;
  }

  function focusFrame(frame) {
    mark(frame);
    for (const group of parts.graph.querySelectorAll("g.at")) group.classList.remove("at");
    d3.select(parts.graph)
      .selectAll("g")
      .filter((one) => one === frame)
      .each(function add() {
        this.classList.add("at");
      });
    tell(frame);
  }

  function key(event) {
    if (!current || event.ctrlKey || event.altKey || event.metaKey) return;
    const siblings = current.parent ? current.parent.children.filter((one) => one.value > 0) : [current];
    const at = siblings.indexOf(current);
    const next = {
      ArrowDown: () => (current.children || []).find((one) => one.value > 0),
      ArrowUp: () => current.parent,
      ArrowRight: () => siblings[at + 1],
      ArrowLeft: () => siblings[at - 1],
      Home: () => root,
    }[event.key];
    if (next) {
      event.preventDefault();
      const frame = next();
      if (frame) focusFrame(frame);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      zoomTo(current);
    } else if (event.key === "Backspace" && zoomed && zoomed.parent) {
      event.preventDefault();
      zoomTo(zoomed.parent);
    } else if (event.key === "Escape" && zoomed !== root) {
      event.stopPropagation();
      zoomTo(root);
    }
  }

  function search() {
    if (!chart || !root) return;
    Snug.functions.filter(parts.table.firstElementChild, state.find);
    if (state.find) chart.search(state.find);
    else {
      chart.clear();
      parts.found.textContent = "";
    }
  }

  function graph(own) {
    const data = Snug.frames.tree(recording, own, compared() ? recording.other(state.tab)[state.unit] : null, state.zoom);
    const height = parts.graph.scrollTop;
    parts.graph.replaceChildren();
    chart = flamegraph()
      .width(parts.graph.clientWidth)
      .cellHeight(CELL)
      .inverted(true)
      .minFrameSize(LEAST)
      .tooltip(tip)
      .transitionDuration(Snug.calm() ? 0 : 200)
      .resetHeightOnZoom(false)
      .onClick(zoomedTo)
      .setSearchMatch(
        (frame, term) => Boolean(term) && frame.data.node >= 0 && frame.data.name.toLowerCase().includes(term.toLowerCase()),
      )
      .setSearchHandler((found, sum, all) => {
        parts.found.textContent = found.length
          ? `${words.things(found.length, "frame", "frames")}, ${write(sum)}, ${words.share(sum, all)}`
          : "No function here has this in its name.";
      })
      .setColorMapper((frame) => Snug.frames.color(frame, compared() ? root.data.value : 0));
    root = { data }; // the colours ask for the whole while the first drawing makes the hierarchy
    d3.select(parts.graph).datum(data).call(chart);
    root = d3.select(parts.graph).datum();
    parts.graph.querySelector("svg").setAttribute("aria-hidden", "true");
    finish();
    fit();
    const frames = new Map(root.descendants().map((frame) => [frame.data.node, frame]));
    zoomed = frames.get(state.zoom) || root;
    crumbs();
    const at = frames.get(state.at);
    if (at && at !== root) focusFrame(at);
    else {
      current = zoomed;
      tell(zoomed);
    }
    parts.graph.scrollTop = height;
    if (state.find) search();
  }

  function check(text, checked, change) {
    const box = element("input", { type: "checkbox", onchange: (event) => change(event.target.checked) });
    box.checked = checked;
    return element("label", { class: "check" }, box, text);
  }

  function controls() {
    const units = Snug.tabs(
      "Unit",
      [
        ["bytes", "Bytes"],
        ["blocks", "Blocks"],
      ],
      state.unit,
      (unit) => {
        state.unit = unit;
        fill();
      },
      "flame-panel",
    );
    const find = element("input", {
      type: "search",
      id: "find",
      placeholder: "Find a function",
      "aria-label": "Find a function in the flame graph",
      "aria-keyshortcuts": "/",
      autocomplete: "off",
      spellcheck: "false",
      oninput: (event) => {
        state.find = event.target.value.trim();
        search();
      },
    });
    find.value = state.find;
    const library = recording.hasLibrary()
      ? check("Show the libraries' own functions", recording.withLibrary, (shown) => {
          recording.withLibrary = shown;
          fill();
        })
      : null;
    const compare = recording.data.against
      ? check("Colour by difference to the other trace", state.compared, (compared) => {
          state.compared = compared;
          fill();
        })
      : null;
    return element(
      "div",
      { class: "controls" },
      Snug.tabs(
        "What the flame graph shows",
        TABS,
        state.tab,
        (tab) => {
          state.tab = tab;
          fill();
        },
        "flame-panel",
      ),
      units,
      find,
      library,
      compare,
    );
  }

  function comparison() {
    if (!state.compared) return "";
    if (compared()) return " Red has more here than in the other trace, blue less.";
    return " Growth and a selected time cannot be compared with the other trace.";
  }

  function fill() {
    const own = recording.measure(state.tab, Snug.selection);
    const all = { bytes: Snug.sum(own.bytes), blocks: Snug.sum(own.blocks) };
    parts.about.textContent = ABOUT[state.tab][Snug.selection.all ? 0 : 1] + comparison();
    parts.total.replaceChildren(
      element("b", { "data-bytes": all.bytes, "data-blocks": all.blocks }, words.bytes(all.bytes)),
      ` in ${words.blocks(all.blocks)}`,
    );
    const nothing = all[state.unit] <= 0;
    for (const part of [parts.graph, parts.told]) part.hidden = nothing;
    parts.found.textContent = "";
    parts.crumbs.hidden = true;
    const { from, to, all: whole } = Snug.selection;
    const wanted = [state.tab, state.unit, recording.withLibrary, whole, from, to].join();
    const changed = wanted !== filled;
    filled = wanted;
    if (nothing) {
      parts.graph.replaceChildren();
      chart = null;
      current = null;
      parts.table.replaceChildren(
        Snug.sentence(
          Snug.selection.all ? "There is nothing of this in the recording." : "There is nothing of this in the selected time.",
        ),
      );
      return;
    }
    graph(own[state.unit]);
    if (!changed) return;
    parts.table.replaceChildren(Snug.functions.table(recording, own, state.unit, markFunction) || "");
    Snug.functions.filter(parts.table.firstElementChild, state.find);
  }

  function markFunction(name) {
    state.find = name;
    document.getElementById("find").value = name;
    search();
    parts.graph.scrollIntoView({ block: "nearest", behavior: Snug.calm() ? "auto" : "smooth" });
  }

  function draw(body) {
    if (!recording.data.trace.has_stacks || !recording.nodeCount) {
      body.replaceChildren(
        Snug.sentence(
          "The trace says how much was allocated, but not by which functions: it has no stacks. " +
            "`snug record --stacks PROGRAM` records them. Until then, these are the sizes of the blocks:",
        ),
        Snug.sizes.table(recording),
      );
      return;
    }
    if (!parts) {
      parts = {
        about: element("p", { class: "hint" }),
        total: element("p", { class: "flame-total" }),
        crumbs: element("ol", { class: "crumbs", "aria-label": "The way to the frame that fills the width" }),
        graph: element("div", {
          class: "flame",
          tabindex: "0",
          role: "group",
          "aria-roledescription": "flame graph",
          id: "flame-graph",
          "aria-label": "Flame graph. The arrow keys go from frame to frame, Enter zooms, Backspace goes back.",
        }),
        told: element("p", { class: "told", "aria-live": "polite" }),
        found: element("p", { class: "found", "aria-live": "polite" }),
        table: element("div", {}),
      };
      parts.graph.addEventListener("keydown", key);
      body.replaceChildren(
        controls(),
        element(
          "div",
          { id: "flame-panel", role: "tabpanel", "aria-label": "Flame graph" },
          element("div", { class: "flame-head" }, parts.total, parts.about, parts.found),
          parts.crumbs,
          parts.graph,
          parts.told,
          parts.table,
        ),
      );
    }
    fill();
  }

  function showNode(node, tab) {
    if (!parts) return;
    state.tab = tab;
    state.find = "";
    state.zoom = recording.tellerOf(node);
    state.at = state.zoom;
    parts.graph.closest(".body").querySelector(".controls").replaceWith(controls());
    fill();
    parts.graph.focus({ preventScroll: true });
  }

  function start(of) {
    recording = of;
    Snug.views.add(
      "flame",
      "Functions",
      "Functions",
      "Each bar is a function, as wide as what it and the functions beneath it allocated. Equal " +
        "colours are of one file or library. Click a bar to let it fill the width; other times and measures keep it.",
      draw,
      { painted: true },
    );
  }

  Snug.flame = { start, showNode };
})();
