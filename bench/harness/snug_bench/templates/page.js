// The page's start: one card a load, drawn when it comes into view, and the theme.
const MOST_COLUMNS = 8; // figures side by side; more are another table

function cardId(load) {
  return `load-${load}`;
}

function cellText(sample, unit) {
  return [quantity(sample[0], unit), " ", element("small", {}, spread(sample, unit))];
}

function figuresTable(row, metrics) {
  const head = element("tr", {}, element("th", {}, row.name), ...metrics.map(({ title, higher }) =>
    element("th", { class: "number" }, title + (higher ? " (more is better)" : ""))));
  const body = element("tbody");
  for (const { name, snug } of DATA.allocators) {
    const cell = row.cells[name];
    if (!cell) continue;
    const line = element("tr", { class: snug ? "own" : null }, element("th", { scope: "row" }, swatch(name), name + (cell.frontier ? " ◆" : "")));
    if (cell.failed) {
      line.append(element("td", { colspan: metrics.length, class: "long failed" }, `failed: ${cell.failures.join("; ")}`));
      while (line.cells.length <= metrics.length) line.append(element("td", { hidden: "" }));
    } else {
      for (const { key, unit } of metrics) {
        const sample = cell.samples[key];
        line.append(sample ? element("td", { class: "number", "data-value": sample[0] }, ...cellText(sample, unit))
          : element("td", { class: "number", "data-value": "" }, "–"));
      }
    }
    body.append(line);
  }
  const table = element("table", { class: "sortable" }, element("thead", {}, head), body);
  makeSortable(table);
  return watched(table);
}

// Time, memory and figures first, then what the run cost; as many tables as it takes.
function rowTables(row) {
  const judged = row.metrics.filter(({ group }) => group === "figure");
  const first = row.metrics.filter(({ group }) => group !== "cost" && (group !== "figure" || judged.length > 1));
  const parts = [];
  for (const metrics of [first, row.metrics.filter(({ group }) => group === "cost")]) {
    for (let at = 0; at < metrics.length; at += MOST_COLUMNS) parts.push(figuresTable(row, metrics.slice(at, at + MOST_COLUMNS)));
  }
  return parts;
}

function figureLegend(row) {
  const known = row.metrics.filter(({ sentence }) => sentence);
  if (!known.length) return [];
  return [element("dl", { class: "figures" }, ...known.map(({ title, sentence }) =>
    element("div", {}, element("dt", {}, title), element("dd", {}, sentence))))];
}

function fillCard(card, rows) {
  const charts = element("div", { class: "charts" }), starts = [];
  for (const made of [...rows.map(rowScatter), scaling(rows), ...rows.map(rssOverTime)]) {
    if (!made) continue;
    charts.append(made.made);
    starts.push(made.start);
  }
  card.append(...figureLegend(rows[0]), charts, ...rows.map((row) =>
    element("details", rows.length === 1 ? { open: "" } : {}, element("summary", {}, `All figures of ${row.name}`), ...rowTables(row))));
  starts.forEach((start) => start());
}

function startCards() {
  const byLoad = new Map();
  for (const row of DATA.rows) byLoad.set(row.load, [...(byLoad.get(row.load) || []), row]);
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      fillCard(target, byLoad.get(target.dataset.load));
    }
  }, { rootMargin: "600px" });
  for (const [load, rows] of byLoad) {
    const like = rows[0].resembles ? ` Like ${rows[0].resembles}.` : "";
    const card = element("article", { class: "card", id: cardId(load), "data-load": load },
      element("h3", {}, load, " ", element("span", { class: "kind" }, rows[0].kind === "real" ? "real program" : "synthetic")),
      element("p", { class: "lead" }, `${rows[0].sentence} Stresses ${rows[0].stresses}${rows[0].stresses.endsWith("?") ? "" : "."}${like}`));
    document.getElementById("cards").append(card);
    seen.observe(card);
  }
}

function startTheme() {
  const button = document.getElementById("theme"), themes = ["system", "light", "dark"];
  let theme = "system";
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    button.textContent = `theme: ${theme}`;
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  });
}

startTheme();
startOverview();
document.querySelectorAll("[data-swatch]").forEach((place) => place.prepend(swatch(place.dataset.swatch)));
startGrid();
watched(document.getElementById("heat"));
startCards();
for (const table of document.querySelectorAll("main table:not(#heat)")) {
  if (table.classList.contains("sortable")) makeSortable(table);
  watched(table);
}
addEventListener("scroll", hideTip, { passive: true });
