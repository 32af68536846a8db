// The selected slices, which all views follow. Nothing selected is everything.
"use strict";
(() => {
  const listeners = [];
  let recording = null;
  let range = null; // [from, to], or null: everything

  const selection = {
    start(of) {
      recording = of;
      range = null;
    },
    get all() {
      return range === null;
    },
    get from() {
      return range ? range[0] : 0;
    },
    get to() {
      return range ? range[1] : recording.sliceCount - 1;
    },
    get begin() {
      return recording.begin(this.from);
    },
    get end() {
      return range ? recording.end(range[1]) : Math.max(recording.end(Infinity), recording.data.trace.duration_ns || 0);
    },
    has(slice) {
      return slice >= this.from && slice <= this.to;
    },
    set(from, to) {
      const last = recording.sliceCount - 1;
      if (last < 0) return;
      const clamp = (slice) => Math.max(0, Math.min(last, slice));
      const next = [clamp(Math.min(from, to)), clamp(Math.max(from, to))];
      if (range && range[0] === next[0] && range[1] === next[1]) return;
      range = next;
      tell();
    },
    reset() {
      if (range) {
        range = null;
        tell();
      }
    },
    listen(listener) {
      listeners.push(listener);
    },
    get text() {
      const { time } = Snug.words;
      if (this.all) return `Everything: ${time(this.begin)} to ${time(this.end)}`;
      return `${time(this.begin)} to ${time(this.end)}, ${time(this.end - this.begin)} of ${time(recording.end(Infinity))}`;
    },
  };

  const tell = () => listeners.forEach((listener) => listener(selection));
  Snug.selection = selection;
})();
