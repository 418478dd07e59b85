// The numbers and words that a part shows, each in the elements marked with its name in data-show.

const SUBSCRIPT = /_(\w)/g;

// Sets each text; x_a becomes x with the subscript a.
export function setTexts(section, texts) {
  for (const [name, text] of Object.entries(texts)) {
    for (const place of section.querySelectorAll(`[data-show="${name}"]`)) {
      if (place.dataset.text === text) continue;
      place.dataset.text = text;
      place.replaceChildren(...withSubscripts(text));
    }
  }
}

function withSubscripts(text) {
  return text.split(SUBSCRIPT).map((part, k) => {
    if (k % 2 === 0) return part;
    const sub = document.createElement("sub");
    sub.textContent = part;
    return sub;
  });
}
