// Fixed keys: n orthonormal keys and values, and a query in the plane of k_a and k_b.

// (z_a, z_b) = β(cos φ, sin φ)/max(|cos φ|, |sin φ|): βk_a at 0°, β(k_a+k_b) at 45°, βk_b at 90°; all others are 0.
export function planeLogits({ beta, degrees }) {
  const across = Math.cos(degrees * Math.PI / 180);
  const upward = Math.sin(degrees * Math.PI / 180);
  const longest = Math.max(Math.abs(across), Math.abs(upward));
  return [beta * across / longest, beta * upward / longest];
}

// Softmax of the logits z_a, z_b and n−2 zeros: the weights of a, b, each other key, and all others together.
export function planeWeights({ n, beta, degrees }) {
  const [za, zb] = planeLogits({ beta, degrees });
  const peak = Math.max(za, zb, 0);
  const [a, b, other] = [Math.exp(za - peak), Math.exp(zb - peak), Math.exp(-peak)];
  const total = a + b + (n - 2) * other;
  return { a: a / total, b: b / total, other: other / total, rest: (n - 2) * other / total };
}

// e^{z_i}/Σ e^{z_l}, with the largest logit subtracted first.
export function softmax(logits) {
  const peak = Math.max(...logits);
  const mass = logits.map((logit) => Math.exp(logit - peak));
  const total = mass.reduce((sum, x) => sum + x, 0);
  return mass.map((x) => x / total);
}

// ‖c − target‖ for orthonormal values; the target is v_a ("copy") or ½(v_a+v_b) ("average").
export function outputError(weights, goal) {
  const { a, b, other, rest } = weights;
  const others = rest * other;
  // 1 − a and ½ − a are written as sums of the other weights, so that nothing cancels.
  if (goal === "copy") return Math.sqrt((b + rest) ** 2 + b * b + others);
  return Math.sqrt(((b - a + rest) / 2) ** 2 + ((a - b + rest) / 2) ** 2 + others);
}

// (1−a)√2 for a copy; for an average (1−a−b)√(3/2) + |a−b|/√2: each value times its distance from the target.
export function errorBound(weights, goal) {
  const { a, b, rest } = weights;
  if (goal === "copy") return (b + rest) * Math.SQRT2;
  return rest * Math.sqrt(1.5) + Math.abs(a - b) / Math.SQRT2;
}

// 1/(1 + (n−1)e^{−Δ}).
export function copyWeight(margin, n) {
  return 1 / (1 + (n - 1) * Math.exp(-margin));
}

// log((n−1)(1−ε)/ε): the margin that guarantees a weight of 1−ε.
export function copyMargin(epsilon, n) {
  return Math.log((n - 1) * (1 - epsilon) / epsilon);
}

// e^β/(2e^β + n−2).
export function averageWeight(beta, n) {
  return Math.exp(beta) / (2 * Math.exp(beta) + (n - 2));
}

// log((n−2)(1−2ε)/(4ε)): the scale from which each of the two weights is at least ½−ε.
export function averageScale(epsilon, n) {
  return Math.log((n - 2) * (1 - 2 * epsilon) / (4 * epsilon));
}
