// Part 2, copy and average: the query in the plane of two keys, the weights, the error and the scale needed.

import { drawChart } from "../drawing/charts.js";
import { shown } from "../drawing/scales.js";
import { averageScale, averageWeight, copyMargin, copyWeight, errorBound, outputError, planeLogits, planeWeights } from "../mathematics/retrieval.js";
import { setTexts } from "../texts.js";
import { makeDraggable } from "../dragging.js";

// Enough for the smallest ε at the largest n, so that the scale needed can always be used.
const LARGEST = 17;
const REACH = 100;
// The view never zooms in closer than this scale.
const SMALLEST_VIEW = 4;
const SNAP = 3;
const MOST_BARS = 48;

export function makeCopy(section, panel) {
  const plane = section.querySelector("#copy-plane");
  const unit = () => REACH / Math.max(SMALLEST_VIEW, held ?? viewed(panel.state.beta));
  // While the query is dragged the view keeps its scale.
  let held = null;
  makeDraggable(plane, {
    start: () => { held = viewed(panel.state.beta); },
    move: ([x, y]) => panel.set(aimed(x / unit(), -y / unit())),
    end: () => { held = null; panel.changed(); },
    keys: { ArrowLeft: [5, 0], ArrowRight: [-5, 0], ArrowUp: [0, 0.25], ArrowDown: [0, -0.25] },
    nudge: ([turn, longer]) => {
      const { degrees, beta } = panel.state;
      panel.set({ degrees: wrapped(degrees + turn), beta: Math.max(0, beta + longer) });
    },
  });
  section.querySelector("#copy-use").addEventListener("click", () => {
    const { goal } = panel.state;
    panel.set({ beta: Math.max(0, needed(panel.state)), degrees: goal === "copy" ? 0 : 45 });
  });
  section.addEventListener("input", ({ target }) => {
    if (target.name === "goal") panel.set({ degrees: target.value === "copy" ? 0 : 45 });
  });
  return {
    paint(state) {
      const weights = planeWeights(state);
      paintPlane(plane, state, weights, unit());
      paintBars(section.querySelector("#copy-bars"), state, weights);
      paintScale(section.querySelector("#copy-scale"), state, weights);
      showNumbers(section, state, weights);
    },
  };
}

function viewed(beta) {
  return Math.min(LARGEST, Math.max(SMALLEST_VIEW, Math.ceil(beta / 4) * 4));
}

// The state for a tip at (x, y): β is the larger coordinate; near an axis or a diagonal the direction snaps to it.
function aimed(x, y) {
  const beta = Math.min(LARGEST, Math.max(Math.abs(x), Math.abs(y)));
  const degrees = Math.atan2(y, x) * 180 / Math.PI;
  const nearest = Math.round(degrees / 45) * 45;
  return { beta: Number(beta.toFixed(2)), degrees: Math.abs(degrees - nearest) < SNAP ? nearest : Number(degrees.toFixed(1)) };
}

function wrapped(degrees) {
  return ((degrees + 180) % 360 + 360) % 360 - 180;
}

function needed({ goal, epsilon, n }) {
  return goal === "copy" ? copyMargin(epsilon, n) : averageScale(epsilon, n);
}

function paintPlane(svg, state, weights, unit) {
  const [za, zb] = planeLogits(state).map((logit) => logit * unit);
  const half = state.beta * unit;
  const [tipX, tipY] = [za, -zb];
  const length = Math.hypot(tipX, tipY);
  const head = Math.min(11, length);
  const angle = Math.atan2(tipY, tipX);
  const wing = (side) => `${(tipX - head * Math.cos(angle + side)).toFixed(1)},${(tipY - head * Math.sin(angle + side)).toFixed(1)}`;
  svg.innerHTML = `
    <path class="chart-grid" d="M-112,0H112M0,-112V112"/>
    <rect class="square" x="${-half}" y="${-half}" width="${2 * half}" height="${2 * half}"/>
    <path class="key c0" d="M0,0H${unit}"/><path class="key c1" d="M0,0V${-unit}"/>
    <circle class="share c0" cx="${half}" cy="0" r="${3 + 15 * Math.sqrt(weights.a)}"/>
    <circle class="share c1" cx="0" cy="${-half}" r="${3 + 15 * Math.sqrt(weights.b)}"/>
    <text class="chart-label c0" x="${Math.min(half + 8, 92)}" y="22">k<tspan dy="3" class="chart-script">a</tspan></text>
    <text class="chart-label c1" x="10" y="${Math.max(-half - 8, -100)}">k<tspan dy="3" class="chart-script">b</tspan></text>
    <path class="query" d="M0,0L${tipX.toFixed(1)},${tipY.toFixed(1)}"/>
    <path class="query-head" d="M${tipX.toFixed(1)},${tipY.toFixed(1)}L${wing(0.42)}L${wing(-0.42)}Z"/>
    <circle class="handle" cx="${tipX.toFixed(1)}" cy="${tipY.toFixed(1)}" r="13"/>
    <text class="query-name" x="${(tipX / 2 - 9 * Math.sin(angle)).toFixed(1)}" y="${(tipY / 2 + 12 * Math.cos(angle)).toFixed(1)}">q</text>`;
}

