from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.verdict import Place, StepVerdict
from regard.derivations.grading import grade, merged
from regard.derivations.reports import DocumentReport
from regard.derivations.sheet import QuestionRow

NUMBERS = count(1)


def step(status="holds", kind="step", question="1b") -> StepVerdict:
    number = next(NUMBERS)
    return StepVerdict(
        id=f"{question}/{number}", statement="x = y", status=status, outcome=status, reason="because", kind=kind,
        source="x = y", question=question, where=Place(file="a.md", line=number, column=1),
    )  # fmt: skip


def row(state="judged", points=4.0, name="1b") -> QuestionRow:
    return QuestionRow(id=name, title="An average", state=state, points=points, counts={}, claims=())


def graded(*verdicts: StepVerdict, state="judged", points=4.0):
    report = DocumentReport(file="a.md", problem="p", verdicts=verdicts, questions=(row(state, points),))
    [question] = grade(report).questions
    return question


@pytest.mark.parametrize(
    ("verdicts", "score"),
    [
        ([step(), step()], 4.0),
        ([step(), step("refuted")], 2.0),
        ([step(), step(), step("refuted")], 2.67),
        ([step(kind="design")], 4.0),
        ([step("refuted", "design")], 0.0),
        ([step(kind="design"), step("refuted", "design")], 0.0),
        ([step("refuted", "design"), step(), step()], 2.0),
        ([step(kind="design"), step("refuted"), step()], 3.0),
        ([step(kind="choice"), step("refuted", "choice"), step("refuted")], 0.0),
        ([step(kind="design"), step("undecided"), step(kind="definition")], 4.0),
        ([step("proved"), step("undecided")], 4.0),
    ],
)
def test_points_follow_the_rule(verdicts, score):
    assert graded(*verdicts).score == score


def test_undecided_never_costs_points_and_is_told():
    question = graded(step(), step("undecided"))
    assert question.score == question.points == question.max_score
    assert "because" in question.undecided[0]


@pytest.mark.parametrize("state", ["prose, not judged", "image, not read", "judged"])
def test_what_cannot_be_decided_is_left_to_a_person(state):
    question = graded(step("undecided"), state=state)
    assert question.score is None
    assert question.max_score == 0.0
    assert "left to a person" in question.reasons[0]


def test_an_unanswered_question_gives_none_of_its_points():
    question = graded(state="unanswered")
    assert (question.score, question.max_score, question.reasons) == (0.0, 4.0, ("unanswered",))


def test_what_is_refuted_is_told_with_its_place():
    question = graded(step("refuted"))
    assert question.num_refuted == 1
    assert any("a.md:" in reason and "because" in reason for reason in question.reasons)


STATUSES = st.sampled_from(["holds", "refuted", "undecided", "proved"])
KINDS = st.sampled_from(["step", "design", "choice", "given", "definition", "supposition"])


@given(st.lists(st.tuples(STATUSES, KINDS)))
def test_a_score_lies_between_nothing_and_all(kinds):
    question = graded(*(step(status, kind) for status, kind in kinds))
    assert question.score is None or 0.0 <= question.score <= 4.0


@given(st.lists(st.sampled_from(["holds", "refuted"]), min_size=1))
def test_an_undecided_step_more_changes_no_score(statuses):
    verdicts = [step(status) for status in statuses]
    assert graded(*verdicts, step("undecided")).score == graded(*verdicts).score


def test_files_of_one_submission_are_graded_together():
    first = DocumentReport(
        file="a", problem="p", verdicts=(step(),), questions=(row(), row("unanswered", 2.0, "2")), seconds=1.0
    )
    refuted = step("refuted", question="2")
    rows = (row("unanswered"), row("judged", 2.0, "2"))
    second = DocumentReport(file="b", problem="p", verdicts=(refuted,), questions=rows, seconds=2.0)
    whole = merged([first, DocumentReport.failed("c", "unreadable", "why"), second], file="all")
    assert [(q.id, q.state) for q in whole.questions] == [("1b", "judged"), ("2", "judged")]
    assert (grade(whole).score, grade(whole).max_score, whole.seconds) == (4.0, 6.0, 3.0)


def test_a_submission_without_a_readable_file_stays_unreadable():
    whole = merged([DocumentReport.failed("c", "unreadable", "why")], file="all")
    assert (whole.outcome, whole.file, grade(whole).score) == ("unreadable", "all", 0.0)
