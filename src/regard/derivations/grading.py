"""Points for a judged file: a simple rule with reasons, explained in docs/grading.md.

For a question worth P points, of whose steps h hold and r are refuted (neither definitions nor undecided steps count):

    with a design or a choice, and other steps    P · (½ · [none of them is refuted] + ½ · h / (h + r))
    with a design or a choice alone               P · [none of them is refuted]
    with steps only                               P · h / (h + r)
    unanswered                                    0 of P
    nothing that could be decided                 left to a person: no points, and P is not counted
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from regard.core.verdict import StepVerdict
from regard.derivations.gradebook import Grade, QuestionGrade
from regard.derivations.reports import DocumentReport
from regard.derivations.sheet import QuestionRow

_MAIN = ("design", "choice")
_COUNTED = ("step", *_MAIN)
_LEFT_TO_A_PERSON = {
    "prose, not judged": "an answer in words: left to a person",
    "image, not read": "an answer in a picture: left to a person",
    "judged": "no step could be decided: left to a person",
}
_RANK = ("unanswered", "prose, not judged", "image, not read", "judged")


def grade(report: DocumentReport) -> Grade:
    """What a report is worth."""
    return Grade(
        file=report.file,
        outcome=report.outcome,
        reason=report.reason,
        problem=report.problem,
        counts=report.counts,
        understood=report.understood,
        questions=tuple(_graded(row, _of(report.verdicts, row)) for row in report.questions),
        seconds=report.seconds,
    )


def merged(reports: Sequence[DocumentReport], *, file: str) -> DocumentReport:
    """One report for a submission of several files: all verdicts, and for each question its best state.

    Files that could not be judged count only if none could.
    """
    judged = [report for report in reports if report.outcome == "judged"]
    if not judged:
        return replace(reports[0], file=file, seconds=sum(report.seconds for report in reports))
    rows: dict[str, QuestionRow] = {}
    for row in (row for report in judged for row in report.questions):
        known = rows.get(row.id)
        if known is None or _rank(row) > _rank(known):
            rows[row.id] = row
    return replace(
        judged[0],
        file=file,
        verdicts=tuple(verdict for report in judged for verdict in report.verdicts),
        questions=tuple(rows.values()),
        seconds=sum(report.seconds for report in reports),
    )


def _rank(row: QuestionRow) -> int:
    return _RANK.index(row.state) if row.state in _RANK else len(_RANK)


def _of(verdicts: Iterable[StepVerdict], row: QuestionRow) -> list[StepVerdict]:
    return [verdict for verdict in verdicts if verdict.question == row.id]


def _graded(row: QuestionRow, verdicts: Sequence[StepVerdict]) -> QuestionGrade:
    decided = [verdict for verdict in verdicts if _counts(verdict)]
    undecided = [verdict for verdict in verdicts if verdict.status == "undecided"]
    if row.state == "unanswered":
        score, reasons = 0.0, ["unanswered"]
    elif decided:
        score, reasons = _weighed(row.points, decided)
    else:
        score, reasons = None, [_LEFT_TO_A_PERSON.get(row.state, row.state)]
    return QuestionGrade(
        id=row.id,
        title=row.title,
        state=row.state,
        points=row.points,
        score=None if score is None else round(score, 2),
        num_refuted=sum(verdict.status == "refuted" for verdict in decided),
        reasons=tuple(reasons),
        undecided=tuple(map(_told, undecided)),
    )


def _counts(verdict: StepVerdict) -> bool:
    return verdict.status == "refuted" or (verdict.kind in _COUNTED and verdict.status != "undecided")


def _weighed(points: float, decided: Sequence[StepVerdict]) -> tuple[float, list[str]]:
    main = [verdict for verdict in decided if verdict.kind in _MAIN]
    steps = [verdict for verdict in decided if verdict.kind not in _MAIN]
    is_reached = all(verdict.status != "refuted" for verdict in main)
    share = sum(verdict.status != "refuted" for verdict in steps) / max(len(steps), 1)
    weight = 0.0 if not main else 0.5 if steps else 1.0
    reasons = [f"{sum(verdict.status != 'refuted' for verdict in decided)} of {len(decided)} decided steps hold"]
    if main and not is_reached:
        reasons.append(f"the {main[0].kind} is refuted: {weight * points:g} of {points:g} points depend on it")
    reasons += [_told(verdict) for verdict in decided if verdict.status == "refuted"]
    return points * (weight * is_reached + (1 - weight) * share), reasons


def _told(verdict: StepVerdict) -> str:
    where = f"{PurePath(verdict.where.file).name}:{verdict.where.line}: " if verdict.where else ""
    parts = (verdict.reason, *verdict.notes, verdict.counterexample)
    return f"{where}{verdict.statement} [{verdict.outcome}] " + "; ".join(part for part in parts if part)