function paintBars(svg, { n }, { a, b, other, rest }) {
  const count = Math.min(n - 2, MOST_BARS);
  const [from, to] = [3, 9.6];
  const width = (to - from) / count;
  const others = Array.from({ length: count }, (_, k) => [from + k * width, from + (k + Math.min(0.82, 1 - 0.06 / width)) * width]);
  const bars = (spans, value, colour) => ({ style: "bars", colour, xs: spans, ys: spans.map(() => value) });
  drawChart(svg, {
    height: 312,
    x: { label: "", lower: -0.3, upper: 12.2 },
    y: { label: "weight", lower: 0, upper: 1 },
    series: [
      bars([[0, 1]], a, 0), bars([[1.35, 2.35]], b, 1), bars(others, other, 5), bars([[10.6, 11.9]], rest, 5),
    ],
    words: [
      { at: 0.5, text: "a", colour: 0 }, { at: 1.85, text: "b", colour: 1 },
      { at: (from + to) / 2, text: n - 2 > MOST_BARS ? `${MOST_BARS} of ${n - 2} others` : `the ${n - 2 === 1 ? "other" : `${n - 2} others`}`, colour: 5 },
      { at: 11.25, text: "together", colour: 5 },
    ],
  });
}

function paintScale(svg, state, weights) {
  const { goal, n, beta, epsilon } = state;
  const scales = Array.from({ length: 121 }, (_, k) => k * LARGEST / 120);
  const curve = goal === "copy" ? (x) => copyWeight(x, n) : (x) => averageWeight(x, n);
  const target = goal === "copy" ? 1 : 0.5;
  drawChart(svg, {
    height: 270,
    x: { label: "scale β", lower: 0, upper: LARGEST },
    y: { label: goal === "copy" ? "weight on a" : "weight on each of the two", lower: 0, upper: goal === "copy" ? 1.05 : 0.55 },
    series: [
      { xs: scales, ys: scales.map(curve), colour: 0 },
      { xs: [beta], ys: [goal === "copy" ? weights.a : Math.min(weights.a, weights.b)], style: "points", colour: 1 },
    ],
    rules: [
      { at: target - epsilon, label: goal === "copy" ? "1 − ε" : "½ − ε" },
      { at: needed(state), label: `needed: ${shown(Math.ceil(100 * needed(state)) / 100)}`, isVertical: true, isLow: true },
    ],
  });
}

function showNumbers(section, state, weights) {
  const { goal, n, epsilon } = state;
  const error = outputError(weights, goal);
  const scale = needed(state);
  setTexts(section, {
    a: shown(weights.a), b: shown(weights.b), rest: shown(weights.rest),
    "error-name": goal === "copy" ? "error ‖c − v_a‖" : "error ‖c − ½(v_a+v_b)‖",
    error: shown(error), bound: shown(errorBound(weights, goal)),
    others: String(n - 2),
    question: goal === "copy" ? `For a weight of 1 − ${shown(epsilon, 2)} among ${n} keys:` : `For weights within ${shown(epsilon, 2)} of ½ among ${n} keys:`,
    needed: scale > 0 ? `β ≥ ${shown(Math.ceil(100 * scale) / 100)}` : "any β ≥ 0",
  });
}
