"use strict";
(() => {
  const root = document.documentElement;
  const button = document.querySelector(".theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("regard-theme"); } catch { return null; } };
  const store = (theme) => { try { localStorage.setItem("regard-theme", theme); } catch { /* a file has no storage */ } };
  const isDark = () => (root.dataset.theme ?? (prefersDark.matches ? "dark" : "light")) === "dark";
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  if (stored()) root.dataset.theme = stored();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    store(root.dataset.theme);
    show();
  });
  prefersDark.addEventListener("change", show);
  // Another page of ours, or the one around this, was switched.
  addEventListener("storage", ({ key, newValue }) => {
    if (key !== "regard-theme" || !newValue) return;
    root.dataset.theme = newValue;
    show();
  });
  show();

  // What is wider than its place is scrolled, so the keyboard must reach it too.
  const reached = new WeakSet();
  function reachScrollers() {
    for (const each of document.querySelectorAll(".table, .display, .block, .formula, .all-steps li, pre")) {
      const isScrolled = each.scrollWidth > each.clientWidth && getComputedStyle(each).overflowX === "auto";
      if (isScrolled && !each.hasAttribute("tabindex")) {
        each.tabIndex = 0;
        reached.add(each);
      } else if (!isScrolled && reached.delete(each)) {
        each.removeAttribute("tabindex");
      }
    }
  }
  for (const kind of ["load", "resize"]) addEventListener(kind, reachScrollers);
  addEventListener("toggle", reachScrollers, true);
})();
