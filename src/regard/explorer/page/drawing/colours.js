// The theme's colours as numbers, for canvases: a CSS variable has no value until it is applied.

let cache = new Map();

// Forgets the colours of the last theme.
export function forgetColours() {
  cache = new Map();
}

// The colour of a variable, as [red, green, blue].
export function colour(name) {
  if (!cache.has(name)) {
    const probe = document.createElement("span");
    probe.className = "chart unseen";
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    cache.set(name, getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number));
    probe.remove();
  }
  return cache.get(name);
}

// The colour in the form that a canvas accepts.
export function ink(name, opacity = 1) {
  return `rgb(${colour(name).join(" ")} / ${opacity})`;
}

const DIVERGING = ["minus", "minus-half", "zero", "plus-half", "plus"];
const SEQUENTIAL = ["low", "middle", "high"];

// 256 colours from one end of a scale to the other; a diverging scale has 0 in the middle.
export function ramp(kind) {
  const key = `ramp ${kind}`;
  if (!cache.has(key)) {
    const stops = (kind === "diverging" ? DIVERGING : SEQUENTIAL).map(colour);
    cache.set(key, Array.from({ length: 256 }, (_, k) => {
      const place = k / 255 * (stops.length - 1);
      const low = Math.min(Math.floor(place), stops.length - 2);
      return stops[low].map((x, part) => x + (place - low) * (stops[low + 1][part] - x));
    }));
  }
  return cache.get(key);
}
