import pytest

from regard.core.verdict import StepVerdict
from regard.derivations.judged import STANDINGS, FormulaSpan, headline, notes, standing, tally, tally_in_words, worst


def verdict(**fields) -> StepVerdict:
    return StepVerdict(**{"id": "1/1", "statement": "s", "status": "holds", "kind": "step", "source": "x = 1"} | fields)


@pytest.mark.parametrize("kind", ["given", "definition", "supposition"])
def test_what_is_taken_as_given_is_not_said_to_hold(kind):
    assert standing(verdict(kind=kind)) == "given"
    assert standing(verdict(kind=kind, status="undecided")) == "undecided"
    assert standing(verdict(kind=kind, status="refuted")) == "refuted"


@pytest.mark.parametrize("kind", ["step", "design", "choice"])
def test_what_was_judged_stands_as_it_was_judged(kind):
    for status in ("proved", "holds", "refuted", "undecided"):
        assert standing(verdict(kind=kind, status=status)) == status


def test_the_reason_is_a_headline_and_notes():
    told = verdict(reason="the two sides differ", notes=("'u' is read as 'mu'", "≈ is meant"), probability=0.92144)
    assert headline(told) == "the two sides differ"
    assert notes(told) == ("'u' is read as 'mu'", "≈ is meant", "holds with probability 0.921")
    assert headline(verdict(reason=None, status="refuted")) == "the step does not hold"


def test_counts_add_up_and_the_worst_comes_first(judged):
    marks = judged("$a = 1$ $b = 2$ $c = 3$", refuted=["b = 2"], holds=["a = 1", "c = 3"]).marks
    assert sum(tally(marks).values()) == len(marks) == 3
    assert tuple(tally(marks)) == STANDINGS
    assert tally_in_words(marks) == "2 hold, 1 refuted"
    assert worst(marks) == "refuted"
    assert worst([]) == "given"


def test_offsets_must_fit_the_source():
    with pytest.raises(AssertionError):
        FormulaSpan(start=0, end=4, source="ab", is_display=False, offsets=(1,))
