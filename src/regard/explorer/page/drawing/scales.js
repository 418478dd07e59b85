// Axes: from numbers to places in a drawing, and the round numbers marked on them.

// A function from values to places, with its range; logarithmic if asked for.
export function scaleOf({ lower, upper, isLog = false }, start, end) {
  const map = isLog ? Math.log10 : (x) => x;
  const [from, to] = [map(lower), map(upper)];
  const scale = (x) => start + (map(x) - from) / (to - from) * (end - start);
  return Object.assign(scale, { lower, upper, isLog, start, end });
}

// Round numbers in the range of a scale, about as many as asked for.
export function ticksOf(scale, wanted) {
  return scale.isLog ? logTicks(scale, wanted) : evenTicks(scale, wanted);
}

function evenTicks({ lower, upper }, wanted) {
  const rough = (upper - lower) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= rough * 0.999);
  const first = Math.ceil(lower / step - 1e-9);
  const count = Math.floor(upper / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, k) => (first + k) * step);
}

function logTicks({ lower, upper }, wanted) {
  const [first, last] = [Math.ceil(Math.log10(lower) - 1e-9), Math.floor(Math.log10(upper) + 1e-9)];
  const stride = Math.max(1, Math.ceil((last - first + 1) / wanted));
  const decades = [];
  for (let k = first; k <= last; k += stride) decades.push(10 ** k);
  return decades;
}

// A number for a tick, without trailing zeros.
export function tickLabel(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) return power(x);
  return minus(String(Number(x.toPrecision(6))));
}

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

function power(x) {
  const exponent = Math.floor(Math.log10(Math.abs(x)) + 1e-12);
  const factor = Number((x / 10 ** exponent).toPrecision(3));
  const raised = [...String(exponent)].map((sign) => RAISED[sign]).join("");
  if (factor === 1) return `10${raised}`;
  return factor === -1 ? `−10${raised}` : `${minus(String(factor))}·10${raised}`;
}

// A number for reading: this many significant digits, and a power of ten if it is very large or small.
export function shown(x, digits = 3) {
  if (Number.isNaN(x)) return "undefined";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return power(x);
  if (size >= 10 ** digits) return minus(String(Math.round(x)));
  return minus(x.toPrecision(digits));
}

function minus(text) {
  return text.replace("-", "−");
}
