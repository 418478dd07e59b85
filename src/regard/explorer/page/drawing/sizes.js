// Sizes of drawings, measured once: measuring while others are drawn would force a new layout each time.

let sizes = new WeakMap();

// Forgets all sizes, after the window or the visible part has changed.
export function forgetSizes() {
  sizes = new WeakMap();
}

// Width and height of an element in pixels.
export function sizeOf(element) {
  if (!sizes.has(element)) {
    const { width, height } = element.getBoundingClientRect();
    sizes.set(element, { width, height });
  }
  return sizes.get(element);
}
