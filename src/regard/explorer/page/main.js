// The page: seven parts, one shown at a time; the address says which part, and the state of its controls.

import { Panel } from "./controls.js";
import { forgetColours } from "./drawing/colours.js";
import { forgetSizes } from "./drawing/sizes.js";
import * as decoder from "./mathematics/decoder.js";
import * as formats from "./mathematics/formats.js";
import * as normal from "./mathematics/normal.js";
import * as order from "./mathematics/order.js";
import * as randomKeys from "./mathematics/random_keys.js";
import * as randomness from "./mathematics/randomness.js";
import * as retrieval from "./mathematics/retrieval.js";
import * as rotary from "./mathematics/rotary.js";
import * as sinusoids from "./mathematics/sinusoids.js";
import { makeCopy } from "./parts/copy.js";
import { makePositions } from "./parts/positions.js";
import { makeReading } from "./parts/reading.js";
import { makeSheet } from "./parts/sheet.js";
import { makeShuffle } from "./parts/shuffle.js";
import { makeSwing } from "./parts/swing.js";
import { makeVerdicts } from "./parts/verdicts.js";
import { makePrediction } from "./predictions.js";
import { unpacked } from "./unpacking.js";

const MAKERS = {
  reading: makeReading, copy: makeCopy, swing: makeSwing, shuffle: makeShuffle, positions: makePositions, verdicts: makeVerdicts, sheet: makeSheet,
};
const TITLE = document.title;
const views = new Map();
let current = null;

for (const section of document.querySelectorAll("section.part")) {
  const panel = new Panel(section);
  const view = { section, panel, ...MAKERS[section.id](section, panel) };
  panel.listen((state) => {
    if (view !== current) return;
    view.paint(state);
    remember();
  });
  view.reveal = makePrediction(section, (state) => { forgetSizes(); panel.set(state); });
  views.set(section.id, view);
}

function show(name, changes) {
  const view = views.get(name) ?? views.get("reading");
  current?.stop?.();
  for (const other of views.values()) other.section.hidden = other !== view;
  for (const link of document.querySelectorAll(".parts a")) {
    if (link.dataset.part === view.section.id) mark(link);
    else link.removeAttribute("aria-current");
  }
  current = null;
  forgetSizes();
  if (changes) {
    view.reveal();
    // First the initial state, so that an invalid value leaves the initial one and not what was shown before.
    view.panel.set(view.panel.initial);
    view.panel.set(changes);
  }
  current = view;
  document.title = `${view.section.querySelector("h1").textContent} · ${TITLE}`;
  view.paint(view.panel.state);
  view.start?.();
}

// On a phone the list of parts scrolls sideways.
function mark(link) {
  link.setAttribute("aria-current", "page");
  const row = link.closest(".parts");
  row.scrollLeft = link.offsetLeft - (row.clientWidth - link.offsetWidth) / 2;
}

// "#copy?n=100&beta=3" → ["copy", { n: "100", beta: "3" }]; without a question mark the state is kept, and a part that
// was not opened yet begins with its question.
function parsed(address) {
  const [name, question] = address.replace(/^#/, "").split("?");
  return [name, question === undefined ? null : Object.fromEntries(new URLSearchParams(question))];
}

let pending = 0;
function remember() {
  clearTimeout(pending);
  pending = setTimeout(() => {
    const question = new URLSearchParams(current.panel.changes).toString();
    write(`#${current.section.id}${question ? `?${question}` : ""}`, "replaceState");
  }, 150);
}

function write(address, how) {
  // A page inside a notebook has no address of its own.
  try { history[how](null, "", address); } catch { /* the state is kept anyway */ }
}

addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const [name, changes] = parsed(link.getAttribute("href"));
  if (!views.has(name)) return;
  event.preventDefault();
  write(link.getAttribute("href"), "pushState");
  show(name, changes);
  scrollTo(0, 0);
  const heading = current.section.querySelector("h1");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
});
addEventListener("popstate", () => show(...parsed(location.hash)));

const repaint = () => current?.paint(current.panel.state);
const recolour = () => { forgetColours(); repaint(); };
addEventListener("resize", () => { forgetSizes(); repaint(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });

window.regard = { unpacked, ...decoder, ...formats, ...normal, ...order, ...randomKeys, ...randomness, ...retrieval, ...rotary, ...sinusoids };
show(...parsed(location.hash));
