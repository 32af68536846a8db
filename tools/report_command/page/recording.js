// The recording: the JSON of the page, and what follows from it for a selection of slices. All sums over the nodes'
// series are made here, once for each selection, in typed arrays: a large recording has some hundred thousand entries.
"use strict";
(() => {
  const FORMAT = "snug.report/1";
  const FIELDS = 7; // of an entry of a series

  // Throws an Error with the one line that the page shows instead of a recording.
  function read() {
    const holder = document.getElementById("snug-data");
    if (!holder) throw new Error("This page has no recording in it: `snug report TRACE` writes a page that has one.");
    let data;
    try {
      data = JSON.parse(holder.textContent);
    } catch (error) {
      throw new Error(`The data of this page cannot be read: ${error.message}.`);
    }
    if (!data || typeof data !== "object" || data.format !== FORMAT) {
      const told = data && typeof data === "object" ? JSON.stringify(data.format) || "none" : typeof data;
      throw new Error(`The data of this page has the format ${told}, and this page shows ${FORMAT} only.`);
    }
    for (const part of [
      "trace",
      "totals",
      "findings",
      "slices",
      "samples",
      "nodes",
      "series",
      "at_peak",
      "sizes",
      "lifetimes",
      "threads",
    ]) {
      if (!data[part]) throw new Error(`The data of this page lacks "${part}": it was cut off or written by another program.`);
    }
    if (data.nodes.name.length !== data.nodes.caller.length || data.series.length !== data.nodes.name.length) {
      throw new Error("The data of this page contradicts itself: its nodes and their series differ in number.");
    }
    return new Recording(data);
  }

  const pair = (length) => ({ bytes: new Float64Array(length), blocks: new Float64Array(length) });

  class Recording {
    constructor(data) {
      Object.assign(this, { data, sliceCount: data.slices.end_ns.length, nodeCount: data.nodes.name.length });
      this.memory = new Map();
      this.withLibrary = false; // the functions of the languages' own libraries are among those that are told of
    }

    // Through containers, allocators and wrappers programs have their memory: what these allocate is told of as their
    // callers', and what they call as called by those. For each node the one that tells of it, and the callers of these.
    shape() {
      return this.remembered(`shape ${this.withLibrary}`, () => {
        const { name, place, caller, plumbing } = this.data.nodes;
        if (this.withLibrary || !this.hasLibrary()) return { teller: null, caller };
        const teller = new Int32Array(this.nodeCount);
        const callers = new Int32Array(this.nodeCount);
        const known = new Map();
        for (let node = 0; node < this.nodeCount; ++node) {
          const above = caller[node] < 0 ? -1 : teller[caller[node]];
          callers[node] = above;
          const key = `${above}\n${name[node]}\n${place[node]}`;
          if (!known.has(key)) known.set(key, node);
          teller[node] = plumbing[node] && above >= 0 ? above : known.get(key);
        }
        return { teller, caller: callers };
      });
    }
    hasLibrary() {
      return this.data.nodes.plumbing.includes(1);
    }
    callers() {
      return this.shape().caller;
    }
    // The node that tells of another.
    tellerOf(node) {
      const { teller } = this.shape();
      return teller && node >= 0 ? teller[node] : node;
    }
    told(own) {
      const { teller } = this.shape();
      if (!teller || !own) return own;
      const made = pair(this.nodeCount);
      for (let node = 0; node < this.nodeCount; ++node) {
        made.bytes[teller[node]] += own.bytes[node];
        made.blocks[teller[node]] += own.blocks[node];
      }
      return made;
    }

    begin(slice) {
      return slice > 0 ? this.data.slices.end_ns[slice - 1] : 0;
    }
    end(slice) {
      return this.sliceCount ? this.data.slices.end_ns[Math.min(slice, this.sliceCount - 1)] : 0;
    }

    sliceAt(ns) {
      const ends = this.data.slices.end_ns;
      let low = 0;
      let high = ends.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (ends[middle] < ns) low = middle + 1;
        else high = middle;
      }
      return low;
    }

    // The slice of a selection with the most live bytes at its end.
    highest({ from, to }) {
      const live = this.data.slices.live_bytes;
      let best = from;
      for (let slice = from; slice <= to; ++slice) if (live[slice] > live[best]) best = slice;
      return best;
    }

    // Own numbers of each node within a selection: allocated and temporary in it, live at its begin, end and height.
    sums(selection) {
      const { from, to } = selection;
      const key = `${from} ${to}`;
      if (this.sumsKey === key) return this.kept;
      const k = this.nodeCount;
      const made = { allocated: pair(k), temporary: pair(k), begin: pair(k), end: pair(k), height: pair(k) };
      const height = this.sliceCount ? this.highest(selection) : -1;
      for (let node = 0; node < k; ++node) this.addNode(made, node, this.data.series[node], from, to, height);
      this.sumsKey = key;
      this.kept = made;
      return made;
    }

    addNode({ allocated, temporary, begin, end, height }, node, series, from, to, highest) {
      for (let at = 0; at < series.length; at += FIELDS) {
        const slice = series[at];
        if (slice > to) break;
        const bytes = series[at + 1] - series[at + 3];
        const blocks = series[at + 2] - series[at + 4];
        end.bytes[node] += bytes;
        end.blocks[node] += blocks;
        if (slice <= highest) {
          height.bytes[node] += bytes;
          height.blocks[node] += blocks;
        }
        if (slice < from) {
          begin.bytes[node] += bytes;
          begin.blocks[node] += blocks;
          continue;
        }
        allocated.bytes[node] += series[at + 1];
        allocated.blocks[node] += series[at + 2];
        temporary.bytes[node] += series[at + 5];
        temporary.blocks[node] += series[at + 6];
      }
    }

    // Own numbers of each node for one of the flame graph's measures. A series tells in which slice a block was freed, not
    // in which it was allocated, so what is left of a selection is known as a bound: no more than is live at its end, and
    // no more than was allocated in it.
    measure(name, selection) {
      return this.told(this.ownMeasure(name, selection));
    }
    ownMeasure(name, selection) {
      if (name === "peak" && selection.all) return this.atPeak();
      const sums = this.sums(selection);
      if (name === "peak") return sums.height;
      if (name === "allocated" || name === "temporary") return sums[name];
      if (name === "left" && selection.all) return sums.end;
      const made = pair(this.nodeCount);
      for (const unit of ["bytes", "blocks"]) {
        for (let node = 0; node < this.nodeCount; ++node) {
          made[unit][node] =
            name === "left"
              ? Math.min(sums.end[unit][node], sums.allocated[unit][node])
              : Math.max(0, sums.end[unit][node] - sums.begin[unit][node]);
        }
      }
      return made;
    }

    remembered(key, make) {
      if (!this.memory.has(key)) this.memory.set(key, make());
      return this.memory.get(key);
    }

    atPeak() {
      return this.remembered("peak", () => {
        const made = pair(this.nodeCount);
        this.data.at_peak.node.forEach((node, index) => {
          made.bytes[node] += this.data.at_peak.bytes[index];
          made.blocks[node] += this.data.at_peak.blocks[index];
        });
        return made;
      });
    }

    // The second trace's own numbers for a measure, or null: it has them for the whole recording only, and no growth.
    other(name) {
      const at = { allocated: 1, peak: 3, left: 5, temporary: 7 }[name];
      if (!this.data.against || !at) return null;
      return this.remembered(`other ${name} ${this.withLibrary}`, () => {
        const made = pair(this.nodeCount);
        const flat = this.data.against.nodes;
        for (let entry = 0; entry < flat.length; entry += 9) {
          made.bytes[flat[entry]] += flat[entry + at];
          made.blocks[flat[entry]] += flat[entry + at + 1];
        }
        return this.told(made);
      });
    }

    // A node's own number with those of all that it called; a caller's index is smaller than its own.
    withCalled(own) {
      const total = Float64Array.from(own);
      const caller = this.callers();
      for (let node = this.nodeCount - 1; node >= 0; --node) if (caller[node] >= 0) total[caller[node]] += total[node];
      return total;
    }

    functions() {
      return this.remembered(`functions ${this.withLibrary}`, () => {
        const { name, place } = this.data.nodes;
        const caller = this.callers();
        const ids = new Map();
        const of = new Int32Array(this.nodeCount);
        const list = [];
        for (let node = 0; node < this.nodeCount; ++node) {
          const key = `${name[node]}\n${fileOf(place[node])}`;
          if (!ids.has(key)) {
            ids.set(key, list.length);
            list.push({ name: name[node], place: fileOf(place[node]) });
          }
          of[node] = ids.get(key);
        }
        // A function that calls itself counts once: only its outermost node of each stack adds to its total.
        const outermost = new Uint8Array(this.nodeCount).fill(1);
        for (let node = 0; node < this.nodeCount; ++node) {
          for (let up = caller[node]; up >= 0; up = caller[up])
            if (of[up] === of[node]) {
              outermost[node] = 0;
              break;
            }
        }
        return { list, of, outermost };
      });
    }

    // [{ name, place, own, total }] of all functions, for own numbers of the nodes.
    byFunction(own) {
      const { list, of, outermost } = this.functions();
      const total = this.withCalled(own);
      const rows = list.map((one) => ({ ...one, own: 0, total: 0 }));
      for (let node = 0; node < this.nodeCount; ++node) {
        rows[of[node]].own += own[node];
        if (outermost[node]) rows[of[node]].total += total[node];
      }
      return rows;
    }
  }

  // Two lines of one function are one function.
  const fileOf = (place) => place.replace(/:\d+$/, "");
  const sum = (numbers) => {
    let all = 0;
    for (const number of numbers) all += number;
    return all;
  };

  Object.assign(Snug, { read, sum, fileOf });
})();
