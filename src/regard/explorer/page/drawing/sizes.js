// Sizes of drawings, measured once: asking while others are being drawn would lay out the page anew each time.

let sizes = new WeakMap();

// Forgets all sizes, when the window or the part shown has changed.
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
