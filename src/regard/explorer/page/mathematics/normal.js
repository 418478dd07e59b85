// The normal distribution: its density and its tails, to the last digits of a double.

const ROOT_TWO_PI = Math.sqrt(2 * Math.PI);

// φ(x) = e^{−x²/2}/√(2π).
export function normalDensity(x) {
  return Math.exp(-x * x / 2) / ROOT_TWO_PI;
}

// Φ(−x) = erfc(x/√2)/2, the probability above x, accurate even where it is small.
export function normalTail(x) {
  if (x < 0) return 1 - normalTail(-x);
  return x < 2.5 ? 0.5 - normalDensity(x) * oddSeries(x) : normalDensity(x) * millsRatio(x);
}

// Σ x^{2k+1}/(2k+1)!! = (Φ(x) − ½)/φ(x); all terms have the sign of x, so nothing cancels.
function oddSeries(x) {
  let term = x;
  let sum = x;
  for (let k = 1; Math.abs(term) > 1e-18 * Math.abs(sum); k += 1) {
    term *= x * x / (2 * k + 1);
    sum += term;
  }
  return sum;
}

// Φ(−x)/φ(x) = 1/(x + 1/(x + 2/(x + 3/(x + …)))), evaluated from the tail of the fraction.
function millsRatio(x) {
  let below = x;
  for (let k = Math.ceil(40 + 900 / (x * x)); k > 0; k -= 1) below = x + k / below;
  return 1 / below;
}
