"use strict";

// Headings become buttons that sort; without this script the table is complete, in the order of the trials.
const letters = new Intl.Collator(undefined, { numeric: true });

function keyOf(row, column, numeric) {
  const cell = row.cells[column], shown = cell.dataset.key ?? cell.textContent.trim();
  if (shown === "") return null;
  return numeric || cell.dataset.key !== undefined ? Number(shown) : shown;
}

function sort(table, column, descending) {
  const body = table.tBodies[0], numeric = table.tHead.rows[0].cells[column].classList.contains("number");
  const rows = Array.from(body.rows, (row) => ({ row, key: keyOf(row, column, numeric) }));
  const compare = (a, b) => (typeof a === "number" ? a - b : letters.compare(a, b));
  rows.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    return descending ? compare(b.key, a.key) : compare(a.key, b.key);
  });
  body.append(...rows.map(({ row }) => row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads[0].setAttribute("aria-sort", "ascending");
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sort(table, column, descending);
    });
  });
}
