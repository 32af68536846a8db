// The heat map: a row a load, a column an allocator, a colour for the cost as a multiple of the base's.
const FULL_COLOUR = 3; // from this ratio on the colour does not grow

function median(row, name, metric) {
  const cell = row.cells[name];
  return cell && cell.samples[metric] ? cell.samples[metric][0] : null;
}

function bestOf(row, metric) {
  const values = DATA.allocators.map(({ name }) => median(row, name, metric)).filter((value) => value !== null);
  return values.length ? Math.min(...values) : null;
}

// Warm above the base, cool below it; by logarithm, so that half and twice are as strong.
function heatColour(ratio) {
  const strength = Math.min(1, Math.abs(Math.log(ratio)) / Math.log(FULL_COLOUR));
  const hue = ratio > 1 ? "var(--bad)" : "184";
  return `hsl(${hue} 72% var(--bad-light) / ${(strength * 0.85).toFixed(3)})`;
}

function heatCell(row, name, metric, base) {
  const cell = row.cells[name], value = median(row, name, metric);
  if (!cell) return element("td", {}, "");
  if (value === null) {
    const text = cell.failed ? "✕" : "";
    const made = element("td", { class: cell.failed ? "failed" : null, "aria-label": cell.failed ? "failed" : null }, text);
    return cell.failed ? tipped(made, `${name} on ${row.name} failed\n${cell.failures.join("\n")}`) : made;
  }
  const ratio = value / base, best = value === bestOf(row, metric);
  const tie = !best && cell.standing[metric] === "equal";
  const made = element("td", { class: best ? "best" : tie ? "tie" : null, style: `background:${heatColour(ratio)}` }, ratioText(ratio));
  const unit = row.metrics.find((each) => each.key === metric).unit;
  const partly = cell.failures.length ? `\nsome runs failed: ${cell.failures.join("; ")}` : "";
  return tipped(made, `${name} on ${row.name}\n${quantity(value, unit)} ${spread(cell.samples[metric], unit)}, ${cell.standing[metric] || ""}${partly}`);
}

function drawHeat(metric, baseName) {
  const table = document.getElementById("heat");
  const head = element("tr", {}, element("th", { scope: "col" }, "load"), ...DATA.allocators.map(({ name, snug }) =>
    element("th", { scope: "col", class: snug ? "ownhead" : null }, name)));
  const body = element("tbody");
  let kind = "";
  for (const row of [...DATA.rows].sort((a, b) => a.kind.localeCompare(b.kind))) {
    const base = baseName ? median(row, baseName, metric) : bestOf(row, metric);
    if (bestOf(row, metric) === null && metric !== "time") continue;
    if (row.kind !== kind) {
      kind = row.kind;
      body.append(element("tr", { class: "group" }, element("th", {}, kind === "real" ? "real programs" : "synthetic"),
        ...DATA.allocators.map(() => element("td"))));
    }
    const line = element("tr", { tabindex: 0 }, element("th", { scope: "row" }, row.name.replaceAll("_", "_\u200b")),
      ...DATA.allocators.map(({ name }) => (base === null && median(row, name, metric) !== null
        ? element("td", {}, "–") : heatCell(row, name, metric, base))));
    const go = () => {
      location.hash = cardId(row.load);
      // Cards are drawn as they come into view, and grow; the place is then another.
      setTimeout(() => document.getElementById(cardId(row.load)).scrollIntoView(), 300);
    };
    line.addEventListener("click", go);
    line.addEventListener("keydown", (event) => { if (event.key === "Enter") go(); });
    body.append(line);
  }
  if (!body.rows.length) body.append(element("tr", {}, element("th", {}, "no load measures this")));
  table.replaceChildren(element("thead", {}, head), body);
}

function startGrid() {
  const select = document.getElementById("base");
  select.append(element("option", { value: "" }, "the best"), ...DATA.allocators.map(({ name }) => element("option", { value: name }, name)));
  const buttons = [...document.querySelectorAll("[data-metric]")];
  let metric = "time";
  buttons.find((button) => button.dataset.metric === "settled").hidden = !DATA.rows.some((row) => bestOf(row, "settled") !== null);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      metric = button.dataset.metric;
      buttons.forEach((each) => each.setAttribute("aria-pressed", each === button));
      drawHeat(metric, select.value);
    });
  }
  select.addEventListener("change", () => drawHeat(metric, select.value));
  drawHeat(metric, "");
}
