// A row of words that can be dragged, or moved with the arrow keys.

export class TokenRow {
  // `reorder` gets the new order: for each place, the index of the typed word there.
  constructor(list, reorder) {
    this.list = list;
    this.reorder = reorder;
    this.order = [];
    this.held = null;
    // The word that was last moved by hand.
    this.moved = null;
    list.addEventListener("pointerdown", (event) => this.take(event));
    list.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) list.addEventListener(name, () => this.drop());
    list.addEventListener("keydown", (event) => this.press(event));
  }

  show(words, order) {
    this.order = order;
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.word : null;
    this.list.replaceChildren(...order.map((place, k) => this.chip(words[place], place, k)));
    if (focused !== null) this.list.querySelector(`[data-word="${focused}"]`)?.focus();
  }

  chip(word, place, k) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.className = `token${place === this.held ? " held" : ""}`;
    button.dataset.word = place;
    button.textContent = word;
    button.setAttribute("aria-label", `${word}, ${k + 1} of ${this.order.length}; left and right arrows move it`);
    item.append(button);
    return item;
  }

  take(event) {
    const chip = event.target.closest(".token");
    if (!chip) return;
    this.held = Number(chip.dataset.word);
    // The list captures the pointer, because the words are recreated at every move.
    this.list.setPointerCapture(event.pointerId);
    chip.classList.add("held");
    chip.focus();
    event.preventDefault();
  }

  drag(event) {
    if (this.held === null) return;
    const over = document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".token");
    if (!over || !this.list.contains(over)) return;
    const to = this.order.indexOf(Number(over.dataset.word));
    if (this.isPast(over, to, event.clientX)) this.move(to);
  }

  // Whether the pointer is past the middle of the word under it, coming from the held one. Otherwise two words of
  // unequal width would swap back and forth.
  isPast(over, to, x) {
    const box = over.getBoundingClientRect();
    const from = this.list.querySelector(`[data-word="${this.held}"]`).getBoundingClientRect();
    if (from.top !== box.top) return true;
    const middle = box.left + box.width / 2;
    return to > this.order.indexOf(this.held) ? x > middle : x < middle;
  }

  drop() {
    this.held = null;
    this.list.querySelector(".held")?.classList.remove("held");
  }

  press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const chip = event.target.closest(".token");
    if (!step || !chip) return;
    event.preventDefault();
    this.held = Number(chip.dataset.word);
    this.move(this.order.indexOf(this.held) + step);
    this.drop();
  }

  // Moves the held word to another place; the words in between shift.
  move(to) {
    const from = this.order.indexOf(this.held);
    if (to === from || to < 0 || to >= this.order.length) return;
    const next = this.order.filter((place) => place !== this.held);
    next.splice(to, 0, this.held);
    this.moved = this.held;
    this.reorder(next);
  }
}
