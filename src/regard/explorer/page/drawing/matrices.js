// Small tables of numbers as coloured cells, with a word for each row and column.

import { replaceDrawing } from "./charts.js";

const SIZE = 220;
const LETTER = 6.6;

// Draws the table, with a frame around the row `marked`; colours are the classes s0…s20 (from low to high) or d0…d20 (around zero) of the charts.
export function paintMatrix(svg, table, words, { kind, lower, upper, marked = -1 }) {
  const named = words.map((word) => (word.length > 7 ? `${word.slice(0, 6)}…` : word));
  const margin = 10 + LETTER * Math.max(...named.map((word) => word.length));
  const side = (SIZE - margin) / table.length;
  const cells = table.flatMap((row, i) => row.map((x, j) => {
    const shade = Math.round(20 * Math.min(Math.max((x - lower) / (upper - lower), 0), 1));
    const [left, top] = [margin + j * side, margin + i * side];
    return `<rect class="cell ${kind}${shade}" x="${left.toFixed(1)}" y="${top.toFixed(1)}" width="${side.toFixed(1)}" height="${side.toFixed(1)}" rx="2"/>`;
  }));
  const rows = named.map((word, i) => text(margin - 6, margin + (i + 0.5) * side + 4, word, "end"));
  const columns = named.map((word, j) => {
    const [x, y] = [margin + (j + 0.5) * side + 4, margin - 6];
    return text(x, y, word, "start", `rotate(-90 ${x.toFixed(1)} ${y})`);
  });
  const frame = marked < 0 ? "" : `<rect class="marked-row" x="${margin.toFixed(1)}" y="${(margin + marked * side).toFixed(1)}" width="${(SIZE - margin - 1).toFixed(1)}" height="${side.toFixed(1)}" rx="2"/>`;
  replaceDrawing(svg, [...cells, frame, ...rows, ...columns].join(""), `0 0 ${SIZE} ${SIZE}`);
}

function text(x, y, words, anchor, transform = "") {
  const safe = words.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const turn = transform && ` transform="${transform}"`;
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}"${turn}>${safe}</text>`;
}
