// Random numbers from a seed: the same seed gives the same numbers in every browser.

// Numbers in [0, 1): Marsaglia's xorshift of 128 bits.
export function uniforms(seed) {
  const state = new Uint32Array(4);
  let mixed = seed >>> 0;
  for (let word = 0; word < 4; word += 1) {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    state[word] = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad) ^ (word + 1);
  }
  const next = () => {
    let t = state[3];
    t ^= t << 11;
    t ^= t >>> 8;
    state[3] = state[2];
    state[2] = state[1];
    state[1] = state[0];
    state[0] = t ^ state[0] ^ (state[0] >>> 19);
    return state[0];
  };
  for (let turn = 0; turn < 16; turn += 1) next();
  return () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53;
}

// Standard normal numbers, by the Box–Muller transform.
export function normals(seed) {
  const uniform = uniforms(seed);
  let spare = null;
  return () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    const angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

// A seed for a word: the same word always has the same seed.
export function seedOf(word) {
  let seed = 0x811c9dc5;
  for (let place = 0; place < word.length; place += 1) seed = Math.imul(seed ^ word.charCodeAt(place), 0x01000193);
  return seed >>> 0;
}
