(() => {
  const rows = [...document.querySelectorAll(".matrix tbody tr")];
  const search = document.getElementById("search");
  const nothing = document.querySelector(".nothing");
  const tooltip = document.getElementById("tooltip");

  const isShown = (row) => getComputedStyle(row).display !== "none";
  const apply = () => {
    const wanted = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const words = row.querySelector("th").textContent.toLowerCase();
      row.hidden = !wanted.every((word) => words.includes(word));
    }
    if (nothing) nothing.hidden = rows.some(isShown);
  };
  search?.addEventListener("input", apply);
  for (const choice of document.querySelectorAll(".filter [type=radio]")) choice.addEventListener("change", apply);

  // The details of a cell are shown beside it, by mouse and by keyboard.
  const showTooltip = (cell) => {
    const title = document.createElement("b");
    title.textContent = cell.getAttribute("aria-label");
    tooltip.replaceChildren(title, cell.dataset.details);
    tooltip.className = `tooltip ${cell.parentElement.className}`;
    tooltip.hidden = false;
    const place = cell.getBoundingClientRect();
    const { width, height } = tooltip.getBoundingClientRect();
    const isBelow = place.bottom + height + 12 < innerHeight;
    tooltip.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8))}px`;
    tooltip.style.top = `${isBelow ? place.bottom + 6 : Math.max(8, place.top - height - 6)}px`;
  };
  const hideTooltip = () => { tooltip.hidden = true; };
  const matrix = document.querySelector(".matrix");
  if (matrix) {
    const cellOf = (event) => event.target.closest?.("a[data-details]");
    matrix.addEventListener("pointerover", (event) => { const cell = cellOf(event); if (cell) showTooltip(cell); else hideTooltip(); });
    matrix.addEventListener("pointerleave", hideTooltip);
    matrix.addEventListener("focusin", (event) => { const cell = cellOf(event); if (cell) showTooltip(cell); });
    matrix.addEventListener("focusout", hideTooltip);
    matrix.addEventListener("scroll", hideTooltip);

    // One cell is in the tab order; the arrow keys move from there.
    const cells = () => rows.filter(isShown).map((row) => [...row.querySelectorAll("td")].map((box) => box.querySelector("a")));
    rows[0]?.querySelector("td a")?.setAttribute("tabindex", "0");
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    matrix.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      const step = steps[event.key];
      if (!cell || !step) return;
      event.preventDefault();
      const grid = cells();
      let row = grid.findIndex((line) => line.includes(cell));
      let column = grid[row].indexOf(cell);
      do { row += step[0]; column += step[1]; } while (grid[row] && column in grid[row] && !grid[row][column]);
      const next = grid[row]?.[column];
      if (!next) return;
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      next.scrollIntoView({ block: "nearest", inline: "center" });
      showTooltip(next);
    });
  }

  if (tooltip) addEventListener("keydown", (event) => { if (event.key === "Escape") hideTooltip(); });

  // A link opens the details element that it leads to.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  if (location.hash) follow();

  if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".legend")?.removeAttribute("open");
})();
