// Controls and state: every named input of a part is one entry of its state; the address contains what was changed.

import { shown } from "./drawing/scales.js";

// A slider may be logarithmic (data-log="1 1000"): it then runs from 0 to 1, and data-start is its initial value.
function fromInput(input) {
  if (input.type === "checkbox") return input.checked;
  if (input.type !== "range") return input.value;
  const log = input.dataset.log?.split(" ").map(Number);
  if (!log) return Number(input.value);
  const value = log[0] * (log[1] / log[0]) ** Number(input.value);
  return "whole" in input.dataset ? Math.round(value) : Number(value.toPrecision(2));
}

function intoInput(input, value) {
  if (input.type === "checkbox") input.checked = value === true || value === "1";
  else if (input.type !== "range") input.value = value;
  else {
    const log = input.dataset.log?.split(" ").map(Number);
    input.value = log ? Math.log(value / log[0]) / Math.log(log[1] / log[0]) : value;
  }
}

// The nearest valid value of a slider of whole numbers, such as an even width.
function wholeOf({ min, step, dataset }, number) {
  if (dataset.log) return Math.round(number);
  return Number(min) + Math.round((number - min) / step) * step;
}

// The state of a part's controls. `set` also moves the controls; listeners are called whenever anything changes.
export class Panel {
  constructor(section) {
    this.groups = new Map();
    for (const input of section.querySelectorAll("[name]")) {
      this.groups.set(input.name, [...(this.groups.get(input.name) ?? []), input]);
    }
    this.places = new Map([...section.querySelectorAll("[data-value]")].map((place) => [place.dataset.value, place]));
    // The exact value that a logarithmic slider was set to, since its own steps are coarser.
    this.exact = new Map();
    this.listeners = [];
    for (const [input] of this.groups.values()) if (input.dataset.start) this.put(input, input.dataset.start);
    this.initial = this.state;
    section.addEventListener("input", ({ target }) => {
      this.exact.delete(target.name);
      if (this.groups.has(target.name)) this.changed();
    });
    this.showValues(this.initial);
  }

  get state() {
    return Object.fromEntries([...this.groups].map(([name, inputs]) => [name, this.read(name, inputs)]));
  }

  read(name, inputs) {
    if (inputs[0].type === "radio") return inputs.find((input) => input.checked)?.value;
    return this.exact.get(name) ?? fromInput(inputs[0]);
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) {
      for (const input of this.groups.get(name) ?? []) this.put(input, value);
    }
    this.changed();
  }

  put(input, value) {
    if (input.type === "radio") {
      // An unknown choice changes nothing.
      if (this.groups.get(input.name).some((choice) => choice.value === value)) input.checked = input.value === value;
      return;
    }
    if (input.type === "range") {
      const [lower, upper] = input.dataset.log?.split(" ").map(Number) ?? [Number(input.min), Number(input.max)];
      const number = Math.min(Math.max(Number(value), lower), upper);
      if (!Number.isFinite(number)) return;
      this.exact.set(input.name, "whole" in input.dataset ? wholeOf(input, number) : number);
      intoInput(input, number);
    } else intoInput(input, value);
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  changed() {
    const state = this.state;
    this.showValues(state);
    for (const listener of this.listeners) listener(state);
  }

  showValues(state) {
    for (const [name, [input]] of this.groups) {
      if (input.type !== "range" || input.shownValue === state[name]) continue;
      input.shownValue = state[name];
      const number = "whole" in input.dataset ? String(state[name]) : shown(state[name], Number(input.dataset.digits ?? 3));
      const words = number + (input.dataset.unit ?? "");
      input.setAttribute("aria-valuetext", words);
      if (this.places.has(name)) this.places.get(name).textContent = words;
      input.style.setProperty("--filled", `${100 * (input.value - input.min) / (input.max - input.min)}%`);
    }
  }

  // What differs from the initial state, for the address.
  get changes() {
    const written = (value) => (typeof value === "boolean" ? String(Number(value)) : String(value));
    const changed = Object.entries(this.state).filter(([name, value]) => value !== this.initial[name]);
    return Object.fromEntries(changed.map(([name, value]) => [name, written(value)]));
  }
}
