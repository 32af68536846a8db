// Elements, the tip that follows the pointer, and tables: they sort by a click on a column's head, and hide no column: where
// one is too wide, each of its rows becomes a card that names every value.
const DATA = JSON.parse(document.getElementById("data").textContent);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function showTip(event, text) {
  const tip = document.getElementById("tip");
  tip.hidden = false;
  tip.textContent = text;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 8))}px`;
  tip.style.top = `${event.clientY + 16 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 16}px`;
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}

function tipped(target, text) {
  target.addEventListener("pointermove", (event) => showTip(event, text));
  target.addEventListener("pointerleave", hideTip);
  return target;
}

function sortValue(cell) {
  const given = cell.dataset.value;
  if (given === "") return Infinity; // what has no value stays at the end
  if (given !== undefined) return Number(given);
  const text = cell.textContent.trim();
  const value = Number(text.replace(/[,×]/g, ""));
  return text !== "" && !Number.isNaN(value) ? value : text.toLowerCase();
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const sortBy = (head, column) => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const x = sortValue(a.cells[column]), y = sortValue(b.cells[column]);
      if (x === y) return 0;
      const order = typeof x === typeof y ? (x < y ? -1 : 1) : typeof x === "number" ? -1 : 1;
      return x === Infinity || y === Infinity ? order : descending ? -order : order;
    });
    table.tBodies[0].append(...rows);
  };
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    head.addEventListener("click", () => sortBy(head, column));
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        sortBy(head, column);
      }
    });
  });
}

// Gives each cell its column's name, which a card shows.
function label(table) {
  const heads = table.tHead ? [...table.tHead.rows[0].cells].map((head) => head.textContent) : [];
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { if (heads[i]) cell.dataset.label = heads[i]; });
}

function fit(table) {
  table.classList.remove("stacked");
  table.classList.toggle("stacked", table.offsetWidth > table.parentElement.clientWidth + 1);
}

// Labelled, and fitted whenever the room for it changes. What surrounds it and a table already is, is used.
function watched(table) {
  label(table);
  const holder = table.parentElement ? table.parentElement : element("div", { class: "holder" }, table);
  let width = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth === width) return;
    width = holder.clientWidth;
    fit(table);
  }).observe(holder);
  return holder;
}
