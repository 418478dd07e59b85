import json

import pytest

from regard.core.verdict import Place
from regard.derivations.results import (
    STANDINGS,
    DocumentReport,
    QuestionRow,
    Role,
    StepVerdict,
    count_standings,
    worst_standing,
)


def verdict(**fields) -> StepVerdict:
    known = {"id": "1/1", "statement": "s", "status": "holds", "role": Role.ASSERTION, "source": "x = 1"}
    return StepVerdict(**known | fields)


CLAIMS = (Role.ASSERTION, Role.DESIGN, Role.CHOICE)


def test_only_assertions_designs_and_choices_claim_something():
    assert [role for role in Role if role.is_claim] == list(CLAIMS)
    assert [role.kind for role in CLAIMS] == ["step", "design", "choice"]


@pytest.mark.parametrize("role", [role for role in Role if role not in CLAIMS])
def test_what_claims_nothing_is_not_said_to_hold(role):
    assert role.kind in ("given", "definition", "supposition")
    assert verdict(role=role).standing == "given"
    assert verdict(role=role, status="undecided").standing == "undecided"
    assert verdict(role=role, status="refuted").standing == "refuted"


@pytest.mark.parametrize("role", CLAIMS)
def test_the_standing_of_a_judged_step_is_its_status(role):
    for status in ("proved", "holds", "refuted", "undecided"):
        assert verdict(role=role, status=status).standing == status


def test_counts_add_up_and_the_worst_comes_first():
    verdicts = [verdict(), verdict(status="refuted"), verdict()]
    counts = {"refuted": 1, "undecided": 0, "ignored": 0, "holds": 2, "proved": 0, "given": 0}
    assert count_standings(verdicts) == counts
    assert tuple(count_standings([])) == STANDINGS
    assert worst_standing(verdicts) == "refuted"
    assert worst_standing([]) == "given"


def test_a_report_is_the_same_after_json():
    place = Place(file="a\nb.md", line=3, column=4)
    step = verdict(assumes=("lemma",), notes=("a", "b"), value=0.1, where=place, question="1b", span=(3, 9))
    row = QuestionRow(id="1b", title="t", state="judged", points=2.0, score=1.5, counts={"holds": 1}, claims=("copy",))
    report = DocumentReport(file="a\nb.md", problem="p", verdicts=(step,), questions=(row,), seconds=0.5)
    assert DocumentReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_a_report_sums_up_its_verdicts_and_rows():
    rows = (
        QuestionRow(id="1", title="", state="judged", points=2.0, score=1.5),
        QuestionRow(id="2", title="", state="prose, not judged", points=4.0, pending=4.0),
    )
    steps = (verdict(question="1"), verdict(status="undecided", outcome="not understood"))
    report = DocumentReport(file="a.md", verdicts=steps, questions=rows)
    assert (report.score, report.pending, report.max_score, report.understood) == (1.5, 4.0, 6.0, 0.5)
    assert report.counts == {"proved": 0, "holds": 1, "refuted": 0, "undecided": 1}
    assert report.verdicts_on("1") == steps[:1]


@pytest.mark.parametrize("role", [role for role in Role if role not in CLAIMS])
def test_only_claims_count_as_understood(role):
    unread = verdict(status="undecided", outcome="not understood")
    assert DocumentReport(file="a.md", verdicts=(unread, verdict(role=role))).understood == 0.0
    assert DocumentReport(file="a.md", verdicts=(verdict(role=role),)).understood is None
    assert DocumentReport(file="a.md").understood is None


def test_a_doubtful_step_is_undecided_and_knows_it():
    step = verdict(status="undecided", outcome="doubtful")
    assert (step.standing, step.is_doubtful) == ("undecided", True)
    assert not verdict(status="undecided", outcome="after_slip").is_doubtful


def test_a_report_can_be_limited_to_a_line():
    steps = tuple(verdict(where=Place(file="a.md", line=line, column=1)) for line in (1, 2, 2))
    report = DocumentReport(file="a.md", verdicts=steps)
    assert report.on_line(2).verdicts == steps[1:]
    assert report.on_line(None) is report
    failed = DocumentReport.failed("a.md", "crashed", "why")
    assert failed.on_line(7) is failed


def test_a_file_that_could_not_be_judged_counts_no_steps():
    failed = DocumentReport.failed("a.md", "unreadable", "why")
    assert not any(failed.counts.values())
    assert failed.understood == 0.0
    assert [(step.status, step.outcome) for step in failed.verdicts] == [("undecided", "unreadable")]
