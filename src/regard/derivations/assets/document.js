(() => {
  // Looked up whenever needed: the web app replaces the document while it is written.
  const steps = () => [...document.querySelectorAll(".step[tabindex]")];
  const isNarrow = matchMedia("(max-width: 40rem)");

  // Puts the card below its step, or above where there is no room below; without this it stays in the corner.
  function place(step) {
    const card = step.querySelector(".card");
    card.style.cssText = "";
    if (isNarrow.matches) return;
    const at = step.getBoundingClientRect();
    const size = card.getBoundingClientRect();
    const left = Math.max(16, Math.min(at.left, innerWidth - size.width - 16));
    const isBelow = at.bottom + size.height + 16 < innerHeight || at.top < size.height + 16;
    card.style.left = `${left}px`;
    card.style.right = "auto";
    card.style.bottom = "auto";
    card.style.top = isBelow ? `${Math.min(at.bottom + 4, innerHeight - size.height - 8)}px` : `${at.top - size.height - 4}px`;
  }
  const shown = () => steps().find((step) => !step.classList.contains("closed") && (step.matches(":hover") || step.contains(document.activeElement)));

  function open({ type, target, relatedTarget }) {
    const step = target.closest?.(".step[tabindex]");
    if (!step || (type === "mouseover" && step.contains(relatedTarget))) return;
    step.classList.remove("closed");
    place(step);
  }
  for (const kind of ["mouseover", "focusin", "click"]) addEventListener(kind, open);
  addEventListener("scroll", () => { const step = shown(); if (step) place(step); }, { passive: true });

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ((event.key === "Enter" || event.key === " ") && event.target.matches(".step[tabindex]")) { event.preventDefault(); open(event); }
    if (event.key === "Escape") for (const step of steps()) step.classList.add("closed");
    const refuted = steps().filter((step) => step.classList.contains("refuted"));
    if ((event.key === "n" || event.key === "p") && refuted.length && event.target.tagName !== "INPUT") {
      const at = refuted.indexOf(document.activeElement);
      const next = event.key === "n" ? at + 1 : Math.max(at, 0) - 1;
      const step = refuted[(next + refuted.length) % refuted.length];
      step.scrollIntoView({ block: "center" });
      step.focus({ preventScroll: true });
    }
  });

  // A jump link leads to a step: it is focused, so that its card opens.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.classList.contains("step")) { target.focus({ preventScroll: true }); target.scrollIntoView({ block: "center" }); }
  };
  addEventListener("hashchange", follow);
  if (location.hash) follow();
  if (isNarrow.matches) document.querySelector(".questions")?.removeAttribute("open");
})();
