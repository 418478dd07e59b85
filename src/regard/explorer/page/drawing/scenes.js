// Scenes of part 3: the keys as arrows, and the output as a point between the values.

import { arrow, opened } from "./canvases.js";
import { ink } from "./colours.js";

const OTHERS = [205, 232, 262, 295];

// Key a lies along its mean and has length γ; b and the others have length 1.
export function paintKeys(canvas, { gamma, sigma }) {
  const { context, width, height } = opened(canvas);
  const unit = Math.min(width * 0.22, height * 0.36);
  const [x, y] = [width * 0.3, height * 0.6];
  context.fillStyle = ink("series-0", 0.1);
  context.fillRect(x + unit * (1 - 2 * sigma), y - 7, unit * 4 * sigma, 14);
  context.fillStyle = ink("series-0", 0.14);
  context.fillRect(x + unit * (1 - sigma), y - 7, unit * 2 * sigma, 14);
  for (const degrees of OTHERS) {
    const angle = degrees * Math.PI / 180;
    arrow(context, [x, y], [x + unit * 0.8 * Math.cos(angle), y - unit * 0.8 * Math.sin(angle)], { colour: ink("base", 0.7), width: 1.2, head: 6 });
  }
  arrow(context, [x, y], [x, y - unit], { colour: ink("series-1"), width: 3, head: 11 });
  arrow(context, [x, y], [x + gamma * unit, y], { colour: ink("series-0"), width: 3, head: 11 });
  named(context, "k", "b", [x + 9, y - unit - 3], "series-1");
  named(context, "k", "a", gamma < 0 ? [Math.max(x + gamma * unit - 12, 2), y - 13] : [Math.min(x + gamma * unit + 6, width - 18), y + 22], "series-0");
}

// The triangle of v_a, v_b and the mean of the others, the target ½(v_a+v_b), and the path of the output.
export function paintTriangle(canvas, { trail, colour }) {
  const { context, width, height } = opened(canvas);
  const size = Math.min(width * 0.8, (height - 52) / 0.8);
  const [left, base] = [(width - size) / 2, height - 30];
  const apex = [width / 2, base - size * 0.8];
  const placed = ([a, b]) => {
    const rest = 1 - a - b;
    return [a * left + b * (left + size) + rest * apex[0], base + rest * (apex[1] - base)];
  };
  outline(context, [[left, base], [left + size, base], apex]);
  context.beginPath();
  context.arc(width / 2, base, 8, 0, 2 * Math.PI);
  context.strokeStyle = ink("quiet");
  context.lineWidth = 1.2;
  context.setLineDash([2, 3]);
  context.stroke();
  context.setLineDash([]);
  named(context, "v", "a", [left - 8, base + 21], "ink");
  named(context, "v", "b", [left + size - 8, base + 21], "ink");
  context.textAlign = "center";
  word(context, "the others", [apex[0], apex[1] - 8], "quiet");
  context.textAlign = "start";
  paintTrail(context, trail.map(placed), colour);
}

function outline(context, corners) {
  context.beginPath();
  corners.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.strokeStyle = ink("line");
  context.lineWidth = 1.4;
  context.stroke();
}

function paintTrail(context, places, colour) {
  context.lineCap = "round";
  places.forEach(([x, y], k) => {
    if (k === 0) return;
    context.beginPath();
    context.moveTo(...places[k - 1]);
    context.lineTo(x, y);
    context.strokeStyle = ink(colour, 0.5 * k / places.length);
    context.lineWidth = 2.5;
    context.stroke();
  });
  if (!places.length) return;
  context.beginPath();
  context.arc(...places.at(-1), 7, 0, 2 * Math.PI);
  context.fillStyle = ink(colour);
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = ink("paper");
  context.stroke();
}

function word(context, text, [x, y], colour) {
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = ink(colour);
  context.fillText(text, x, y);
}

function named(context, letter, index, [x, y], colour) {
  context.fillStyle = ink(colour);
  context.font = "italic 17px Georgia, serif";
  context.fillText(letter, x, y);
  context.font = "italic 12px Georgia, serif";
  context.fillText(index, x + context.measureText(letter).width * 1.5 - 1, y + 4);
}
