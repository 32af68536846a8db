// The grid: a row a load, a column an allocator, a colour for the cost as a multiple of the base's.
const FULL_COLOUR = 50; // from this ratio on the colour does not grow
const SCALE = [1, 1.1, 1.5, 3, 10, 50];
const STARRED = ["better", "equal"];
const KINDS = Object.fromEntries(DATA.overviews.map(({ kind, caption }) => [kind, caption[0].toUpperCase() + caption.slice(1)]));

function median(row, name, metric) {
  const cell = row.cells[name];
  return cell && cell.samples[metric] ? cell.samples[metric][0] : null;
}

function bestOf(row, metric) {
  const values = DATA.allocators.map(({ name }) => median(row, name, metric)).filter((value) => value !== null);
  return values.length ? Math.min(...values) : null;
}

// Warm above the base, cool below it. By logarithm, so that 3 and 44 differ; by its root, so that 1.0 and 1.2 do.
function heatColour(ratio) {
  const strength = Math.min(1, Math.abs(Math.log(ratio)) / Math.log(FULL_COLOUR)) ** 0.5;
  return `color-mix(in oklab, var(${ratio > 1 ? "--warm" : "--cool"}) ${(strength * 92).toFixed(1)}%, var(--panel))`;
}

function heatCell(row, name, metric, base) {
  const cell = row.cells[name], value = median(row, name, metric);
  if (!cell) return element("td", { class: "absent" }, "not run");
  if (value === null) {
    if (!cell.failed) return element("td", { class: "absent" }, "–");
    return tipped(element("td", { class: "failed" }, "failed"), `${name} on ${row.name} failed\n${cell.failures.join("\n")}`);
  }
  const ratio = value / base, word = cell.standing[metric] || "";
  const made = element("td", { class: value === bestOf(row, metric) ? "best" : null, style: `background:${heatColour(ratio)}` }, ratioText(ratio),
    STARRED.includes(word) ? element("span", { class: "star", "aria-label": word }, "★") : "");
  const unit = row.metrics.find((each) => each.key === metric).unit;
  const partly = cell.failures.length ? `\nsome runs failed: ${cell.failures.join("; ")}` : "";
  return tipped(made, `${name} on ${row.name}\n${quantity(value, unit)} ${spread(cell.samples[metric], unit)}\n${word ? `against the others: ${word}` : ""}${partly}`);
}

function goTo(load) {
  const card = document.getElementById(cardId(load));
  location.hash = card.id;
  // Cards are drawn as they come into view, and grow; the place is then another.
  setTimeout(() => card.scrollIntoView(), 300);
}

function drawHeat(metric, baseName) {
  const table = document.getElementById("heat");
  const head = element("tr", {}, element("th", { scope: "col" }, "load"), ...DATA.allocators.map(({ name, snug }) =>
    element("th", { scope: "col", class: snug ? "ownhead" : null }, element("div", {}, swatch(name), name))));
  const body = element("tbody");
  let kind = "", load = "";
  for (const row of DATA.rows.toSorted((a, b) => a.kind.localeCompare(b.kind))) {
    if (bestOf(row, metric) === null && metric !== "time") continue;
    const base = baseName ? median(row, baseName, metric) : bestOf(row, metric);
    if (row.kind !== kind) {
      kind = row.kind;
      body.append(element("tr", { class: "group" }, element("th", { colspan: DATA.allocators.length + 1 }, KINDS[kind])));
    }
    const open = element("button", { type: "button", class: "open" }, row.name.replaceAll("_", "_\u200b"));
    open.addEventListener("click", () => goTo(row.load));
    const title = element("th", { scope: "row" }, open, ...(row.load === load ? [] : [element("small", {}, row.sentence)]));
    load = row.load;
    body.append(element("tr", {}, title, ...DATA.allocators.map(({ name }) => (base === null && median(row, name, metric) !== null
      ? element("td", { class: "absent" }, "–") : heatCell(row, name, metric, base)))));
  }
  if (!body.rows.length) body.append(element("tr", {}, element("th", {}, "no load measures this")));
  table.replaceChildren(element("thead", {}, head), body);
  label(table);
  fit(table);
}

function drawScale() {
  document.getElementById("scale").append("times as much: ", ...SCALE.map((ratio) =>
    element("span", { style: `background:${heatColour(ratio)}` }, ratio === FULL_COLOUR ? `${ratio} or more` : String(ratio))));
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
  drawScale();
  drawHeat(metric, "");
}
