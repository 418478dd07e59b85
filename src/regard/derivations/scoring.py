"""The row of each question: what became of it, and its points by a simple rule that docs/grading.md explains.

For a question worth P points, of whose steps h hold and r are refuted (neither definitions nor undecided steps count):

    with a design or a choice, and other steps    P · (½ · [none of them is refuted] + ½ · h / (h + r))
    with a design or a choice alone               P · [none of them is refuted]
    with steps only                               P · h / (h + r)
    unanswered                                    0 of P
    nothing that could be decided                 left to a person: no score, and P does not count
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from regard.derivations.context.placing import Region, answers_to
from regard.derivations.problems.problem import Problem, Question
from regard.derivations.reading.document import Document
from regard.derivations.results import DocumentReport, QuestionRow, QuestionState, StepVerdict

MAIN_KINDS = ("design", "choice")
_SCORED_KINDS = ("step", *MAIN_KINDS)
_MIN_LETTERS = 4
_NOT_A_LETTER = re.compile(r"[\W_\ufffc]")
_LEAST_FIRST: tuple[QuestionState, ...] = ("unanswered", "prose, not judged", "image, not read", "judged")


def question_rows(
    document: Document, problem: Problem, regions: Sequence[Region], verdicts: Iterable[StepVerdict]
) -> tuple[QuestionRow, ...]:
    """A row for every question of the problem, in its order."""
    by_question: dict[str | None, list[StepVerdict]] = {}
    for verdict in verdicts:
        by_question.setdefault(verdict.question, []).append(verdict)
    return tuple(
        _row(document, question, answers_to(question, regions), by_question.get(question.id, []))
        for question in problem.questions
    )


def _row(
    document: Document, question: Question, answers: Sequence[Region], verdicts: Sequence[StepVerdict]
) -> QuestionRow:
    is_judged = any(verdict.kind != "given" for verdict in verdicts)
    state = "judged" if is_judged else _state_without_steps(document, answers)
    is_excused = question.is_optional and state == "unanswered"
    row = QuestionRow(
        id=question.id,
        title=question.title,
        state=state,
        points=0.0 if is_excused else question.points,
        claims=question.claims,
    )
    return _scored(row, verdicts)


def _state_without_steps(document: Document, answers: Sequence[Region]) -> QuestionState:
    if any(region.start <= image.start < region.end for region in answers for image in document.images):
        return "image, not read"
    text = "".join(document.prose[region.body : region.end] for region in answers)
    return "prose, not judged" if len(_NOT_A_LETTER.sub("", text)) >= _MIN_LETTERS else "unanswered"


def scored_steps(verdicts: Iterable[StepVerdict]) -> list[StepVerdict]:
    """The steps that count for points: all that are refuted, and those that assert something and hold."""
    return [
        verdict
        for verdict in verdicts
        if verdict.status == "refuted" or (verdict.kind in _SCORED_KINDS and verdict.status != "undecided")
    ]


def weight_of_main(scored: Sequence[StepVerdict]) -> float:
    """The share of a question's points that depends on its designs and choices."""
    num_main = sum(verdict.kind in MAIN_KINDS for verdict in scored)
    return 0.0 if not num_main else 1.0 if num_main == len(scored) else 0.5


def _scored(row: QuestionRow, verdicts: Sequence[StepVerdict]) -> QuestionRow:
    return replace(
        row, score=_score(row, scored_steps(verdicts)), counts=dict(Counter(verdict.status for verdict in verdicts))
    )


def _score(row: QuestionRow, scored: Sequence[StepVerdict]) -> float | None:
    if row.state == "unanswered":
        return 0.0
    if not scored:
        return None
    main = [verdict.status != "refuted" for verdict in scored if verdict.kind in MAIN_KINDS]
    steps = [verdict.status != "refuted" for verdict in scored if verdict.kind not in MAIN_KINDS]
    weight = weight_of_main(scored)
    return round(row.points * (weight * all(main) + (1 - weight) * sum(steps) / max(len(steps), 1)), 2)


def merge_reports(reports: Sequence[DocumentReport], *, file: str) -> DocumentReport:
    """One report for a submission of several files: all verdicts, and for each question its best state.

    Files that could not be judged count only if none could.
    """
    seconds = sum(report.seconds for report in reports)
    judged = [report for report in reports if report.outcome == "judged"]
    if not judged:
        return replace(reports[0], file=file, seconds=seconds)
    rows: dict[str, QuestionRow] = {}
    for row in (row for report in judged for row in report.questions):
        if row.id not in rows or _LEAST_FIRST.index(row.state) > _LEAST_FIRST.index(rows[row.id].state):
            rows[row.id] = row
    merged = replace(
        judged[0],
        file=file,
        verdicts=tuple(verdict for report in judged for verdict in report.verdicts),
        seconds=seconds,
        document=None,
    )
    return replace(merged, questions=tuple(_scored(row, merged.verdicts_on(row.id)) for row in rows.values()))
