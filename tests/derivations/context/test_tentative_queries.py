"""What a document takes back, or only tries out, is no claim and does not replace what it goes on with."""

import pytest
from regard.derivations.context.surroundings import Surroundings, is_denied, is_supposed

from derivations.passages import DESIGN, PROBLEM, judged, last
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

SHORT = r"$q = k_a + k_b$"
SCORE = r"$k_a^\top q = \beta$"


@pytest.mark.parametrize(
    ("before", "after", "following"),
    [
        ("It isn't true that ", ".", ""),
        ("It is wrong to say that ", ".", ""),
        ("One shouldn't believe that ", ".", ""),
        ("Attention, il est faux de dire que ", " suffit.", ""),
        ("注意并不是说 ", " 精确成立", ""),
        ("I had claimed ", " for all samples; that's false.", ""),
        ("In the draft I had ", ", too short.", ""),
        ("I first wrote ", ".", ""),
        ("Draft: ", ".", " No! It should be longer."),
        ("First attempt: ", ".", " This is wrong: it is short."),
        ("", ", which makes no sense.", ""),
        ("It does not suffice to take ", ".", ""),
        ("It isn't enough to simply use ", ".", ""),
        ("My first idea was ", ", which fails.", ""),
        ("The line ", " was wrong, it is shorter.", ""),
        ("Version 1 (rejected): ", ".", ""),
        ("Scratch work: ", ".", ""),
        ("A common error: ", ".", ""),
        ("一开始我写的是 ", "。", ""),
        ("先试 ", "，后来发现不对。", ""),
        ("误：", "。", ""),
        ("所以不再有 ", "。", ""),
    ],
)
def test_words_that_take_a_formula_back(before, after, following):
    assert is_denied(Surroundings(before=before, after=after, following=following))


@pytest.mark.parametrize(
    ("before", "after", "following"),
    [
        ("It is true that ", ".", ""),
        ("I have claimed ", ".", ""),
        ("First attempt: ", ".", " This is right."),
        ("Then ", " holds.", " This is wrong for others."),
        ("Then ", ".", "\n\nNo! That was another question."),
        ("We had better say ", ".", ""),
        ("It suffices to take ", ".", ""),
        ("Ignoring the noise, ", ".", ""),
        ("一开始取 ", "，这就够了。", ""),
    ],
)
def test_words_that_do_not(before, after, following):
    assert not is_denied(Surroundings(before=before, after=after, following=following))


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
    assert [step.status for step in judged("1b", DESIGN, aside)][-2:] == ["holds", "holds"]
    assert last("1b", DESIGN, aside, r"$\alpha_a = \frac{e}{2e + n - 2}$").status == "refuted"


def test_the_only_design_is_a_claim_also_under_a_condition():
    assert last("1b", f"If we choose {SHORT}, it works.").status == "refuted"


def test_an_example_does_not_replace_the_query_of_the_question():
    steps = judged("1a", r"Check with $q = 5k_j$: $k_j^\top q = 5$.", r"$c \approx v_j$")
    assert [step.status for step in steps] == ["holds"] * 3


def test_where_begins_a_clause_of_its_own():
    assert not is_supposed(Surroundings(before="It sits there if the score is large, where "))
    assert is_supposed(Surroundings(before="In samples where it is large, if "))


def test_a_query_that_does_not_suffice_is_left_again():
    steps = judged("1a", r"It does not suffice to take $q = k_j$, for then $\|q\| = \|k_j\|$.", "$c = v_j$")
    assert [step.status for step in steps] == ["holds"] * 3
    assert last("1a", r"I take $q = k_j$.", "$c = v_j$").status == "refuted"


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
    assert last("1c.ii", query, r"When $\beta$ is large, $c \approx v_a$.").status == "refuted"
