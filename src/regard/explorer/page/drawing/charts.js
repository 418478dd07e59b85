// Charts as SVG, in the classes of the reports' charts: lines, areas, bars and points over two axes.

import { scaleOf, tickLabel, ticksOf } from "./scales.js";
import { sizeOf } from "./sizes.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [40, 14, 28, 38];
const NARROWEST = 260;

// Draws { x, y, series, rules, height } into an SVG element. An axis is { label, lower, upper, isLog };
// a series { xs, ys, style, colour, label: { text, at, value, anchor } }, a rule { at, label, isVertical, isLow }.
// Instead of ticks, `words` may name places along x: { at, text, colour }.
export function drawChart(svg, chart) {
  // One unit of the drawing is one pixel, so that text has the same size in every figure.
  const [width, height] = [Math.max(Math.round(sizeOf(svg).width), NARROWEST), chart.height ?? 240];
  const x = scaleOf(chart.x, LEFT, width - RIGHT);
  const y = scaleOf(chart.y, height - BOTTOM, TOP);
  const parts = [grid(chart, x, y), ...(chart.rules ?? []).map((rule) => ruleLine(rule, x, y))];
  for (const series of chart.series) parts.push(marks(series, x, y));
  for (const rule of chart.rules ?? []) parts.push(ruleLabel(rule, x, y));
  for (const series of chart.series) if (series.label) parts.push(label(series, x, y));
  replaceDrawing(svg, parts.join(""), `0 0 ${width} ${height}`);
}

function grid(chart, x, y) {
  const right = x.end;
  const lines = ticksOf(y, (y.start - TOP) / 34).map((tick) =>
    `<path class="chart-grid" d="M${LEFT},${y(tick).toFixed(1)}H${right}"/>${text(LEFT - 6, y(tick) + 4, tickLabel(tick), "chart-tick", "end")}`);
  const columns = chart.words ? chart.words.map(({ at, text: words, colour }) =>
    text(x(at), y.start + 15, words, `chart-label c${colour}`, "middle")) : ticksOf(x, (right - LEFT) / 58).map((tick) =>
    `<path class="chart-grid" d="M${x(tick).toFixed(1)},${TOP}V${y.start}"/>${text(x(tick), y.start + 15, tickLabel(tick), "chart-tick", "middle")}`);
  const base = `<path class="chart-base" d="M${LEFT},${y.start}H${right}"/>`;
  const names = text(0, 11, chart.y.label, "chart-axis", "start")
    + text((LEFT + right) / 2, y.start + 31, chart.x.label, "chart-axis", "middle");
  return lines.join("") + columns.join("") + base + names;
}

function marks(series, x, y) {
  const name = `c${series.colour ?? 0}`;
  if (series.style === "points") return points(series, x, y, name);
  if (series.style === "bars") return `<path class="chart-bars ${name}" d="${bars(series, x, y)}"/>`;
  const line = path(series, x, y);
  if (!line) return "";
  const dash = series.style === "dashed" ? " dashed" : "";
  const area = series.style === "area"
    ? `<path class="chart-fill ${name}" d="${line}L${x(series.xs.at(-1)).toFixed(1)},${y.start}L${x(series.xs[0]).toFixed(1)},${y.start}Z"/>` : "";
  return `${area}<path class="chart-line ${name}${dash}" d="${line}"/>`;
}

function path({ xs, ys }, x, y) {
  let line = "";
  let isDown = false;
  for (let k = 0; k < xs.length; k += 1) {
    const at = y(Math.min(Math.max(ys[k], y.lower), y.upper));
    if (!Number.isFinite(at)) { isDown = false; continue; }
    line += `${isDown ? "L" : "M"}${x(xs[k]).toFixed(1)},${at.toFixed(1)}`;
    isDown = true;
  }
  return line;
}

// Replaces the contents of an SVG element but keeps its title; does nothing if they are the same, since layout is slow.
export function replaceDrawing(svg, inside, viewBox) {
  if (svg.drawn === inside + viewBox) return;
  svg.drawn = inside + viewBox;
  if (svg.getAttribute("viewBox") !== viewBox) svg.setAttribute("viewBox", viewBox);
  svg.innerHTML = (svg.querySelector("title")?.outerHTML ?? "") + inside;
}

// Bars have one more x than y, the edges; or every x is a pair of edges.
function bars({ xs, ys }, x, y) {
  return ys.map((value, k) => {
    const [from, to] = xs[k].length ? xs[k] : [xs[k], xs[k + 1]];
    const top = y(Math.min(Math.max(value, y.lower), y.upper));
    return `M${x(from).toFixed(1)},${y.start}V${top.toFixed(1)}H${x(to).toFixed(1)}V${y.start}Z`;
  }).join("");
}

function points({ xs, ys }, x, y, name) {
  return xs.map((at, k) => {
    const isInside = at >= x.lower && at <= x.upper && ys[k] >= y.lower && ys[k] <= y.upper;
    return isInside ? `<circle class="chart-point ${name}" cx="${x(at).toFixed(1)}" cy="${y(ys[k]).toFixed(1)}" r="4.5"/>` : "";
  }).join("");
}

function ruleLine({ at, isVertical }, x, y) {
  const scale = isVertical ? x : y;
  if (!(at >= scale.lower && at <= scale.upper)) return "";
  const place = scale(at).toFixed(1);
  return `<path class="chart-rule" d="${isVertical ? `M${place},${TOP}V${y.start}` : `M${LEFT},${place}H${x.end}`}"/>`;
}

// A rule's label is at its end, on the side with more space.
function ruleLabel({ at, label: words, isVertical, isLow }, x, y) {
  const scale = isVertical ? x : y;
  if (!words || !(at >= scale.lower && at <= scale.upper)) return "";
  const place = scale(at);
  if (!isVertical) {
    const isNearTop = place - TOP < 14;
    return text(LEFT + 5, isNearTop ? place + 13 : place - 5, words, "chart-note", "start");
  }
  const isLeft = place > (LEFT + x.end) / 2;
  return text(place + (isLeft ? -5 : 5), isLow ? y.start - 8 : TOP + 11, words, "chart-note", isLeft ? "end" : "start");
}

function label({ label: { text: words, at, value, anchor = "start" }, colour }, x, y) {
  const top = Math.min(Math.max(y(Math.min(Math.max(value, y.lower), y.upper)) - 7, TOP + 10), y.start - 5);
  return text(x(at) + (anchor === "end" ? -9 : 9), top, words, `chart-label c${colour ?? 0}`, anchor);
}

function text(x, y, words, name, anchor) {
  const safe = String(words).replace(/&/g, "&amp;").replace(/</g, "&lt;")
    .replace(/_(\w)/g, '<tspan class="chart-script" dy="3">$1</tspan><tspan dy="-3">\u200b</tspan>');
  return `<text class="${name}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${safe}</text>`;
}
