(() => {
  const search = document.getElementById("search");
  addEventListener("keydown", (event) => {
    if (!search || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && event.target !== search) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape" && search.value) { search.value = ""; search.dispatchEvent(new Event("input")); }
  });

  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll(".copy")) {
    const before = button.previousElementSibling;
    const source = before?.matches("code") ? before : button.nextElementSibling;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(source.textContent); } catch { return; }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
})();
