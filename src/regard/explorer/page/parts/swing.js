// Part 3, one head swings and two are steady: a random key, live, with histograms over the exact densities.

import { drawChart } from "../drawing/charts.js";
import { shown } from "../drawing/scales.js";
import { paintKeys, paintTriangle } from "../drawing/scenes.js";
import { binChance, coefficientAtoms, coefficientDensity, output, outputMoments, weightOfA } from "../mathematics/random_keys.js";
import { normalTail } from "../mathematics/normal.js";
import { normals } from "../mathematics/randomness.js";
import { Tally } from "../mathematics/tally.js";
import { setTexts } from "../texts.js";

const NUM_BINS = 40;
const DRAWS_PER_FRAME = 40;
const MOST_DRAWS = 1_000_000;
const TRAIL = 70;
// Seconds until the visible length is nearly independent of where it was.
const MEMORY = 0.45;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export function makeSwing(section, panel) {
  const show = { section, canvas: (name) => section.querySelector(`#swing-${name}`) };
  const button = section.querySelector("#swing-run");
  let isRunning = !STILL.matches;
  let frame = 0;
  let run = null;

  const label = () => { button.textContent = isRunning ? "Pause" : "Run"; button.setAttribute("aria-pressed", String(isRunning)); };
  const step = (time) => {
    run.advance(time);
    run.show(show);
    frame = isRunning ? requestAnimationFrame(step) : 0;
  };
  const start = () => { cancelAnimationFrame(frame); frame = isRunning ? requestAnimationFrame(step) : 0; label(); };
  button.addEventListener("click", () => { isRunning = !isRunning; start(); run.show(show, true); });
  section.querySelector("#swing-draw").addEventListener("click", () => { run.draw(1000); run.turn(1); run.show(show, true); });
  STILL.addEventListener("change", () => { isRunning = !STILL.matches; start(); });
  return {
    start,
    stop: () => cancelAnimationFrame(frame),
    paint(state) {
      if (!run?.isOf(state)) {
        run = new Run(state);
        if (!isRunning) run.draw(1000);
      }
      run.showExact(section);
      run.show(show, true);
    },
  };
}

// One running setting: the visible length, and the tallies and trails of the two designs.
class Run {
  constructor(state) {
    const { n, beta, sigma2, isPositive, isNormalized, other } = state;
    const shared = { n, beta, sigma2, isPositive, isNormalized };
    this.key = JSON.stringify(state);
    this.sigma = Math.sqrt(sigma2);
    this.isPositive = isPositive;
    this.isNormalized = isNormalized;
    this.settings = [{ ...shared, design: "one" }, { ...shared, design: other }];
    this.exact = this.settings.map(outputMoments);
    this.tallies = this.settings.map(() => new Tally(NUM_BINS));
    this.trails = this.settings.map(() => []);
    this.normal = normals(Date.now());
    this.x = 0.4;
    this.time = null;
    this.frames = 0;
  }

  isOf(state) {
    return this.key === JSON.stringify(state);
  }

  // γ, or its sign where keys are normalised.
  get gamma() {
    const gamma = 1 + this.sigma * this.x;
    return this.isNormalized ? Math.sign(gamma) : gamma;
  }

  advance(time) {
    this.turn(Math.min((time - (this.time ?? time)) / 1000, 0.05));
    this.time = time;
    if (this.tallies[0].count < MOST_DRAWS) this.draw(DRAWS_PER_FRAME);
  }

  // The visible length is a smooth random walk with the distribution of γ.
  turn(seconds) {
    const kept = Math.exp(-seconds / MEMORY);
    this.x = this.x * kept + Math.sqrt(1 - kept * kept) * this.normal();
    if (this.isPositive && 1 + this.sigma * this.x < 0) this.x = -2 / this.sigma - this.x;
    this.settings.forEach((setting, k) => {
      const [a, b] = output(weightOfA(this.gamma, setting), setting);
      this.trails[k].push([a, b]);
      if (this.trails[k].length > TRAIL) this.trails[k].shift();
    });
  }

