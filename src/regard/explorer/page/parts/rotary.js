// The second half of part 4: rotary codes, their scores against distance, and how scalings stretch them.

import { drawChart } from "../drawing/charts.js";
import { paintDials } from "../drawing/dials.js";
import { shown } from "../drawing/scales.js";
import { normals } from "../mathematics/randomness.js";
import { envelope, plainFrequencies, scores, turningOf } from "../mathematics/rotary.js";
import { setTexts } from "../texts.js";

const FARTHEST = 200;
const MOST_DIALS = 32;
const SEED = 7;
const LAGS = Array.from({ length: 260 }, (_, k) => 10 ** (4 * k / 259));

export function paintRotary(section, state) {
  const { lag, keyAt } = state;
  const turning = turningOf({ ...state, width: state.turnWidth, base: state.turnBase });
  section.querySelector("#rotary-factor").disabled = state.scaling === "none";
  section.querySelector("#rotary-original").disabled = state.scaling !== "yarn";
  paintDials(section.querySelector("#rotary-dials"), turning.thetas.slice(0, MOST_DIALS).map((theta) => [
    { angle: (keyAt + lag) * theta, colour: "series-0" }, { angle: keyAt * theta, colour: "series-1" },
  ]), { hasWedge: true });
  const readings = paintScores(section.querySelector("#rotary-scores"), state, turning);
  paintDecay(section.querySelector("#rotary-decay"), state, turning);
  setTexts(section, {
    ...readings,
    "query-at": String(keyAt + lag), "key-at": String(keyAt),
    slowest: `${Number((2 * Math.PI / turning.thetas.at(-1)).toPrecision(3)).toLocaleString("en")} positions`,
    gain: shown(turning.size ** 2),
  });
}

// Query, key and the layout of each.
export function pairOf({ turnWidth, layout, vectors }) {
  const normal = normals(SEED);
  const vector = () => Array.from({ length: turnWidth }, () => (vectors === "ones" ? 1 : normal()));
  return {
    query: vector(), key: vector(),
    queryLayout: layout === "half-split" ? "half-split" : "interleaved",
    keyLayout: layout === "interleaved" ? "interleaved" : "half-split",
  };
}

function paintScores(svg, state, turning) {
  const { lag, keyAt, layout } = state;
  const pair = pairOf(state);
  const lags = Array.from({ length: FARTHEST + 1 }, (_, s) => s);
  const here = scores(pair, lags.map((s) => s + keyAt), keyAt, turning);
  const atZero = scores(pair, lags, 0, turning);
  const [least, most] = [Math.min(0, ...here, ...atZero), Math.max(...here, ...atZero)];
  const room = 0.06 * (most - least || 1);
  drawChart(svg, {
    height: 250,
    x: { label: "distance t₁ − t₂", lower: 0, upper: FARTHEST },
    y: { label: "score", lower: least - room, upper: most + room },
    series: [
      { xs: lags, ys: here, colour: 0 },
      { xs: lags, ys: atZero, colour: layout === "mixed" ? 1 : 0, style: "dashed" },
      { xs: [lag], ys: [here[lag]], style: "points", colour: 0 },
    ],
    rules: [{ at: lag, label: `score ${shown(here[lag])}`, isVertical: true }],
  });
  const gap = Math.abs(here[lag] - atZero[lag]);
  return {
    score: shown(here[lag]), "score-at-zero": shown(atZero[lag]),
    "score-gap": gap < 1e-9 ? `${shown(gap, 2)}${gap ? " (rounding)" : ""}` : shown(gap),
  };
}

function paintDecay(svg, { turnWidth, turnBase, scaling }, { thetas }) {
  const plain = plainFrequencies(turnWidth, turnBase);
  const floor = Math.sqrt(Math.PI * turnWidth / 2) / 2;
  const curves = [{ xs: LAGS, ys: LAGS.map((lag) => envelope(lag, thetas)), colour: 0 }];
  if (scaling !== "none") curves.push({ xs: LAGS, ys: LAGS.map((lag) => envelope(lag, plain)), colour: 5, style: "dashed" });
  drawChart(svg, {
    height: 270,
    x: { label: "distance s", lower: 1, upper: 1e4, isLog: true },
    y: { label: "envelope of the scores", lower: 0, upper: turnWidth / 2 * 1.05 },
    series: curves,
    rules: [{ at: floor, label: `random phases: ${shown(floor)}` }],
  });
}
