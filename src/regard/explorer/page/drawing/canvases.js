// Canvases at the resolution of the screen, and tables of numbers as colours on them.

import { ink, ramp } from "./colours.js";
import { sizeOf } from "./sizes.js";

// The cleared canvas's context in CSS pixels, with the width and height of its element.
export function opened(canvas) {
  const { width, height } = sizeOf(canvas);
  const sharpness = Math.min(devicePixelRatio || 1, 2);
  const [across, down] = [Math.round(width * sharpness), Math.round(height * sharpness)];
  if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
  const context = canvas.getContext("2d");
  context.setTransform(sharpness, 0, 0, sharpness, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

// Paints a table, given row by row in one array, with one pixel per number; the style sheet stretches it.
export function paintTable(canvas, values, columns, { lower, upper, kind }) {
  const rows = values.length / columns;
  if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const colours = ramp(kind);
  for (let k = 0; k < values.length; k += 1) {
    const share = (values[k] - lower) / (upper - lower);
    const [red, green, blue] = colours[Math.min(Math.max(Math.round(share * 255), 0), 255)];
    image.data.set([red, green, blue, 255], 4 * k);
  }
  context.putImageData(image, 0, 0);
}

// A strip from 0 to `count` with a mark at each of the places.
export function paintMarks(canvas, places, count) {
  const { context, width, height } = opened(canvas);
  context.fillStyle = ink("line", 0.5);
  context.fillRect(0, 0, width, height);
  context.fillStyle = ink("series-1");
  for (const place of places) context.fillRect(place / count * width, 0, Math.max(1, width / count), height);
}

// An arrow from one place to another.
export function arrow(context, [x, y], [toX, toY], { colour, width = 2, head = 9 }) {
  const angle = Math.atan2(toY - y, toX - x);
  const length = Math.hypot(toX - x, toY - y);
  const size = Math.min(head, length);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX - Math.cos(angle) * size * 0.7, toY - Math.sin(angle) * size * 0.7);
  context.stroke();
  context.beginPath();
  context.moveTo(toX, toY);
  for (const side of [-1, 1]) {
    context.lineTo(toX - size * Math.cos(angle + side * 0.42), toY - size * Math.sin(angle + side * 0.42));
  }
  context.fill();
}
