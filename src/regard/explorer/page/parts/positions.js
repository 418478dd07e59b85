// Part 5, position codes: sinusoidal codes as hands and colours, and rotary scores that depend only on distance.

import { paintRotary } from "./rotary.js";
import { paintSinusoid } from "./sinusoid.js";

const TURNING = ["lag", "keyAt", "turnWidth", "turnBase", "layout", "vectors", "scaling", "factor", "original"];

export function makePositions(section, panel) {
  let before = {};
  addEventListener("resize", () => { before = {}; });
  return {
    start() {
      const { changes } = panel;
      // A link to a rotary state leads to the rotary half.
      if (TURNING.some((name) => name in changes)) section.querySelector("#rotary-title").scrollIntoView();
    },
    paint(state) {
      const theme = getComputedStyle(document.documentElement).colorScheme + matchMedia("(prefers-color-scheme: dark)").matches;
      const changed = (names) => before.theme !== theme || names.some((name) => before[name] !== state[name]);
      const others = Object.keys(state).filter((name) => !TURNING.includes(name));
      if (changed(others)) paintSinusoid(section, state, changed(others.filter((name) => name !== "position")));
      if (changed(TURNING)) paintRotary(section, state);
      before = { ...state, theme };
    },
  };
}
