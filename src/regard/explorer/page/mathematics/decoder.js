// The small trained model: a decoder with rotary positions, as `regard train` makes it, from weights in 8 bits.

import { softmax } from "./retrieval.js";
import { rotated, turningOf } from "./rotary.js";

const START = 1;
const NUM_SPECIAL = 5;
const SPACE = "▁";
// The percent-encoded letters and the blanks of Python's text, which the tokenizer was made for.
const NEXT = "%[89AB][0-9A-F]";
const ESCAPED = new RegExp(`%[CD][0-9A-F]${NEXT}|%E[0-9A-F](?:${NEXT}){2}|%F[0-7](?:${NEXT}){3}`, "gi");
const BLANK = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/g;
const WORD = /▁?[^\w▁]|▁?\w{1,64}|▁/gu;

// The model in a file of safetensors: matrices of integers, each with the scales of its rows, and facts as JSON.
export function readModel(bytes) {
  const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const { __metadata__: about, ...entries } = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const content = (name) => bytes.buffer.slice(...entries[name].data_offsets.map((offset) => start + offset));
  const matrices = Object.entries(entries).filter(([, { dtype }]) => dtype === "I8").map(([name, { shape }]) => {
    const [numbers, scales] = [new Int8Array(content(name)), new Float32Array(content(`${name}.scales`))];
    return [name, Array.from({ length: shape[0] }, (_, row) =>
      Float32Array.from(numbers.subarray(row * shape[1], (row + 1) * shape[1]), (x) => x * scales[row]))];
  });
  const facts = JSON.parse(about.facts);
  const texts = facts.tokens.slice(NUM_SPECIAL);
  return {
    ...facts,
    matrices: new Map(matrices),
    numbers: new Map(texts.map((text, k) => [text, k + NUM_SPECIAL])),
    characters: new Set([" ", ...texts.join("")]),
  };
}

// The tokens of a text, and the characters that the model does not have, each once.
export function tokenised(text, { numbers, characters }) {
  const plain = [...text.replace(ESCAPED, unescaped).replace(BLANK, " ")];
  const missing = [...new Set(plain.filter((sign) => !characters.has(sign)))];
  const known = plain.filter((sign) => characters.has(sign)).join("").replaceAll(" ", SPACE);
  const words = (known && !known.startsWith(SPACE) ? SPACE + known : known).match(WORD) ?? [];
  return { tokens: words.flatMap((word) => pieces(word, numbers)), missing };
}

function unescaped(letter) {
  try { return decodeURIComponent(letter); } catch { return letter; }
}

// The longest known piece at the start of a word, then the longest at the start of what is left, and so on.
function pieces(word, numbers) {
  const found = [];
  for (let start = 0, end = word.length; start < word.length; end = word.length) {
    while (!numbers.has(word.slice(start, end))) end -= 1;
    found.push(numbers.get(word.slice(start, end)));
    start = end;
  }
  return found;
}

// Reads the tokens after a start token. For each layer and head: queries, keys, values, scores and weights, one row per
// token; and the probability of every token as the next. `silenced` is a head { layer, head } whose output becomes zero.
export function read(tokens, model, silenced = null) {
  const { matrices } = model;
  let rows = [START, ...tokens].map((token) => unit(matrices.get("embedding.weight")[token]));
  const layers = Array.from({ length: model.layers }, (_, number) => {
    const part = (name) => matrices.get(`blocks.${number}.${name}.weight`);
    const heads = headsOf(product(rows.map(unit), part("attention.project")), model);
    const mixed = rows.map((_, t) => heads.flatMap(({ weights, values }, head) =>
      combined(silenced?.layer === number && silenced.head === head ? [] : weights[t], values)));
    rows = sum(rows, product(mixed, part("attention.output")));
    const inner = product(rows.map(unit), part("feed_forward.hidden")).map((row) => row.map((x) => Math.max(x, 0) ** 2));
    rows = sum(rows, product(inner, part("feed_forward.output")));
    return heads;
  });
  const [scores] = product([unit(rows.at(-1))], matrices.get("head.weight"));
  return { layers, next: softmax(scores) };
}

// The most probable tokens that follow, one after the other, up to the end of the sentence.
export function continued(tokens, model, { next, most = 10, silenced = null }) {
  const added = [];
  let probabilities = next;
  while (added.length < most) {
    const best = probabilities.indexOf(Math.max(...probabilities));
    if (best < NUM_SPECIAL) break;
    added.push(best);
    if (".?".includes(model.tokens[best])) break;
    probabilities = read([...tokens, ...added], model, silenced).next;
  }
  return added;
}

function headsOf(projected, { heads, base }) {
  const width = projected[0].length / (3 * heads);
  const turning = turningOf({ width, base, scaling: "none" });
  const turned = (rows) => rows.map((row, t) => rotated(row, t, turning, "half-split"));
  return Array.from({ length: heads }, (_, head) => {
    const [query, key, values] = [0, 1, 2].map((part) =>
      projected.map((row) => row.slice((part * heads + head) * width, (part * heads + head + 1) * width)));
    const [queries, keys] = [turned(query), turned(key)];
    const scores = queries.map((row, t) => keys.slice(0, t + 1).map((other) => dot(row, other) / Math.sqrt(width)));
    return { queries, keys, values, scores, weights: scores.map(softmax) };
  });
}

// x/√(mean x²).
function unit(row) {
  const size = Math.max(Math.sqrt(dot(row, row) / row.length), 1e-6);
  return Array.from(row, (x) => x / size);
}

// Σ weight·row.
export function combined(weights, rows) {
  const total = new Array(rows[0].length).fill(0);
  weights.forEach((weight, k) => rows[k].forEach((x, j) => { total[j] += weight * x; }));
  return total;
}

// xWᵀ for each row x.
function product(rows, matrix) {
  return rows.map((row) => matrix.map((line) => dot(row, line)));
}

function sum(left, right) {
  return left.map((row, i) => row.map((x, j) => x + right[i][j]));
}

function dot(left, right) {
  let total = 0;
  for (let j = 0; j < left.length; j += 1) total += left[j] * right[j];
  return total;
}
