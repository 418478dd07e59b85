"""What a document takes back, or only tries out, is no claim and does not replace what it goes on with."""

import pytest

from derivations.passages import DESIGN, PROBLEM, judged, last
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

SHORT = r"$q = k_a + k_b$"
SCORE = r"$k_a^\top q = \beta$"


def test_what_is_struck_out_is_no_claim():
    assert last("1b", f"~~I wrote {SHORT} at first.~~").status == "undecided"
    assert last("1b", f"<del>{SHORT}</del>").status == "undecided"
    assert last("1b", f"I wrote {SHORT} at last.").status == "refuted"


@pytest.mark.parametrize(
    "aside",
    [
        f"If one took {SHORT}, the weights would be small.",
        f"First attempt: {SHORT}. This is wrong.",
        f"~~{SHORT}~~",
        f"In my draft I had {SHORT}.",
    ],
)
def test_the_design_stays_what_it_was(aside):
    for passages in ((DESIGN, aside, SCORE), (aside, DESIGN, SCORE)):
        steps = judged("1b", *passages)
        assert [step.status for step in steps if step.statement == SHORT.strip("$")] == ["undecided"]
        assert steps[-1].status == "holds"
        assert judged("1b", *passages, r"$k_a^\top q = 2\beta$")[-1].status == "refuted"


def test_a_query_that_is_tried_out_counts_to_the_end_of_its_paragraph():
    aside = rf"If one took {SHORT}, then $\alpha_a = \frac{{e}}{{2e + n - 2}}$ and {SCORE}."
    assert [step.status for step in judged("1b", DESIGN, aside)][-2:] == ["holds", "undecided"]
    assert last("1b", DESIGN, f"If one took {SHORT}, it would fail. But {SCORE}.").status == "holds"
    assert last("1b", DESIGN, aside, r"$\alpha_a = \frac{e}{2e + n - 2}$").outcome == "doubtful"
    assert last("1b", DESIGN, aside, r"$\alpha_a = \frac{e^\beta}{2e^\beta + n}$").status == "refuted"


@pytest.mark.parametrize("text", [f"If we choose {SHORT}, it works.", f"当 {SHORT} 时，两个权重相等。"])
def test_the_only_design_is_a_claim_also_under_a_condition(text):
    assert last("1b", text).status == "refuted"


def test_what_follows_from_a_supposed_query_is_judged_with_it():
    supposed = f"If we choose {SHORT}, then "
    assert last("1b", supposed + r"$\alpha_a = \frac{e}{2e + n - 2}$.").status == "holds"
    assert last("1b", supposed + r"$\alpha_a = \frac{e^2}{2e + n - 2}$.").status == "refuted"


def test_the_problems_own_query_is_not_put_in_the_place_of_the_supposed_one():
    assert last("1b", f"If we choose {SHORT}, then $c \\approx \\frac12(v_a + v_b)$.").status != "holds"


def test_an_example_does_not_replace_the_query_of_the_question():
    steps = judged("1a", r"Check with $q = 5k_j$: $k_j^\top q = 5$.", r"$c \approx v_j$")
    assert [step.status for step in steps] == ["holds"] * 3


def test_a_query_that_does_not_suffice_is_left_again():
    steps = judged("1a", r"It does not suffice to take $q = k_j$, for then $\|q\| = \|k_j\|$.", "$c = v_j$")
    assert [step.status for step in steps] == ["holds"] * 3
    assert last("1a", r"I take $q = k_j$.", "$c = v_j$").outcome == "doubtful"


def test_the_query_that_the_problem_gives_takes_the_place_of_a_slip():
    text = (
        "1.(c)\n\ni. I take $q = \\frac12(\\mu_a + \\mu_b)$.\n\n"
        "ii. Now $q = \\beta(\\mu_a + \\mu_b)$, $k_a^\\top q \\approx \\gamma\\beta$, $k_b^\\top q \\approx 2\\beta$.\n"
    )
    statuses = [step.status for step in judge_document(read_text(text), PROBLEM).verdicts]
    assert statuses == ["refuted", "holds", "holds", "refuted"]


def test_a_condition_on_a_random_number_is_no_regime():
    query = r"Now $q = \mu_a + \mu_b$."
    assert last("1c.ii", query, r"When $\gamma$ is large, $c \approx v_a$.").outcome == "supposition"
    assert last("1c.ii", query, r"When $\beta$ is large, $c \approx v_a$.").outcome == "doubtful"
    assert last("1c.ii", query, r"When $\beta$ is large, $k_b^\top q \approx 2$.").status == "refuted"


def test_a_conjunction_before_a_condition_opens_no_thought_experiment():
    wrong = r"$k_a^\top q = 2\beta$"
    assert last("1b", DESIGN, f"Se tiene {wrong}, y si hace falta se ve en el dibujo.").status == "refuted"
    assert last("1b", DESIGN, f"¿Y si quitamos una clave? Entonces {wrong}.").status == "undecided"
