// Rotary codes: pairs of a query or a key turned by tθ_i, θ_i = B^{−2i/d}, and scalings of θ.
// A choice is { width, base, scaling: "none" | "linear" | "ntk" | "yarn", factor, original }.

const FAST = 32;
const SLOW = 1;

// B^{−2i/d} for each pair.
export function plainFrequencies(width, base) {
  return Array.from({ length: width / 2 }, (_, i) => base ** (-2 * i / width));
}

// Angle that each pair turns from one position to the next.
export function frequencies({ width, base, scaling, factor, original }) {
  const plain = plainFrequencies(width, base);
  if (scaling === "linear") return plain.map((theta) => theta / factor);
  if (scaling === "ntk") return plainFrequencies(width, base * factor ** (width / (width - 2)));
  if (scaling !== "yarn") return plain;
  const kept = yarnKept({ width, base, original });
  return plain.map((theta, i) => theta * (kept[i] + (1 - kept[i]) / factor));
}

// How much of its own frequency each pair keeps under YaRN, from 1 to 0: linear in the pair, between whole pairs.
export function yarnKept({ width, base, original }) {
  const pairAt = (turns) => width * Math.log(original / (2 * Math.PI * turns)) / (2 * Math.log(base));
  const first = Math.max(Math.floor(pairAt(FAST)), 0);
  const last = Math.min(Math.ceil(pairAt(SLOW)), width - 1);
  const length = Math.max(last - first, 0.001);
  return Array.from({ length: width / 2 }, (_, i) => 1 - Math.min(Math.max((i - first) / length, 0), 1));
}

// The factor on rotated queries and keys: 0.1 ln s + 1 under YaRN.
export function gain({ scaling, factor }) {
  return scaling === "yarn" ? 0.1 * Math.log(factor) + 1 : 1;
}

// The frequencies and the gain of a rotation, computed once.
export function turningOf(choice) {
  return { thetas: frequencies(choice), size: gain(choice) };
}

// The vector with each pair turned: neighbours are pairs when interleaved, one from each half when half-split.
export function rotated(vector, position, { thetas, size }, layout) {
  const turned = new Array(vector.length);
  thetas.forEach((theta, i) => {
    const [first, second] = layout === "interleaved" ? [2 * i, 2 * i + 1] : [i, i + thetas.length];
    const [c, s] = [size * Math.cos(position * theta), size * Math.sin(position * theta)];
    turned[first] = vector[first] * c - vector[second] * s;
    turned[second] = vector[first] * s + vector[second] * c;
  });
  return turned;
}

// ⟨RoPE(q, t₁), RoPE(k, t₂)⟩ for each t₁, each vector in its own layout.
export function scores({ query, key, queryLayout, keyLayout }, queryPositions, keyPosition, turning) {
  const turnedKey = rotated(key, keyPosition, turning, keyLayout);
  return queryPositions.map((at) =>
    rotated(query, at, turning, queryLayout).reduce((sum, x, j) => sum + x * turnedKey[j], 0));
}

// |Σ_j e^{isθ_j}|: how similar the pairs still are at distance s.
export function envelope(lag, thetas) {
  let across = 0;
  let upward = 0;
  for (const theta of thetas) {
    across += Math.cos(lag * theta);
    upward += Math.sin(lag * theta);
  }
  return Math.hypot(across, upward);
}
