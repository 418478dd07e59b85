// One layer of self-attention: Z = ReLU(HW₁ + 1b₁)W₂ + 1b₂, H = softmax(QKᵀ/√d)V, on rows of numbers.

import { normals, seedOf } from "./randomness.js";
import { rotated, turningOf } from "./rotary.js";
import { sinusoid } from "./sinusoids.js";

// Each word as a vector of normal numbers that depends only on the word.
export function embeddings(words, width) {
  return words.map((word) => {
    const normal = normals(seedOf(word.toLowerCase()));
    return Array.from({ length: width }, () => normal());
  });
}

// Random weights of a layer, from a seed.
export function layerWeights(width, seed) {
  const normal = normals(seed);
  const matrix = (rows, columns) =>
    Array.from({ length: rows }, () => Array.from({ length: columns }, () => normal() / Math.sqrt(width)));
  const names = ["query", "key", "value", "inner", "outer"];
  const square = Object.fromEntries(names.map((name) => [name, matrix(width, width)]));
  return { ...square, innerBias: matrix(1, width)[0], outerBias: matrix(1, width)[0] };
}

// Attention and output of the layer. `codes` is "none", "sinusoidal" or "rotary".
export function layer(tokens, weights, { isCausal, codes, base }) {
  const width = tokens[0].length;
  const placed = codes === "sinusoidal" ? tokens.map((row, t) => added(row, sinusoid(t, width, base))) : tokens;
  const turn = (rows) => (codes === "rotary" ? rows.map((row, t) => turned(row, t, base)) : rows);
  const queries = turn(product(placed, weights.query));
  const keys = turn(product(placed, weights.key));
  const attention = queries.map((query, t) => shares(query, isCausal ? keys.slice(0, t + 1) : keys, keys.length));
  const mixed = product(attention, product(placed, weights.value));
  const inner = product(mixed, weights.inner).map((row) => added(row, weights.innerBias).map((x) => Math.max(x, 0)));
  return { attention, output: product(inner, weights.outer).map((row) => added(row, weights.outerBias)) };
}

// The largest difference between two tables.
export function largestGap(first, second) {
  return Math.max(...first.flatMap((row, i) => row.map((x, j) => Math.abs(x - second[i][j]))));
}

// The rows and columns of a table in another order: entry (i, j) is that of (order[i], order[j]).
export function permuted(table, order) {
  return order.map((i) => order.map((j) => table[i][j]));
}

function turned(row, position, base) {
  return rotated(row, position, turningOf({ width: row.length, base, scaling: "none" }), "interleaved");
}

function shares(query, keys, length) {
  const logits = keys.map((key) => dot(query, key) / Math.sqrt(query.length));
  const peak = Math.max(...logits);
  const mass = logits.map((logit) => Math.exp(logit - peak));
  const total = mass.reduce((sum, x) => sum + x, 0);
  return Array.from({ length }, (_, j) => (j < mass.length ? mass[j] / total : 0));
}

function product(left, right) {
  return left.map((row) => right[0].map((_, j) => row.reduce((sum, x, l) => sum + x * right[l][j], 0)));
}

function dot(left, right) {
  return left.reduce((sum, x, j) => sum + x * right[j], 0);
}

function added(left, right) {
  return left.map((x, j) => x + right[j]);
}
