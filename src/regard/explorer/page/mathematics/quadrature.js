// Integrals of smooth functions by Gauss–Legendre quadrature on panels.

const ORDER = 16;
const RULE = gaussLegendre(ORDER);

// ∫ f over [lower, upper], cut into panels no longer than `panel`.
export function integral(f, lower, upper, panel) {
  const count = Math.max(1, Math.ceil((upper - lower) / panel));
  const half = (upper - lower) / (2 * count);
  let sum = 0;
  for (let place = 0; place < count; place += 1) {
    const middle = lower + (2 * place + 1) * half;
    for (const [node, weight] of RULE) sum += weight * f(middle + half * node);
  }
  return half * sum;
}

// Nodes and weights: the roots x of the Legendre polynomial P_n by Newton's method, and 2/((1−x²)P_n'(x)²).
function gaussLegendre(n) {
  return Array.from({ length: n }, (_, i) => {
    let x = Math.cos(Math.PI * (i + 0.75) / (n + 0.5));
    for (let turn = 0; turn < 8; turn += 1) {
      const [value, slope] = legendre(n, x);
      x -= value / slope;
    }
    const [, slope] = legendre(n, x);
    return [x, 2 / ((1 - x * x) * slope * slope)];
  });
}

// P_n(x) and its slope, from (k+1)P_{k+1} = (2k+1)xP_k − kP_{k−1}.
function legendre(n, x) {
  let before = 1;
  let now = x;
  for (let k = 1; k < n; k += 1) [before, now] = [now, ((2 * k + 1) * x * now - k * before) / (k + 1)];
  return [now, n * (before - x * now) / (1 - x * x)];
}
