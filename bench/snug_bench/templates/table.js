// Elements, the tip that follows the pointer, and tables that sort by a click on a column's head.
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
