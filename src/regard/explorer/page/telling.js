// Numbers and words that a part shows: each has its place, marked by data-show.

const LOWERED = /_(\w)/g;

// Puts each text into its place; x_a becomes x with a lowered a.
export function tell(section, texts) {
  for (const [name, text] of Object.entries(texts)) {
    for (const place of section.querySelectorAll(`[data-show="${name}"]`)) {
      if (place.dataset.told === text) continue;
      place.dataset.told = text;
      place.replaceChildren(...lowered(text));
    }
  }
}

function lowered(text) {
  return text.split(LOWERED).map((part, k) => {
    if (k % 2 === 0) return part;
    const sub = document.createElement("sub");
    sub.textContent = part;
    return sub;
  });
}
