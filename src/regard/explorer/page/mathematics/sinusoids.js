// Sinusoidal codes: Φ(t, 2i) = sin(t/B^{2i/d}), Φ(t, 2i+1) = cos(t/B^{2i/d}).

import { FORMATS, inFormat } from "./formats.js";

// B^{2i/d} for each pair.
export function wavelengths(width, base) {
  return Array.from({ length: width / 2 }, (_, i) => base ** (2 * i / width));
}

// The code of one position.
export function sinusoid(position, width, base) {
  return wavelengths(width, base).flatMap((length) => [Math.sin(position / length), Math.cos(position / length)]);
}

// ‖Φ(t+s) − Φ(t)‖ = √Σ 4 sin²(s/(2B^{2i/d})), whatever t is.
export function codeDistance(lag, width, base) {
  let sum = 0;
  for (const length of wavelengths(width, base)) sum += 4 * Math.sin(lag / (2 * length)) ** 2;
  return Math.sqrt(sum);
}

// The lag below `count` at which two codes are nearest, and their distance.
export function nearestCodes(count, width, base) {
  const lengths = wavelengths(width, base);
  let best = { lag: 0, distance: Infinity };
  for (let lag = 1; lag < count; lag += 1) {
    let sum = 0;
    for (let i = 0; i < lengths.length && sum < best.distance; i += 1) sum += 4 * Math.sin(lag / (2 * lengths[i])) ** 2;
    if (sum < best.distance) best = { lag, distance: sum };
  }
  return { lag: best.lag, distance: Math.sqrt(best.distance) };
}

// Codes of positions 0 … count−1, each number rounded to the format, row after row.
export function roundedCodes({ count, width, base, format }) {
  const lengths = wavelengths(width, base);
  const held = FORMATS[format];
  const codes = new Float64Array(count * width);
  for (let t = 0, at = 0; t < count; t += 1) {
    for (const length of lengths) {
      codes[at] = inFormat(Math.sin(t / length), held);
      codes[at + 1] = inFormat(Math.cos(t / length), held);
      at += 2;
    }
  }
  return codes;
}

// The rows that repeat an earlier one, their number, and the first of them with the row it repeats.
export function collisions(codes, width) {
  const count = codes.length / width;
  const table = new Int32Array(2 ** Math.ceil(Math.log2(2 * count + 1))).fill(-1);
  const rows = [];
  let first = null;
  for (let row = 0; row < count; row += 1) {
    const found = seenBefore(codes, width, row, table);
    if (found < 0) continue;
    rows.push(row);
    first ??= [found, row];
  }
  return { rows, lost: rows.length, first };
}

const NUMBER = new Float64Array(1);
const WORDS = new Uint32Array(NUMBER.buffer);

// The earlier row that is equal to this one; or −1, and then the row is added to the table.
function seenBefore(codes, width, row, table) {
  let slot = hashOf(codes, width, row) & (table.length - 1);
  for (; table[slot] >= 0; slot = (slot + 1) & (table.length - 1)) {
    if (areEqual(codes, width, table[slot], row)) return table[slot];
  }
  table[slot] = row;
  return -1;
}

function hashOf(codes, width, row) {
  let hash = 0;
  for (let at = row * width; at < (row + 1) * width; at += 1) {
    NUMBER[0] = codes[at] + 0;
    hash = Math.imul(hash ^ WORDS[0], 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15) ^ WORDS[1], 0x85ebca6b);
  }
  return (hash ^ (hash >>> 13)) >>> 0;
}

function areEqual(codes, width, first, second) {
  for (let j = 0; j < width; j += 1) if (codes[first * width + j] !== codes[second * width + j]) return false;
  return true;
}
