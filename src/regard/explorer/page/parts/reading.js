// Part 1, how attention reads: the heads of a small trained model on a text of the reader's own.

import { paintTable } from "../drawing/canvases.js";
import { shown } from "../drawing/scales.js";
import { combined, continued, read, readModel, tokenised } from "../mathematics/decoder.js";
import { setTexts } from "../texts.js";
import { unpacked } from "../unpacking.js";

const MOST_TOKENS = 64;
const NUM_GUESSES = 5;
const NUM_ROWS = 4;

export function makeReading(section, panel) {
  const place = (name) => section.querySelector(`#reading-${name}`);
  let model = null;
  let before = {};
  section.querySelector("textarea").addEventListener("input", () => panel.set({ at: "" }));
  place("tokens").addEventListener("click", ({ target }) => {
    const chip = target.closest("button");
    if (chip) panel.set({ at: chip.dataset.at });
  });
  place("tokens").addEventListener("keydown", (event) => {
    const next = { ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" }[event.key];
    const chip = next && event.target.closest("li")?.[next]?.querySelector("button");
    if (!chip) return;
    event.preventDefault();
    chip.focus();
    panel.set({ at: chip.dataset.at });
  });
  place("heads").addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button) panel.set({ head: button.dataset.head });
  });
  return {
    async paint() {
      model ??= readModel(await unpacked("model-data"));
      const state = panel.state;
      // The text is read anew only if it has changed.
      if (before.text !== state.text) before = { text: state.text, ...heard(state.text, model) };
      const view = viewOf(state, before, model);
      paintTokens(place("tokens"), view);
      paintHeads(place("heads"), view, model);
      paintExchange(place("exchange"), view);
      paintGuesses(place("guesses"), view, model);
      showWords(section, view, model);
    },
  };
}

// The text as tokens, and what the model makes of it.
function heard(text, model) {
  const { tokens: all, missing } = tokenised(text, model);
  const tokens = all.slice(-MOST_TOKENS);
  const whole = read(tokens, model);
  return { tokens, missing, numCut: all.length - tokens.length, ...whole, after: continued(tokens, model, whole) };
}

// What is looked at: the head, the token that looks back, its weights, and the guess, with the head or without.
function viewOf({ at, head, isSilenced }, found, model) {
  const [layer, number] = chosenHead(head, model);
  const last = found.tokens.length;
  const position = at === "" ? last : Math.min(Math.max(Math.round(Number(at)) || 0, 0), last);
  const one = found.layers[layer][number];
  const silenced = { layer, head: number };
  const without = isSilenced ? read(found.tokens, model, silenced).next : null;
  return {
    ...found, layer, head: number, one, position, without,
    after: isSilenced ? continued(found.tokens, model, { next: without, silenced }) : found.after,
    weights: one.weights[position],
    texts: ["start", ...found.tokens.map((token) => model.tokens[token])],
  };
}

// "2.3" is the third head of the second layer. At the start it is the head that reads the most of the answer.
function chosenHead(name, { layers, heads, measured }) {
  const [layer, head] = name.split(".").map((part) => Number(part) - 1);
  if (layer >= 0 && layer < layers && head >= 0 && head < heads) return [layer, head];
  const shares = measured.heads.map(({ answer }) => answer);
  const best = shares.indexOf(Math.max(...shares));
  return [Math.floor(best / heads), best % heads];
}

function element(name, properties = {}, ...inside) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...inside);
  return made;
}

function bare(text) {
  return text.replace("▁", "") || "␣";
}

// The button that has the focus has it again after it was replaced.
function replaceKeepingFocus(list, items, attribute) {
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset[attribute] : null;
  list.replaceChildren(...items);
  if (focused !== null) list.querySelector(`[data-${attribute}="${focused}"]`)?.focus();
}

function paintTokens(list, { texts, weights, position }) {
  replaceKeepingFocus(list, texts.map((text, k) => {
    const weight = weights[k] ?? 0;
    const isVisible = k <= position;
    const said = `, token ${k} of ${texts.length - 1}, ${isVisible ? `weight ${share(weight)}` : "not seen yet"}`;
    const number = element("small", { ariaHidden: "true" }, isVisible && weight >= 0.005 ? weight.toFixed(2) : "\u00a0");
    const button = element("button", { type: "button", className: "look" }, element("span", {}, bare(text)), number, element("span", { className: "unseen" }, said));
    button.dataset.at = k;
    button.style.setProperty("--weight", `${Math.round(100 * Math.sqrt(weight))}%`);
    button.setAttribute("aria-pressed", String(k === position));
    const isPiece = k > 1 && !text.startsWith("▁");
    return element("li", { className: `${k ? "" : "start"}${isPiece ? "piece" : ""}${isVisible ? "" : " ahead"}` }, button);
  }), "at");
}

