from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.verdict import Place
from regard.derivations.context.placing import Region
from regard.derivations.judging.setting import Setting
from regard.derivations.problems.problem import Problem, Question
from regard.derivations.reading.files import read_text
from regard.derivations.results import DocumentReport, QuestionRow, Role, StepVerdict
from regard.derivations.scoring import merge_reports, question_rows

NUMBERS = count(1)
SETTING = Setting(name="s", sizes={}, fixed={}, free={}, symbols={})
QUESTION = Question(id="1b", title="An average", setting=SETTING, path=("1", "b"), points=4.0)


def step(status="holds", role=Role.ASSERTION, question="1b") -> StepVerdict:
    number = next(NUMBERS)
    return StepVerdict(
        id=f"{question}/{number}",
        statement="x = y",
        status=status,
        outcome=status,
        reason="because",
        role=role,
        source="x = y",
        question=question,
        where=Place(file="a.md", line=number, column=1),
    )


def row(state="judged", points=4.0, name="1b") -> QuestionRow:
    return QuestionRow(id=name, title="An average", state=state, points=points)


def scored(*verdicts: StepVerdict, text="word", question=QUESTION) -> QuestionRow:
    """The row of a question whose answer has this text and these verdicts."""
    problem = Problem(name="p", title="P", questions=(question,))
    document = read_text(text)
    region = Region(start=0, body=0, end=len(text), questions=(question,))
    [found] = question_rows(document, problem, [region], verdicts)
    return found


@pytest.mark.parametrize(
    ("verdicts", "score"),
    [
        ([step(), step()], 4.0),
        ([step(), step("refuted")], 2.0),
        ([step(), step(), step("refuted")], 2.67),
        ([step(role=Role.DESIGN)], 4.0),
        ([step("refuted", Role.DESIGN)], 0.0),
        ([step(role=Role.DESIGN), step("refuted", Role.DESIGN)], 0.0),
        ([step("refuted", Role.DESIGN), step(), step()], 2.0),
        ([step(role=Role.DESIGN), step("refuted"), step()], 3.0),
        ([step(role=Role.CHOICE), step("refuted", Role.CHOICE), step("refuted")], 0.0),
        ([step(role=Role.DESIGN), step("undecided"), step(role=Role.DEFINITION)], 4.0),
        ([step("proved"), step("undecided")], 4.0),
    ],
)
def test_points_follow_the_rule(verdicts, score):
    assert scored(*verdicts).score == score


def test_a_row_counts_its_steps_by_status():
    assert scored(step(), step("undecided"), step()).counts == {"holds": 2, "undecided": 1}


def test_undecided_steps_never_cost_points():
    found = scored(step(), step("undecided"))
    assert found.score == found.points == 4.0


@pytest.mark.parametrize("outcome", ["doubtful", "after_slip", "depends_on_unread"])
@pytest.mark.parametrize("role", [Role.ASSERTION, Role.DESIGN])
def test_what_only_looks_wrong_costs_no_points(outcome, role):
    open_step = replace(step("undecided", role), outcome=outcome)
    assert scored(step(), open_step).score == 4.0
    assert scored(open_step).score is None
    assert scored(step(), replace(open_step, status="refuted")).score < 4.0


@pytest.mark.parametrize(
    ("verdicts", "text", "state"),
    [
        ([step("undecided")], "word", "judged"),
        ([], "Because it is so.", "prose, not judged"),
        ([step(role=Role.GIVEN)], "Because it is so.", "prose, not judged"),
        ([], "![mine](b.png)", "image, not read"),
    ],
)
def test_an_answer_without_decided_steps_is_left_to_a_person(verdicts, text, state):
    found = scored(*verdicts, text=text)
    assert (found.state, found.score, found.points) == (state, None, 4.0)
    assert DocumentReport(file="a.md", questions=(found,)).max_score == 0.0


def test_an_unanswered_question_gives_none_of_its_points():
    found = scored(text="?")
    assert (found.state, found.score, found.points) == ("unanswered", 0.0, 4.0)


def test_an_optional_question_left_out_is_worth_nothing():
    optional = replace(QUESTION, is_optional=True)
    assert scored(text="?", question=optional).points == 0.0
    assert scored(step(), question=optional).points == 4.0


STATUSES = st.sampled_from(["holds", "refuted", "undecided", "proved"])
ROLES = st.sampled_from(list(Role))


@given(st.lists(st.tuples(STATUSES, ROLES)))
def test_a_score_lies_between_nothing_and_all(steps):
    found = scored(*(step(status, role) for status, role in steps))
    assert found.score is None or 0.0 <= found.score <= 4.0


@given(st.lists(st.sampled_from(["holds", "refuted"]), min_size=1))
def test_an_additional_undecided_step_changes_no_score(statuses):
    verdicts = [step(status) for status in statuses]
    assert scored(*verdicts, step("undecided")).score == scored(*verdicts).score


def test_files_of_one_submission_are_graded_together():
    rows = (row(), row("unanswered", 2.0, "2"))
    first = DocumentReport(file="a", problem="p", verdicts=(step(),), questions=rows, seconds=1.0)
    rows = (row("unanswered"), row("judged", 2.0, "2"))
    refuted = step("refuted", question="2")
    second = DocumentReport(file="b", problem="p", verdicts=(refuted,), questions=rows, seconds=2.0)
    whole = merge_reports([first, DocumentReport.failed("c", "unreadable", "why"), second], file="all")
    assert [(question.id, question.state, question.score) for question in whole.questions] == [
        ("1b", "judged", 4.0),
        ("2", "judged", 0.0),
    ]
    assert (whole.score, whole.max_score, whole.seconds) == (4.0, 6.0, 3.0)


def test_a_submission_without_a_readable_file_stays_unreadable():
    whole = merge_reports([DocumentReport.failed("c", "unreadable", "why")], file="all")
    assert (whole.outcome, whole.file, whole.score) == ("unreadable", "all", 0.0)
