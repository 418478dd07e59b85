// Clock dials: the pairs of a code as hands, one dial per frequency.

import { opened } from "./canvases.js";
import { ink } from "./colours.js";

// Draws one dial per pair into a canvas; a pair is a list of hands { angle, colour }, in radians from the right.
export function paintDials(canvas, pairs, { hasWedge = false } = {}) {
  const { context, width, height } = opened(canvas);
  const { columns, size } = arranged(pairs.length, width, height);
  const rows = Math.ceil(pairs.length / columns);
  const [left, top] = [(width - columns * size) / 2, (height - rows * size) / 2];
  pairs.forEach((hands, place) => {
    const centre = [left + (place % columns + 0.5) * size, top + (Math.floor(place / columns) + 0.5) * size];
    paintDial(context, centre, size * 0.43, hands, hasWedge);
  });
}

// The number of columns that makes the dials largest.
function arranged(count, width, height) {
  let best = { columns: 1, size: 0 };
  for (let columns = 1; columns <= count; columns += 1) {
    const size = Math.min(width / columns, height / Math.ceil(count / columns), 120);
    if (size > best.size) best = { columns, size };
  }
  return best;
}

function paintDial(context, [x, y], radius, hands, hasWedge) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = ink("raised");
  context.fill();
  context.strokeStyle = ink("line");
  context.lineWidth = 1;
  context.stroke();
  if (hasWedge) paintWedge(context, [x, y], radius * 0.55, hands);
  const thickness = Math.max(1.2, Math.min(2.4, radius / 16));
  for (const { angle, colour } of hands) {
    const tip = [x + radius * 0.86 * Math.cos(angle), y - radius * 0.86 * Math.sin(angle)];
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(...tip);
    context.strokeStyle = context.fillStyle = ink(colour);
    context.lineWidth = thickness;
    context.lineCap = "round";
    context.stroke();
    context.beginPath();
    context.arc(...tip, thickness * 1.5, 0, 2 * Math.PI);
    context.fill();
  }
  context.beginPath();
  context.arc(x, y, thickness, 0, 2 * Math.PI);
  context.fillStyle = ink("ink");
  context.fill();
}

// The angle from the second hand to the first, the shorter way.
function paintWedge(context, [x, y], radius, [first, second]) {
  const turn = 2 * Math.PI;
  const between = ((first.angle - second.angle + Math.PI) % turn + turn) % turn - Math.PI;
  context.beginPath();
  context.moveTo(x, y);
  context.arc(x, y, radius, -second.angle, -second.angle - between, between > 0);
  context.closePath();
  context.fillStyle = ink("accent", 0.2);
  context.fill();
}
