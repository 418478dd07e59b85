// Part 6, verdicts: the catalog of claims, each with its figure, and misconceptions with their counterexamples.

import { setTexts } from "../texts.js";
import { unpacked } from "../unpacking.js";

export function makeVerdicts(section, panel) {
  const list = section.querySelector("#verdicts-list");
  let claims = null;
  list.addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (!button) return;
    panel.set({ claim: button.dataset.claim });
    section.querySelector("#claim-title").focus({ preventScroll: true });
    const card = section.querySelector("#verdicts-card");
    if (card.getBoundingClientRect().top > innerHeight / 2) card.scrollIntoView();
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const buttons = [...list.querySelectorAll("details[open] button")];
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    if (!step || !next) return;
    event.preventDefault();
    next.focus();
  });
  return {
    async paint() {
      claims ??= JSON.parse(new TextDecoder().decode(await unpacked("claims-data")));
      const state = panel.state;
      setTexts(section, { count: String(claims.length) });
      paintList(list, claims, state);
      paintCard(section.querySelector("#verdicts-card"), claims, state.claim);
    },
  };
}

function isWanted({ id, statement, status, isMisconception, section }, { search, kind }) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const text = `${id} ${statement} ${section}`.toLowerCase();
  return (kind === "all" || status === kind || (kind === "misconception" && isMisconception)) && words.every((word) => text.includes(word));
}

function paintList(list, claims, state) {
  const wanted = claims.filter((claim) => isWanted(claim, state));
  const key = `${wanted.map(({ id }) => id)} ${state.claim} ${Boolean(state.search)}`;
  if (list.dataset.key === key) return;
  list.dataset.key = key;
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.claim : null;
  list.replaceChildren(...grouped(wanted).map(([title, group]) => folded(title, group, state)));
  if (!wanted.length) list.append("No claim matches the search.");
  if (focused) list.querySelector(`[data-claim="${focused}"]`)?.focus();
  const chosen = list.querySelector("[aria-current]");
  if (chosen) list.scrollTop = chosen.offsetTop - list.clientHeight / 2;
}

function grouped(claims) {
  const groups = new Map();
  for (const claim of claims) groups.set(claim.section, [...(groups.get(claim.section) ?? []), claim]);
  return [...groups];
}

// A group of claims, open if it has the chosen one or if a search has left only a few.
function folded(title, claims, { claim, search }) {
  const element = document.createElement("details");
  element.open = Boolean(search) || claims.some(({ id }) => id === claim);
  const summary = document.createElement("summary");
  summary.className = "group";
  summary.textContent = `${title} (${claims.length})`;
  element.append(summary, listed(claims, claim));
  return element;
}

function listed(claims, chosen) {
  const element = document.createElement("ul");
  element.append(...claims.map(({ id, status }) => {
    const item = document.createElement("li");
    item.className = status;
    item.innerHTML = `<button type="button"><svg class="icon" aria-hidden="true"><use href="#icon-${status}"></use></svg><span></span><span class="unseen"> ${status}</span></button>`;
    const button = item.firstElementChild;
    button.querySelector("span").textContent = id;
    button.dataset.claim = id;
    if (id === chosen) button.setAttribute("aria-current", "true");
    return item;
  }));
  return element;
}

function paintCard(place, claims, chosen) {
  const claim = claims.find(({ id }) => id === chosen) ?? claims[0];
  if (place.dataset.claim === claim.id) return;
  place.dataset.claim = claim.id;
  place.innerHTML = claim.card;
}
