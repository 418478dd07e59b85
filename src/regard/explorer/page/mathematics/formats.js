// Floating-point formats: rounding to the nearest representable number, ties to even.

// `bits` significant bits, subnormals below 2^least; numbers that round beyond `largest` become `beyond`.
export const FORMATS = {
  float64: { bits: 53, least: -1022, largest: Number.MAX_VALUE, beyond: Infinity },
  float32: { bits: 24, least: -126, largest: (2 - 2 ** -23) * 2 ** 127, beyond: Infinity },
  bfloat16: { bits: 8, least: -126, largest: (2 - 2 ** -7) * 2 ** 127, beyond: Infinity },
  float16: { bits: 11, least: -14, largest: 65504, beyond: Infinity },
  float8_e5m2: { bits: 3, least: -14, largest: 57344, beyond: Infinity },
  float8_e4m3fn: { bits: 4, least: -6, largest: 448, beyond: NaN },
};

const NUMBER = new Float64Array(1);
const WORDS = new Uint32Array(NUMBER.buffer);
// Adding and subtracting 1.5·2^52 rounds to the nearest whole number, ties to even.
const WHOLE = 1.5 * 2 ** 52;

// 2^k for every exponent k of a double, in a table because powers are slow.
const POWERS = Float64Array.from({ length: 2100 }, (_, place) => 2 ** (place - 1075));

// The number rounded to the format with this name.
export function rounded(x, name) {
  return inFormat(x, FORMATS[name]);
}

// The number rounded to a format.
export function inFormat(x, { bits, least, largest, beyond }) {
  if (bits === 53 || x === 0 || Number.isNaN(x)) return x;
  if (!Number.isFinite(x)) return Math.sign(x) * beyond;
  NUMBER[0] = x;
  const exponent = Math.max(((WORDS[1] >>> 20) & 0x7ff) - 1023, least);
  const step = POWERS[exponent - bits + 1 + 1075];
  const nearest = (x / step + WHOLE - WHOLE) * step;
  return Math.abs(nearest) > largest ? Math.sign(x) * beyond : nearest;
}
