// The first half of part 4: sinusoidal codes, how close they come to each other, and the effect of rounding.

import { paintMarks, paintTable } from "../drawing/canvases.js";
import { drawChart } from "../drawing/charts.js";
import { paintDials } from "../drawing/dials.js";
import { shown } from "../drawing/scales.js";
import { codeDistance, collisions, nearestCodes, roundedCodes, wavelengths } from "../mathematics/sinusoids.js";
import { setTexts } from "../texts.js";

const SHOWN_POSITIONS = 256;
const SHOWN_LAGS = 500;
const NAMES = {
  float64: "float64", float32: "float32", bfloat16: "bf16", float16: "fp16",
  float8_e4m3fn: "fp8 (4 bits of exponent, 3 of mantissa)", float8_e5m2: "fp8 (5 bits of exponent, 2 of mantissa)",
};

export function paintSinusoid(section, state, areCodesNew) {
  const { position, width, base } = state;
  const hands = wavelengths(width, base).map((length) => [{ angle: position / length, colour: "series-0" }]);
  paintDials(section.querySelector("#sinusoid-dials"), hands);
  section.querySelector("#sinusoid-here").style.left = `${100 * (position + 0.5) / SHOWN_POSITIONS}%`;
  setTexts(section, { position: String(position) });
  if (areCodesNew) paintCodes(section, state);
}

function paintCodes(section, state) {
  const { width, base, count, format } = state;
  const codes = roundedCodes({ count: Math.max(count, SHOWN_POSITIONS), width, base, format });
  paintTable(section.querySelector("#sinusoid-map"), transposed(codes, width), SHOWN_POSITIONS, { lower: -1, upper: 1, kind: "diverging" });
  const nearest = nearestCodes(count, width, base);
  const { rows, lost, first } = collisions(codes.subarray(0, count * width), width);
  paintMarks(section.querySelector("#sinusoid-repeats"), rows, count);
  paintDistances(section.querySelector("#sinusoid-distances"), state, nearest);
  setTexts(section, {
    "format-name": NAMES[format],
    nearest: `${nearest.lag} apart`, distance: shown(nearest.distance),
    lost: lost ? `${lost} of ${count}` : `none of ${count}`,
    last: String(count - 1), repeats: lost ? `${lost} repeat an earlier code (marked)` : "no two share a code",
    first: first ? `${first[1]} has the code of ${first[0]}` : "–",
  });
}

// The first positions as columns, the coordinates as rows.
function transposed(codes, width) {
  const table = new Float64Array(width * SHOWN_POSITIONS);
  for (let t = 0; t < SHOWN_POSITIONS; t += 1) {
    for (let j = 0; j < width; j += 1) table[j * SHOWN_POSITIONS + t] = codes[t * width + j];
  }
  return table;
}

function paintDistances(svg, { count, width, base }, nearest) {
  // Of each run of lags that is too narrow to see, only the nearest codes are shown.
  const stride = Math.ceil((count - 1) / SHOWN_LAGS);
  const [xs, ys] = [[], []];
  for (let lag = 1; lag < count; lag += stride) {
    let [at, least] = [lag, Infinity];
    for (let s = lag; s < Math.min(lag + stride, count); s += 1) {
      const distance = codeDistance(s, width, base);
      if (distance < least) [at, least] = [s, distance];
    }
    xs.push(at);
    ys.push(least);
  }
  drawChart(svg, {
    height: 270,
    x: { label: "lag s", lower: 0, upper: count },
    y: { label: "distance between codes s apart", lower: 0, upper: 1.08 * Math.max(...ys) },
    series: [
      { xs, ys, colour: 0 },
      { xs: [nearest.lag], ys: [nearest.distance], style: "points", colour: 1, label: {
        text: `${nearest.lag} apart: ${shown(nearest.distance)}`, at: nearest.lag, value: nearest.distance,
        anchor: nearest.lag > count / 2 ? "end" : "start",
      } },
    ],
  });
}
