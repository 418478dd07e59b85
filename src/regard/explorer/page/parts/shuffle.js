// Part 4, shuffle the sentence: attention rows move with their words, unless a mask or position codes interfere.

import { drawChart } from "../drawing/charts.js";
import { paintMatrix } from "../drawing/matrices.js";
import { shown } from "../drawing/scales.js";
import { sizeOf } from "../drawing/sizes.js";
import { embeddings, largestGap, layer, layerWeights, permuted } from "../mathematics/order.js";
import { setTexts } from "../texts.js";
import { TokenRow } from "../tokens.js";

const WIDTH = 8;
const BASE = 10_000;
const MOST_WORDS = 9;
// Sums in a different order differ in their last digits; anything larger is a real difference.
const ROUNDING = 1e-12;
const WEIGHTS = layerWeights(WIDTH, 20);

export function makeShuffle(section, panel) {
  const reorder = (order) => panel.set({ order: order.join(",") });
  const row = new TokenRow(section.querySelector("#shuffle-tokens"), reorder);
  const act = (name, change) => section.querySelector(`#shuffle-${name}`).addEventListener("click", () => {
    const { order } = read(panel.state);
    row.moved = null;
    reorder(change(order));
  });
  act("again", (order) => shuffled(order));
  act("reverse", (order) => [...order].reverse());
  act("back", (order) => order.map((_, place) => place));
  section.querySelector("#shuffle-sentence").addEventListener("input", () => {
    row.moved = null;
    panel.set({ order: "" });
  });
  return {
    paint(state) {
      const { words, order } = read(state);
      row.show(words, order);
      const found = compared(words, order, state);
      const placed = order.map((place) => words[place]);
      const shades = { kind: "s", lower: 0, upper: 1 };
      const moved = row.moved ?? -1;
      paintMatrix(section.querySelector("#shuffle-typed"), found.typed.attention, words, { ...shades, marked: moved });
      paintMatrix(section.querySelector("#shuffle-moved"), found.shuffled.attention, placed, { ...shades, marked: order.indexOf(moved) });
      paintMatrix(section.querySelector("#shuffle-difference"), found.difference, placed, { kind: "d", lower: -0.5, upper: 0.5 });
      paintOutputs(section.querySelector("#shuffle-outputs"), words, found.distances);
      showNumbers(section, words, found);
      showVerdict(section.querySelector("#shuffle-verdict"), placed.every((word, k) => word === words[k]), found.gap <= ROUNDING);
    },
  };
}

// The words of the sentence, and their order if it fits them; else the order as typed.
function read({ sentence, order }) {
  const words = sentence.trim().split(/\s+/).filter(Boolean).slice(0, MOST_WORDS);
  if (!words.length) words.push("…");
  const asked = order.split(",").map(Number);
  const fits = [...asked].sort((a, b) => a - b).every((place, k) => place === k) && asked.length === words.length;
  return { words, order: fits ? asked : words.map((_, place) => place) };
}

function shuffled(order) {
  const next = [...order];
  for (let k = next.length - 1; k > 0; k -= 1) {
    const other = Math.floor(Math.random() * (k + 1));
    [next[k], next[other]] = [next[other], next[k]];
  }
  return next;
}

// The layer on the typed and on the shuffled words, and how far apart the two outputs of each word are.
function compared(words, order, { isCausal, codes }) {
  const tokens = embeddings(words, WIDTH);
  const choice = { isCausal, codes, base: BASE };
  const typed = layer(tokens, WEIGHTS, choice);
  const moved = layer(order.map((place) => tokens[place]), WEIGHTS, choice);
  const expected = permuted(typed.attention, order);
  const distances = new Array(words.length);
  order.forEach((place, k) => {
    distances[place] = Math.hypot(...moved.output[k].map((x, j) => x - typed.output[place][j]));
  });
  return {
    typed, shuffled: moved, distances,
    difference: moved.attention.map((line, i) => line.map((x, j) => x - expected[i][j])),
    gap: largestGap(moved.output, order.map((place) => typed.output[place])),
    pooled: Math.hypot(...meanRow(moved.output).map((x, j) => x - meanRow(typed.output)[j])),
  };
}

function meanRow(rows) {
  return rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length);
}

function paintOutputs(svg, words, distances) {
  const most = Math.max(...distances);
  drawChart(svg, {
    height: 230,
    x: { label: "", lower: -0.2, upper: words.length },
    y: { label: `how much each word's output changed${most > ROUNDING ? "" : ": not at all"}`, lower: 0, upper: most > ROUNDING ? 1.12 * most : 1 },
    series: [{ style: "bars", colour: 0, xs: words.map((_, k) => [k, k + 0.8]), ys: distances }],
    words: words.map((word, k) => ({ at: k + 0.4, text: fitted(word, sizeOf(svg).width / words.length), colour: 5 })),
  });
}

// As much of a word as fits into this many pixels.
function fitted(word, width) {
  const most = Math.max(2, Math.floor((width - 14) / 8));
  return word.length > most ? `${word.slice(0, most - 1)}…` : word;
}

function showNumbers(section, words, { gap, distances, pooled }) {
  const isSame = gap <= ROUNDING;
  const most = distances.indexOf(Math.max(...distances));
  setTexts(section, {
    gap: gap === 0 ? "0" : `${shown(gap)}${isSame ? " (rounding)" : ""}`,
    "moved-most": isSame ? "none" : `${words[most]}, by ${shown(distances[most])}`,
    pooled: pooled <= ROUNDING ? `${shown(pooled, 2)}${pooled ? " (rounding)" : ""}` : shown(pooled),
  });
}

// Two equal words that change places leave the sentence as typed.
function showVerdict(line, isAsTyped, isSame) {
  line.className = `verdict-line ${isAsTyped ? "given" : isSame ? "holds" : "differs"}`;
  const said = isAsTyped ? "The words are as typed. Move one."
    : isSame ? "Equivariant: every word has the same output as before. The layer cannot tell the two orders apart."
      : "Not equivariant: outputs changed, so this layer can tell the two orders apart.";
  if (line.dataset.text === said) return;
  line.dataset.text = said;
  line.innerHTML = `<svg class="icon" aria-hidden="true"><use href="#icon-${isAsTyped ? "given" : isSame ? "holds" : "refuted"}"></use></svg>`;
  line.append(said);
}
