// Part 7, a checked derivation: the steps of the built-in answer sheet one by one, each with its verdict.

import { setTexts } from "../texts.js";

// The part that demonstrates each question.
const LIVE = { "1a": "copy?goal=copy&degrees=0&beta=5", "1b": "copy?beta=1", "1c": "swing?", "1d": "swing?", "2a": "shuffle?", "2b": "positions?", "3g": "positions?keyAt=100" };
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export function makeSheet(section, panel) {
  const steps = [...section.querySelectorAll(".step[tabindex]")];
  const slips = steps.filter((step) => step.classList.contains("refuted"));
  const at = () => Math.min(Math.max(Number(panel.state.step) || 1, 1), steps.length) - 1;
  const go = (place) => {
    panel.set({ step: String((place + steps.length) % steps.length + 1) });
    steps[at()].scrollIntoView({ block: "center", behavior: STILL.matches ? "auto" : "smooth" });
  };
  const act = (name, next) => section.querySelector(`#sheet-${name}`).addEventListener("click", () => go(next()));
  act("previous", () => at() - 1);
  act("next", () => at() + 1);
  act("slip", () => steps.indexOf(slips.find((slip) => steps.indexOf(slip) > at()) ?? slips[0]));
  steps.forEach((step, place) => {
    asButton(step);
    const choose = () => panel.set({ step: String(place + 1) });
    step.addEventListener("click", choose);
    step.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    });
  });
  return {
    start() {
      if ("step" in panel.changes) steps[at()].scrollIntoView({ block: "center" });
    },
    paint() {
      const step = steps[at()];
      for (const other of steps) {
        other.classList.toggle("chosen", other === step);
        other.setAttribute("aria-pressed", String(other === step));
      }
      section.querySelector("#sheet-card").innerHTML = step.querySelector(".card").innerHTML;
      const live = LIVE[step.dataset.verdicts.slice(0, 2)];
      const link = section.querySelector("#sheet-live");
      link.parentElement.hidden = !live;
      if (live) link.setAttribute("href", `#${live}`);
      setTexts(section, { which: `Step ${at() + 1} of ${steps.length}` });
    },
  };
}

// A screen reader reads the step's name after its formula.
function asButton(step) {
  const name = document.createElement("span");
  name.className = "unseen";
  name.textContent = `, ${step.getAttribute("aria-label")}`;
  step.removeAttribute("aria-label");
  step.setAttribute("role", "button");
  step.querySelector(".marked").after(name);
}
