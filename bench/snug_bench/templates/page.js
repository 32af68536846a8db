// The page's start: one card a load, drawn when it comes into view, and the theme.
const DATA = JSON.parse(document.getElementById("data").textContent);

function cardId(load) {
  return `load-${load}`;
}

function cellText(sample, unit) {
  return [quantity(sample[0], unit), " ", element("small", {}, spread(sample, unit))];
}

function rowTable(row) {
  const metrics = row.metrics.filter(({ key, group }) => group !== "figure" || row.metrics.filter((each) => each.group === "figure").length > 1);
  const head = element("tr", {}, element("th", {}, row.name), ...metrics.map(({ title, higher }) =>
    element("th", { class: "number" }, title + (higher ? " (more is better)" : ""))));
  const body = element("tbody");
  for (const { name, snug } of DATA.allocators) {
    const cell = row.cells[name];
    if (!cell) continue;
    const line = element("tr", { class: snug ? "own" : null }, element("th", { scope: "row" }, name + (cell.frontier ? " ★" : "")));
    if (cell.failed) {
      line.append(element("td", { colspan: metrics.length, class: "long" }, `failed: ${cell.failures.join("; ")}`));
      while (line.cells.length < 2) line.append(element("td"));
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
  return element("div", { class: "scroll" }, table);
}

function fillCard(card, rows) {
  const charts = element("div", { class: "charts" }), starts = [];
  for (const row of rows) {
    const plot = scatter(row);
    if (plot) charts.append(element("figure", {}, element("figcaption", {}, `time against peak RSS, ${row.name}`), plot));
  }
  for (const made of [scaling(rows), ...rows.map(rssOverTime)]) {
    if (!made) continue;
    charts.append(made.figure);
    starts.push(made.start);
  }
  card.append(charts, ...rows.map((row) => element("details", rows.length === 1 ? { open: "" } : {}, element("summary", {}, `figures, ${row.name}`), rowTable(row))));
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
    const card = element("article", { class: "card", id: cardId(load), "data-load": load }, element("h3", {}, rows[0].title),
      element("p", { class: "stresses" }, `${rows[0].kind === "real" ? "Real program" : "Synthetic"}: ${rows[0].stresses}.${like}`));
    document.getElementById("cards").append(card);
    seen.observe(card);
  }
}

function startTheme() {
  const button = document.getElementById("theme"), themes = ["system", "light", "dark"];
  let theme = "system";
  const redraw = () => drawn.forEach((draw) => draw());
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    button.textContent = `theme: ${theme}`;
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth, waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 150);
  });
}

startTheme();
startGrid();
startCards();
document.querySelectorAll("main > section table.sortable").forEach((table) => { if (table.tHead) makeSortable(table); });
addEventListener("scroll", hideTip, { passive: true });
