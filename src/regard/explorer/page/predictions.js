// A question before each part: the figures appear when the reader has made a guess, or asks for them.

// Hides the rest of a part until one of the question's buttons is pressed. Then `reveal` gets the state that shows the
// answer. Returns a function that shows the figures and leaves the question open.
export function makePrediction(section, reveal) {
  const question = section.querySelector(".prediction");
  const guesses = [...question.querySelectorAll(".action")];
  const without = question.querySelector(".reveal");
  const show = () => section.classList.remove("unanswered");
  const answer = (guess, outcome) => {
    for (const other of guesses) other.setAttribute("aria-pressed", String(other === guess));
    question.querySelector(".outcome").textContent = outcome;
    question.querySelector(".reply").hidden = false;
    without.hidden = true;
    show();
    reveal(Object.fromEntries(new URLSearchParams(question.dataset.state)));
  };
  for (const guess of guesses) {
    guess.addEventListener("click", () => answer(guess, "right" in guess.dataset ? "Right." : "Not quite."));
  }
  without.addEventListener("click", () => answer(null, ""));
  section.classList.add("unanswered");
  return show;
}