function paintHeads(group, { layers, layer, head, texts }, model) {
  if (!group.childElementCount) group.append(...headButtons(model));
  for (const button of group.querySelectorAll("button")) {
    const [l, h] = button.dataset.head.split(".").map((part) => Number(part) - 1);
    button.setAttribute("aria-pressed", String(l === layer && h === head));
    const table = layers[l][h].weights.flatMap((row) => texts.map((_, k) => Math.sqrt(row[k] ?? 0)));
    paintTable(button.querySelector("canvas"), table, texts.length, { lower: 0, upper: 1, kind: "sequential" });
  }
}

function headButtons({ layers, heads }) {
  return Array.from({ length: layers * heads }, (_, k) => {
    const [layer, head] = [Math.floor(k / heads) + 1, k % heads + 1];
    const canvas = element("canvas", { className: "table-of-colours", ariaHidden: "true" });
    const button = element("button", { type: "button", className: "head-map" }, canvas, `layer ${layer} · head ${head}`);
    button.dataset.head = `${layer}.${head}`;
    return button;
  });
}

// The query, and the tokens with the largest weights: key, score, weight and value of each; then the output.
function paintExchange(table, { one, position, weights, texts }) {
  const order = weights.map((_, k) => k).sort((a, b) => weights[b] - weights[a]).slice(0, NUM_ROWS).sort((a, b) => a - b);
  const largest = (rows) => Math.max(...rows.flat().map(Math.abs));
  const [query, output] = [one.queries[position], combined(weights, one.values)];
  const reach = { key: largest([query, ...one.keys]), value: largest(one.values) };
  const strip = (row, kind) => {
    const canvas = element("canvas", { className: "table-of-colours strip", ariaHidden: "true" });
    paintTable(canvas, row, row.length, { lower: -reach[kind], upper: reach[kind], kind: "diverging" });
    return canvas;
  };
  const row = (...cells) => element("tr", {}, ...cells);
  const name = (words) => element("th", { scope: "row" }, words);
  const cell = (...inside) => element("td", {}, ...inside);
  const heading = ["token", "key", "score", "weight", "value"].map((words) => element("th", { scope: "col" }, words));
  const left = 1 - order.reduce((total, k) => total + weights[k], 0);
  table.replaceChildren(
    element("thead", {}, row(name(`query of “${bare(texts[position])}”`), cell(strip(query, "key")), cell(), cell(), cell()), row(...heading)),
    element("tbody", {}, ...order.map((k) => row(
      name(bare(texts[k])), cell(strip(one.keys[k], "key")), cell(shown(one.scores[position][k])),
      cell(share(weights[k])), cell(strip(one.values[k], "value")))),
    ...(weights.length > order.length ? [row(name(`${weights.length - order.length} others`), cell(), cell(), cell(share(Math.max(left, 0))), cell())] : [])),
    element("tfoot", {}, row(name("output"), cell(), cell(), cell(share(1)), cell(strip(output, "value")))),
  );
}

function paintGuesses(list, { next, without }, model) {
  const best = next.map((_, k) => k).sort((a, b) => next[b] - next[a]).slice(0, NUM_GUESSES);
  list.replaceChildren(...best.map((token) => {
    const now = (without ?? next)[token];
    const item = element("li", {}, element("span", { className: "guess" }, bare(model.tokens[token])),
      element("span", { className: "share" }, without ? `${share(next[token])} → ${share(now)}` : share(now)));
    item.style.setProperty("--share", `${100 * now}%`);
    return item;
  }));
}

// A share to three decimals: powers of ten would say more than anybody wants to know.
function share(x) {
  return x.toFixed(3);
}

// Tokens as running text.
function joined(tokens, model) {
  return tokens.map((token) => model.tokens[token]).join("").replaceAll("▁", " ").trim();
}

function showWords(section, view, model) {
  const { layer, head, position, texts, weights, missing, numCut, after } = view;
  const name = `layer ${layer + 1}, head ${head + 1}`;
  const best = weights.indexOf(Math.max(...weights));
  const { asked, right, heads } = model.measured;
  const habit = heads[layer * model.heads + head];
  const percent = (share) => `${Math.round(100 * share)} %`;
  const dropped = [missing.length ? `The model has no ${missing.join(" ")}: dropped.` : "", numCut ? `Only the last ${MOST_TOKENS} tokens are read.` : ""].join(" ").trim();
  section.querySelector("[data-show=missing]").hidden = !dropped;
  setTexts(section, {
    missing: dropped,
    "head-name": name,
    continued: after.length ? joined(after, model) : "nothing: the story ends here",
    looking: `While it reads “${bare(texts[position])}”, ${name} looks most at “${bare(texts[best])}”: weight ${share(weights[best])}. Choose another token to see where it looks.`,
    habits: `In ${asked} stories that it had not read, the model was asked for a fact and gave the right word in ${percent(right)} of them; with ${name} switched off, in ${percent(habit.rightWithout)}. When asked, this head put ${percent(habit.answer)} of its weight on the right word, on average; over the whole text, ${percent(habit.before)} on the token just before.`,
    size: [...model.matrices.values()].reduce((total, rows) => total + rows.length * rows[0].length, 0).toLocaleString("en"),
    shape: `${model.layers} layers of ${model.heads} heads`,
  });
}
