// Numbers as the page writes them, and the findings' sentences: binary units with one decimal, counts in groups of three,
// times in the unit that fits.
"use strict";
const Snug = {};
(() => {
  const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const GAP = "\u00a0"; // no line ends between a number and its unit
  const GROUPS = /\B(?=(\d{3})+$)/g;

  const count = (number) =>
    number === null || number === undefined ? "not known" : String(Math.round(number)).replace(GROUPS, ",");

  function bytes(number) {
    if (number === null || number === undefined) return "not known";
    let value = Math.abs(number);
    let unit = 0;
    // 1023.95 and above would be written as 1024.0 of the smaller unit.
    while (value >= (unit ? 1023.95 : 1024) && unit < UNITS.length - 1) {
      value /= 1024;
      ++unit;
    }
    return (number < 0 ? "−" : "") + (unit ? value.toFixed(1) : count(value)) + GAP + UNITS[unit];
  }

  function time(ns) {
    if (ns === null || ns === undefined) return "not known";
    if (ns === 0) return `0${GAP}s`;
    if (ns < 1e3) return `${count(ns)}${GAP}ns`;
    if (ns < 1e6) return `${trimmed(ns / 1e3)}${GAP}µs`;
    if (ns < 1e9) return `${trimmed(ns / 1e6)}${GAP}ms`;
    if (ns < 60e9) return `${trimmed(ns / 1e9)}${GAP}s`;
    if (ns < 3600e9) {
      const seconds = Math.round(ns / 1e9);
      return seconds % 60 ? `${Math.floor(seconds / 60)}${GAP}min ${seconds % 60}${GAP}s` : `${seconds / 60}${GAP}min`;
    }
    const minutes = Math.round(ns / 60e9);
    return minutes % 60 ? `${Math.floor(minutes / 60)}${GAP}h ${minutes % 60}${GAP}min` : `${minutes / 60}${GAP}h`;
  }

  // Three digits tell enough; 1.50 is written 1.5.
  const trimmed = (value) => String(Number(value.toPrecision(value >= 100 ? 4 : 3)));

  function share(part, whole) {
    if (!whole) return "0%";
    const percent = (100 * part) / whole;
    if (percent > 0 && percent < 0.1) return "< 0.1%";
    return `${percent.toFixed(percent >= 99.95 || percent === 0 ? 0 : 1)}%`;
  }

  // The sizes of blocks are told to the byte as long as they can be read.
  const size = (number) => (number < 65536 ? `${count(number)}${GAP}B` : bytes(number));

  const more = (number, write) => (number > 0 ? "+" : "") + write(number);
  const signedCount = (number) => (number < 0 ? "−" : "") + count(Math.abs(number));
  const things = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

  Snug.words = { count, bytes, size, time, share, more, signedCount, things, blocks: (n) => things(n, "block", "blocks"), GAP };
})();
