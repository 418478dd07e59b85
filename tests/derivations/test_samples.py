"""Three answer sheets as people hand them in, and what must come out of them."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from derivations.labelled import sheets_of
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import read_text
from regard.derivations.results import DocumentReport, StepVerdict
from regard.derivations.verify import judge_document

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"the sample answers are not on this machine ({SAMPLES})")


@cache
def sheets() -> tuple[DocumentReport, ...]:
    return sheets_of([SAMPLES / f"answers-{number}.md" for number in (1, 2, 3)])


def sheet(number: int) -> DocumentReport:
    return sheets()[number - 1]


def refuted(number: int) -> list[StepVerdict]:
    return [verdict for verdict in sheet(number).verdicts if verdict.status == "refuted"]


def steps_with(number: int, *parts: str) -> list[StepVerdict]:
    squeezed = ((verdict, "".join(verdict.statement.split())) for verdict in sheet(number).verdicts)
    return [verdict for verdict, statement in squeezed if all(part in statement for part in parts)]


def row(number: int, question: str) -> str:
    return next(row.state for row in sheet(number).questions if row.id == question)


@pytest.mark.parametrize("number", [1, 2])
def test_nothing_is_refuted_in_the_first_two(number):
    assert refuted(number) == []


@pytest.mark.parametrize("number", [1, 2, 3])
def test_nearly_everything_is_understood(number):
    assert sheet(number).understood > 0.96


def test_the_designs_of_the_first_reach_their_goals():
    designs = [verdict for verdict in sheet(1).verdicts if verdict.kind == "design"]
    assert {verdict.question for verdict in designs} >= {"1b", "1c.i", "1d.i"}
    assert all(verdict.status == "holds" and "Reaches the goal" in verdict.reason for verdict in designs)


def test_the_chains_of_the_first_hold():
    statuses = Counter((verdict.question, verdict.status) for verdict in sheet(1).verdicts)
    assert statuses["2a.i", "holds"] >= 5
    assert statuses["2a.i", "undecided"] == 0


def test_the_second_reads_means_as_keys_and_says_so():
    designs = [verdict for verdict in sheet(2).verdicts if verdict.kind == "design" and verdict.question == "1b"]
    assert designs
    assert designs[0].status == "holds"
    assert any("is read as 'k_" in note for note in designs[0].notes)


def test_the_third_lacks_a_scale():
    for question in ("1b", "1c.i"):
        (design,) = (verdict for verdict in refuted(3) if verdict.question == question)
        assert design.kind == "design"
        assert "Missing a scale factor" in design.reason
        assert design.counterexample == "at n = 10: each of the two weights is 0.2023, not 0.5"


def test_the_third_takes_permuted_attention_for_the_unpermuted():
    (step,) = (verdict for verdict in steps_with(3, "H=", "Q_1K_1^") if verdict.statement.startswith("H ="))
    assert (step.status, step.outcome) == ("refuted", "refuted")
    assert "it would be right with a factor P" in step.notes


def test_the_third_takes_a_product_and_the_ones_for_the_identity():
    (product,), (ones,) = steps_with(3, "X_pX=I"), steps_with(3, r"\mathbf{1}=I")
    assert (product.status, product.outcome) == ("undecided", "doubtful")
    assert (ones.status, ones.outcome) == ("refuted", "ill-shaped")


def test_the_third_uses_one_name_for_two_things_and_is_told():
    notes = {note for verdict in sheet(3).verdicts for note in verdict.notes}
    assert "'X_p' is read as 'X_perm'" in notes
    assert "'X_p' is read as P here, though it also stands for X_perm" in notes


def test_codes_that_repeat_are_refuted_by_the_claim():
    (choice,) = (verdict for verdict in refuted(3) if verdict.kind == "choice")
    assert choice.question == "2b.ii"
    assert choice.notes == ("see the claim sinusoid-unique",)


def test_nothing_else_is_refuted_in_the_third():
    assert len(refuted(3)) == 5


def test_the_rotary_chain_of_the_third_holds():
    steps = [verdict for verdict in sheet(3).verdicts if verdict.question == "3g.ii"]
    assert len(steps) > 10
    assert {verdict.status for verdict in steps} == {"holds"}


def test_rows_of_the_third_say_what_was_answered():
    assert row(3, "1c.ii") == "unanswered"
    assert row(3, "3g.i") == "image, not read"
    assert row(3, "2a.ii") == "prose, not judged"
    assert row(3, "2b.ii") == row(3, "2a.i") == "judged"


def test_a_slip_planted_in_the_first_is_refuted():
    """Paired with the tests above: the same sheet with a lost scale is not left alone."""
    text = (SAMPLES / "answers-1.md").read_text(encoding="utf-8")
    first, second = text.index("(b)"), text.index("(c)")
    unscaled = text[first:second].replace(r"\beta", "").replace("β", "")
    verdicts = judge_document(read_text(unscaled), load_problem("cs224n-a4")).verdicts
    assert any(verdict.kind == "design" and verdict.status == "refuted" for verdict in verdicts)
