// Tables that the reader sorts: a press on a column's heading sorts by it, largest first, and again the other way round.
//   columns: { title, value(row), text(row), number (right-aligned), bar (a bar in the cell, as long as its value),
//              node(row) (an element instead of the text), note (what the heading means), spare (left out where it is narrow),
//              group (a heading over this column and its neighbours of the same) }
"use strict";
(() => {
  const { element } = Snug;
  const kept = new Map(); // what the reader chose in a table, by its name

  function cell(column, row, longest, first) {
    const shown = column.node ? column.node(row) : column.text(row);
    const { number, bar, wide, spare } = column;
    const attributes = {
      class: [number && "number", bar && "barred", wide && "wide", spare && "spare"].filter(Boolean).join(" "),
    };
    if (first) attributes.scope = "row";
    const made = element(first ? "th" : "td", attributes, element("span", {}, shown));
    if (column.bar) {
      const part = longest ? Math.max(0, column.value(row)) / longest : 0;
      made.append(
        element("i", {
          class: `bar ${column.bar === true ? "" : column.bar}`,
          style: { "--part": part.toFixed(4) },
        }),
      );
    }
    return made;
  }

  // The row of headings over headings, or nothing.
  function groups(columns) {
    if (!columns.some((column) => column.group)) return "";
    const made = [];
    for (const { group } of columns) {
      if (made.length && made[made.length - 1].group === group) ++made[made.length - 1].span;
      else made.push({ group, span: 1 });
    }
    return element(
      "tr",
      { class: "groups" },
      ...made.map(({ group, span }) => element("th", { scope: "colgroup", colspan: span }, group)),
    );
  }

  // limit: as many rows are shown, and the others at a press of a button. last(row): the row stays beneath the others.
  // The table's `filter` takes a function that says which rows are shown. remember: the table's name, by which one that is
  // made later in its place keeps its order and length.
  function table({ caption, columns, rows, sorted = -1, key, limit = Infinity, last = () => false, remember = caption }) {
    let wanted = () => true;
    let { by, falling, all } = kept.get(remember) || { by: sorted, falling: true, all: false };
    const body = element("tbody");
    const heads = columns.map((column, index) =>
      element(
        "th",
        { scope: "col", class: [column.number && "number", column.spare && "spare"].filter(Boolean).join(" ") },
        column.value
          ? element("button", { type: "button", title: column.note, onclick: () => press(index) }, column.title)
          : column.title,
      ),
    );

    const rest = element("button", { type: "button", class: "way rest", onclick: () => expand() }, `Show all ${rows.length}`);

    function expand() {
      all = true;
      kept.set(remember, { by, falling, all });
      fill();
    }

    function press(index) {
      falling = by === index ? !falling : true;
      by = index;
      kept.set(remember, { by, falling, all });
      fill();
    }

    function fill() {
      let shown = rows.filter(wanted);
      if (by >= 0) {
        const { value } = columns[by];
        shown.sort((a, b) => (value(a) < value(b) ? 1 : value(a) > value(b) ? -1 : 0) * (falling ? 1 : -1));
        shown = [...shown.filter((row) => !last(row)), ...shown.filter(last)];
      }
      const whole = all || shown.length <= limit;
      if (!whole) shown = shown.slice(0, limit);
      rest.hidden = whole;
      rest.textContent = `Show all ${rows.filter(wanted).length}`;
      heads.forEach((head, index) => {
        if (columns[index].value) head.setAttribute("aria-sort", index !== by ? "none" : falling ? "descending" : "ascending");
      });
      const longest = columns.map((column) =>
        column.bar ? rows.reduce((most, row) => Math.max(most, column.value(row)), 0) : 0,
      );
      body.replaceChildren(
        ...shown.map((row) =>
          element(
            "tr",
            { "data-key": key ? key(row) : null },
            ...columns.map((column, index) => cell(column, row, longest[index], index === 0)),
          ),
        ),
      );
    }

    fill();
    // The box scrolls sideways when the table is wider than the page, and then has to be reached by keys.
    const made = element(
      "div",
      {},
      element(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        element(
          "table",
          {},
          element("caption", {}, caption),
          element("thead", {}, groups(columns), element("tr", {}, ...heads)),
          body,
        ),
      ),
      rest,
    );
    made.expand = expand;
    made.filter = (next) => {
      wanted = next;
      fill();
    };
    return made;
  }

  Snug.table = table;
})();
