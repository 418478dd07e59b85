// Dragging in an SVG drawing by mouse, finger or pen, or with the arrow keys.

// `move` gets the pointer's position in the drawing's own units; `keys` maps each key to the argument of `nudge`.
export function makeDraggable(svg, { start, move, end, keys, nudge }) {
  const placed = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    start?.();
    move(placed(event));
  });
  svg.addEventListener("pointermove", (event) => {
    if (svg.hasPointerCapture(event.pointerId)) move(placed(event));
  });
  for (const name of ["pointerup", "pointercancel"]) {
    svg.addEventListener(name, (event) => {
      if (svg.hasPointerCapture(event.pointerId)) svg.releasePointerCapture(event.pointerId);
      end?.();
    });
  }
  svg.addEventListener("keydown", (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    nudge(keys[event.key]);
  });
}
