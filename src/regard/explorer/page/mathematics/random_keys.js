// One key of random length, k_a = γμ_a with γ ~ N(1, σ²): the output under one query, and under two.
// A setting is { n, beta, sigma2, design: "one" | "two" | "identical", isNormalized, isPositive }.

import { normalDensity, normalTail } from "./normal.js";
import { integral } from "./quadrature.js";

// Beyond this many standard deviations γ is negligible in a double.
const FAR = 14;

// The logit log(w/(1−w)) of a's weight is β(γ − centre) − offset: β(γ−1) − log(1 + (n−2)e^{−β}) under one head,
// βγ − log(n−1) under the first of two.
function stepOf({ n, beta, design }) {
  if (design === "two") return { centre: 0, offset: Math.log(n - 1) };
  return { centre: 1, offset: Math.log1p((n - 2) * Math.exp(-beta)) };
}

function logitOfA(gamma, setting) {
  const { centre, offset } = stepOf(setting);
  return setting.beta * (gamma - centre) - offset;
}

function sigmoid(logit) {
  return 1 / (1 + Math.exp(-logit));
}

// The weight on a from the head that looks for it.
export function weightOfA(gamma, setting) {
  return sigmoid(logitOfA(gamma, setting));
}

// c = start + w·slope, coefficients of v_a, v_b and of each other value, as the weight w of a goes from 0 to 1.
export function outputLine({ n, beta, design }) {
  if (design !== "two") {
    const rest = Math.exp(beta) + (n - 2);
    const [b, other] = [Math.exp(beta) / rest, 1 / rest];
    return { start: [0, b, other], slope: [1, -b, -other] };
  }
  const [b, other] = [Math.exp(beta) / (Math.exp(beta) + (n - 1)), 1 / (Math.exp(beta) + (n - 1))];
  const share = 1 / (n - 1);
  return {
    start: [other / 2, (share + b) / 2, (share + other) / 2],
    slope: [0.5, -share / 2, -share / 2],
  };
}

// The coefficients of c for a weight w of a.
export function output(weight, setting) {
  const { start, slope } = outputLine(setting);
  return start.map((x, place) => x + weight * slope[place]);
}

// E w_a and Var w_a of the head that looks for a.
export function weightMoments(setting) {
  const mean = expectation(sigmoid, setting);
  return { mean, variance: expectation((logit) => (sigmoid(logit) - mean) ** 2, setting) };
}

// v_a's coefficient in c: its mean and variance; tr Cov(c) for orthonormal values; E‖c − ½(v_a+v_b)‖².
export function outputMoments(setting) {
  const { mean, variance } = weightMoments(setting);
  const { start, slope } = outputLine(setting);
  const squares = slope[0] ** 2 + slope[1] ** 2 + (setting.n - 2) * slope[2] ** 2;
  return {
    mean: start[0] + mean * slope[0],
    variance: variance * slope[0] ** 2,
    trace: variance * squares,
    error: expectation((logit) => squaredError(logit, setting), setting),
  };
}

// ‖c − ½(v_a+v_b)‖², computed from the differences to ½ in closed form, so that nothing cancels.
function squaredError(logit, { n, beta, design }) {
  const away = sigmoid(-logit);
  if (design === "two") {
    const other = 1 / (Math.exp(beta) + (n - 1));
    const [a, b] = [(other - away) / 2, (away / (n - 1) - (n - 1) * other) / 2];
    return a * a + b * b + (n - 2) * ((away / (n - 1) + other) / 2) ** 2;
  }
  const rest = (n - 2) * Math.exp(-beta);
  const [a, b] = [Math.tanh(logit / 2) / 2, -(rest + Math.tanh(logit / 2)) / (2 * (1 + rest))];
  return a * a + b * b + (n - 2) * (away / (Math.exp(beta) + (n - 2))) ** 2;
}

// E f(logit of w_a), given γ > 0 if asked for; normalised keys leave γ = ±1.
function expectation(f, setting) {
  const { beta, sigma2, isNormalized, isPositive } = setting;
  const sigma = Math.sqrt(sigma2);
  const backwards = isPositive ? 0 : normalTail(1 / sigma);
  const { centre, offset } = stepOf(setting);
  const at = (gamma) => f(beta * (gamma - centre) - offset);
  if (isNormalized) return (1 - backwards) * at(1) + backwards * at(-1);
  // The weight is a step of width 1/β in γ; panels of three such widths resolve it to the last digit.
  const panel = Math.min(3 / (beta * sigma), 1);
  const lower = isPositive ? -1 / sigma : -FAR;
  const whole = integral((x) => normalDensity(x) * at(1 + sigma * x), lower, FAR, panel);
  return isPositive ? whole / normalTail(-1 / sigma) : whole;
}

// The density of w_a, 0 < w < 1: its logit is Gaussian, and d logit/dw = 1/(w(1−w)).
export function weightDensity(weight, setting) {
  const { beta, sigma2, isPositive } = setting;
  const sigma = Math.sqrt(sigma2);
  if (!(weight > 0 && weight < 1)) return 0;
  const logit = Math.log(weight / (1 - weight));
  const { centre, offset } = stepOf(setting);
  const beyond = (logit + offset) / beta + (centre - 1);
  if (isPositive && beyond <= -1) return 0;
  const density = normalDensity(beyond / sigma) / (beta * sigma * weight * (1 - weight));
  return isPositive ? density / normalTail(-1 / sigma) : density;
}

// The density of v_a's coefficient in c.
export function coefficientDensity(x, setting) {
  const { start, slope } = outputLine(setting);
  return weightDensity((x - start[0]) / slope[0], setting) / slope[0];
}

// Normalised keys: the two values that v_a's coefficient can take, with their probabilities.
export function coefficientAtoms(setting) {
  const backwards = setting.isPositive ? 0 : normalTail(1 / Math.sqrt(setting.sigma2));
  const at = (gamma) => output(weightOfA(gamma, setting), setting)[0];
  return [{ at: at(1), chance: 1 - backwards }, { at: at(-1), chance: backwards }];
}

// P(lower ≤ w_a's coefficient < upper), the height of a histogram's bars in the long run.
export function binChance(lower, upper, setting) {
  return below(upper, setting) - below(lower, setting);
}

function below(x, setting) {
  const { start, slope } = outputLine(setting);
  const weight = (x - start[0]) / slope[0];
  const sigma = Math.sqrt(setting.sigma2);
  if (weight <= 0) return 0;
  const { centre, offset } = stepOf(setting);
  const beyond = (Math.log(weight / (1 - weight)) + offset) / setting.beta + (centre - 1);
  const share = weight >= 1 ? 1 : normalTail(-beyond / sigma);
  if (!setting.isPositive) return share;
  const backwards = normalTail(1 / sigma);
  return Math.max(0, share - backwards) / (1 - backwards);
}
