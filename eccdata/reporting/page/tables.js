
// Tables: sorting by a column, and all columns as CSV.
const quoted = value => value === null ? "" : /[",\n\r]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);

function saveTable(name) {
  const {columns, rows} = tableOf(name);
  const text = [columns, ...rows].map(row => row.map(quoted).join(",")).join("\n") + "\n";
  const url = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
  save(url, `${name.replace("/", "-")}.csv`);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// What a cell is sorted by: its number, the lower end of an interval, else its text.
function sortValue(cell) {
  const text = (cell.dataset.value ?? cell.textContent).trim();
  const number = parseFloat(text.replaceAll("−", "-").replaceAll(",", "").replace(/^[[<+]+/, ""));
  return cell.classList.contains("number") ? (Number.isNaN(number) ? -Infinity : number) : text;
}

function sortable(table) {
  const heads = [...table.querySelectorAll("thead th[data-sorts]")];
  const leaves = leafOrder(table);
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const at = leaves.indexOf(head), rows = [...table.tBodies[0].rows];
      const values = new Map(rows.map(row => [row, sortValue(row.cells[at])]));
      const compare = (a, b) => typeof a === "number" ? (a > b) - (a < b) : a.localeCompare(b, "en", {numeric: true});
      rows.sort((a, b) => (down ? -1 : 1) * compare(values.get(a), values.get(b)));
      table.tBodies[0].append(...rows);
    });
  }
}

// The lowest heading of every column, from left to right, whatever spans what.
function leafOrder(table) {
  const grid = [];
  [...table.tHead.rows].forEach((row, y) => {
    let x = 0;
    for (const cell of row.cells) {
      while (grid[y]?.[x]) x++;
      for (let dy = 0; dy < cell.rowSpan; dy++) for (let dx = 0; dx < cell.colSpan; dx++) (grid[y + dy] ??= [])[x + dx] = cell;
      x += cell.colSpan;
    }
  });
  return grid.at(-1) ?? [];
}
