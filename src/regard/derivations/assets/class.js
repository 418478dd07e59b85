(() => {
  const table = document.querySelector(".matrix");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const find = document.querySelector(".find");

  // A document that could not be judged has no values and stays at the end.
  function value(row, column) {
    const cell = row.cells[column];
    if (column === 0) return cell.textContent.toLowerCase();
    return cell?.dataset.value === undefined ? null : Number(cell.dataset.value);
  }
  function sort(column, isDescending) {
    rows.sort((one, other) => {
      const [a, b] = [value(one, column), value(other, column)];
      if (a === null || b === null) return (a === null) - (b === null);
      const order = a < b ? -1 : a > b ? 1 : 0;
      return isDescending ? -order : order;
    });
    body.append(...rows);
  }
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    head.querySelector(".sort").addEventListener("click", () => {
      const isDescending = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
      sort(column, isDescending);
    });
  }

  function filter() {
    const shown = document.querySelector("input[name=show]:checked").id.slice("show-".length);
    const words = find.value.trim().toLowerCase();
    for (const row of rows) {
      const isKind = shown === "all" || row.classList.contains(shown);
      row.hidden = !isKind || !row.cells[0].textContent.toLowerCase().includes(words);
    }
  }
  for (const input of document.querySelectorAll("input[name=show]")) input.addEventListener("change", filter);
  find.addEventListener("input", filter);
})();
