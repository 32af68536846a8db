// What the charts over time have in common: axes in the page's words, colours of the scheme, and the mark of the selection.
"use strict";
(() => {
  const KIB = 1024;
  const BYTE_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);
  const TIME_STEPS = [];
  for (let unit = 1; unit < 6e10; unit *= 10)
    for (const times of [1, 2, 5]) if (unit * times < 6e10) TIME_STEPS.push(unit * times);
  TIME_STEPS.push(...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1440].map((minutes) => minutes * 6e10));

  // A tick is a whole number of its step, so it needs a decimal only where the step is smaller than its unit.
  function byteTick(value) {
    if (value === 0) return "0";
    const unit = Math.min(4, Math.floor(Math.log(Math.abs(value)) / Math.log(KIB) + 1e-9));
    return `${Number((value / KIB ** unit).toFixed(2))} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
  }

  function timeTicks(values) {
    const most = values[values.length - 1];
    const step = values.length > 1 ? values[1] - values[0] : most;
    const [unit, name] =
      most >= 6e11 || step >= 6e10
        ? [6e10, "min"]
        : most >= 1e9
          ? [1e9, "s"]
          : most >= 1e6
            ? [1e6, "ms"]
            : most >= 1e3
              ? [1e3, "µs"]
              : [1, "ns"];
    return values.map((value) => (value === 0 ? "0" : `${Number((value / unit).toFixed(6))} ${name}`));
  }

  function axes({ bytes = byteTick, shown = true, space = 34 } = {}) {
    const color = Snug.scheme.color;
    const line = {
      stroke: color("muted"),
      font: "12px system-ui, sans-serif",
      grid: { stroke: color("grid"), width: 1 },
      ticks: { stroke: color("grid"), width: 1, size: 5 },
    };
    return [
      {
        ...line,
        show: shown,
        incrs: TIME_STEPS,
        space: 90,
        size: 28,
        values: (_, ticks) => timeTicks(ticks),
        grid: { show: false },
      },
      { ...line, incrs: BYTE_STEPS, space, size: 74, values: (_, ticks) => ticks.map(bytes), ticks: { show: false } },
    ];
  }

  // Dims what is not selected, beneath the lines.
  function dim(recording) {
    return (plot) => {
      const { selection } = Snug;
      if (selection.all) return;
      const { ctx, bbox } = plot;
      const left = Math.max(bbox.left, plot.valToPos(selection.begin, "x", true));
      const right = Math.min(bbox.left + bbox.width, plot.valToPos(recording.end(selection.to), "x", true));
      ctx.save();
      ctx.fillStyle = Snug.scheme.color("selected");
      ctx.fillRect(left, bbox.top, Math.max(1, right - left), bbox.height);
      ctx.strokeStyle = Snug.scheme.color("accent");
      ctx.lineWidth = devicePixelRatio;
      for (const x of [left, right]) {
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
      ctx.restore();
    };
  }

  // A color of the scheme with a share of its opacity.
  function faint(name, share) {
    const hex = Snug.scheme.color(name);
    return `${hex}${Math.round(255 * share)
      .toString(16)
      .padStart(2, "0")}`;
  }

  Snug.plot = { axes, dim, faint, byteTick };
})();