  draw(count) {
    for (let k = 0; k < count; k += 1) {
      let gamma = 1 + this.sigma * this.normal();
      while (this.isPositive && gamma <= 0) gamma = 1 + this.sigma * this.normal();
      if (this.isNormalized) gamma = Math.sign(gamma);
      this.settings.forEach((setting, place) => this.tallies[place].add(output(weightOfA(gamma, setting), setting)[0]));
    }
  }

  show({ section, canvas }, isWhole = false) {
    this.frames += 1;
    const { beta } = this.settings[0];
    paintKeys(canvas("keys"), { gamma: this.gamma, sigma: this.sigma });
    paintTriangle(canvas("one"), { trail: this.trails[0], colour: "series-0", beta });
    paintTriangle(canvas("other"), { trail: this.trails[1], colour: "series-1", beta });
    // Numbers and bars that change in every frame are unreadable and too slow to paint.
    if (!isWhole && this.frames % 6) return;
    this.paintHistogram(canvas("one-histogram"), 0);
    this.paintHistogram(canvas("other-histogram"), 1);
    this.showMeasured(section);
  }

  paintHistogram(svg, place) {
    const setting = this.settings[place];
    const edges = Array.from({ length: NUM_BINS + 1 }, (_, k) => k / NUM_BINS);
    this.peaks ??= this.settings.map((one) => peak(one, edges));
    drawChart(svg, {
      height: 218,
      x: { label: "v_a's share of the output", lower: 0, upper: 1 },
      y: { label: "density", lower: 0, upper: this.peaks[place] },
      series: [
        { xs: edges, ys: this.tallies[place].densities, style: "bars", colour: place },
        exactSeries(setting, place),
      ],
      rules: [{ at: 0.5, label: "½", isVertical: true }],
    });
  }

  showExact(section) {
    const [one, other] = this.exact;
    const isTwo = this.settings[1].design === "two";
    const name = isTwo ? "two heads" : "identical heads";
    setTexts(section, {
      "one-exact": shown(one.variance), "other-exact": shown(other.variance),
      "ratio-exact": one.variance === 0 && other.variance === 0 ? "both are constant" : shown(one.variance / other.variance),
      "one-error": shown(one.error), "other-error": shown(other.error),
      "other-name": isTwo ? "Two heads" : "Identical heads",
      "other-queries": isTwo ? "q_1 = βμ_a, q_2 = βμ_b" : "q_1 = q_2 = β(μ_a+μ_b)",
      "other-label": `the same, ${name}`, "error-label": `the same, ${name}`,
      backwards: this.isPositive ? "0 (given)" : shown(normalTail(1 / this.sigma)),
    });
  }

  showMeasured(section) {
    const [one, other] = this.tallies;
    setTexts(section, {
      gamma: this.gamma.toFixed(2).replace("-", "−"),
      draws: one.count.toLocaleString("en"),
      "one-measured": `measured ${shown(one.variance)}`, "other-measured": `measured ${shown(other.variance)}`,
      "ratio-measured": other.variance > 0 ? `measured ${shown(one.variance / other.variance)}` : "measured –",
    });
  }
}

// The height that the tallest bar reaches in the long run, and a little more.
function peak(setting, edges) {
  if (setting.isNormalized) return 1.1 * NUM_BINS;
  return 1.15 * Math.max(...edges.slice(1).map((edge, k) => binChance(edges[k], edge, setting))) * NUM_BINS;
}

function exactSeries(setting, place) {
  if (setting.isNormalized) {
    const atoms = coefficientAtoms(setting).filter(({ chance }) => chance > 0);
    return { xs: atoms.map(({ at }) => at), ys: atoms.map(({ chance }) => chance * NUM_BINS), style: "points", colour: place };
  }
  const xs = Array.from({ length: 399 }, (_, k) => (k + 1) / 400);
  return { xs, ys: xs.map((x) => coefficientDensity(x, setting)), colour: place };
}
