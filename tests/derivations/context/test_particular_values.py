"""Particular values hold where the text gives them: in a sentence, in the list it leads, later in its paragraph."""

import pytest

from derivations.passages import DESIGN, judged, last

TWO = r"\begin{bmatrix} 0 & 1 \\ 1 & 0 \end{bmatrix}"


def test_values_before_a_colon_hold_for_every_item_of_the_list():
    items = [r"$\alpha_a = \frac{e^5}{2e^5 + 8}$", r"$\alpha_i = \frac{1}{2e^5 + 8}$", r"$\|q\| = 5\sqrt 2$"]
    text = "Check, for $n = 10$, $\\beta = 5$:\n\n" + "\n".join(f"- {item}" for item in items)
    assert [step.status for step in judged("1b", DESIGN, text)][3:] == ["holds"] * 3
    assert last("1b", DESIGN, text.replace(r"5\sqrt 2", r"4\sqrt 2")).status == "refuted"
    assert last("1b", DESIGN, *(f"- {item}" for item in items)).outcome == "doubtful"


def test_a_condition_before_a_colon_holds_for_every_item_of_the_list():
    text = "Suppose the keys were longer:\n- $k_a^\\top k_a = 2$\n- $k_b^\\top k_b = 2$"
    assert [step.outcome for step in judged("1b", text)] == ["supposition"] * 2


def test_values_hold_for_the_sentences_after_theirs():
    text = r"Let $n = 10$ and $\beta = 1$. The weight is small. $\alpha_a = \frac{e}{2e + 8}$."
    assert last("1b", DESIGN, text).status == "holds"
    assert last("1b", DESIGN, text.replace("+ 8", "+ 9")).status == "refuted"
    assert last("1b", DESIGN, text.replace(". $", ".\n\n$")).outcome == "doubtful"


def test_a_later_value_takes_the_place_of_an_earlier_one():
    text = r"With $n = 10$, $\beta = 5$ all is well. With $n = 100$, $\beta = 5$: $\alpha_a = \frac{e^5}{2e^5 + 98}$."
    assert last("1b", DESIGN, text).status == "holds"
    assert last("1b", DESIGN, text.replace("98", "100")).status == "refuted"


def test_a_size_that_is_too_large_to_be_tried_refutes_nothing():
    step = last("1b", DESIGN, r"For $n = 5000$, $\beta = 5$: $\alpha_a = \frac{e^5}{2e^5 + 4998}$.")
    assert (step.status, "too large" in (step.reason or "")) == ("undecided", True)


def test_a_scale_may_be_given_by_the_sizes():
    text = r"At $\beta = \log(n - 2)$ I get $\alpha_a = \frac13$."
    assert [step.status for step in judged("1b", DESIGN, text)] == ["holds"] * 3
    assert last("1b", DESIGN, text.replace("13", "14")).status == "refuted"


def test_a_matrix_may_be_given_entry_by_entry():
    one, other = r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}", r"\begin{bmatrix} 2 \\ 1 \end{bmatrix}"
    text = f"Check with $P = {TWO}$: $P {one} = {other}$."
    steps = judged("2a.i", text)
    assert [(step.kind, step.status) for step in steps] == [("supposition", "holds"), ("step", "holds")]
    assert last("2a.i", text.replace(other, one)).status == "refuted"
    assert last("2a.i", "$P = I$").outcome == "doubtful"


def test_a_query_that_is_spelt_out_serves_particular_keys_only():
    keys = r"Let $k_a = \begin{bmatrix} 1 \\ 0 \end{bmatrix}$ and $k_b = \begin{bmatrix} 0 \\ 1 \end{bmatrix}$."
    query = r"Then $q = \begin{bmatrix} \beta \\ \beta \end{bmatrix}$."
    steps = judged("1b", DESIGN, keys, query, r"$k_a^\top q = \beta$")
    assert [step.kind for step in steps] == ["design", *["supposition"] * 3, "step"]
    assert {step.status for step in steps} == {"holds"}


@pytest.mark.parametrize(
    "text",
    [
        r"As $\beta \to -\infty$ we get $\alpha_a \to 0$.",
        r"For fixed β and $n \to \infty$, $\alpha_a \to 0$.",
        r"$\lim_{\beta \to 0} \alpha_a = \frac1n$",
        r"$\alpha_a \xrightarrow{n \to \infty} 0$",
    ],
)
def test_another_regime_than_the_problems_is_left_open(text):
    assert last("1b", DESIGN, text).status == "undecided"
    other = text.replace(r"\to -", r"\to ").replace(r"\beta \to 0", r"\beta \to \infty").replace("n ", r"\beta ")
    assert last("1b", DESIGN, other).outcome == "doubtful"


def test_a_scale_that_vanishes_is_put_in():
    assert last("1b", DESIGN, r"As $\beta \to 0$, $\alpha_a \to \frac1n$.").status == "holds"
    assert last("1b", DESIGN, r"As $\beta \to 0$, $\alpha_a \to \frac{1}{n - 1}$.").status == "refuted"
    assert last("1b", DESIGN, r"As $\beta \to 0$, $\alpha_a \to \frac13$.").outcome == "doubtful"  # true for n = 3 only
    assert last("1b", DESIGN, r"As $\beta \to \infty$, $\alpha_a \to 1$.").status == "refuted"


def test_a_printed_number_may_stand_on_either_side():
    steps = judged("2b.ii", r"$710 \approx 113 \cdot 2\pi$", r"$2\pi \approx 6.28$")
    assert [step.status for step in steps] == ["holds"] * 2
    assert last("2b.ii", r"$700 \approx 113 \cdot 2\pi \cdot 3$").status == "refuted"


def test_a_size_that_is_twice_another_sets_that_one_too():
    claim = r"The norm is constant, $\|\Phi_t\|^2 = 2$."
    assert last("2b.i", f"Take $d = 4$. {claim}").status == "holds"
    assert last("2b.i", f"Take $d = 6$. {claim}").status == "refuted"
