"""Every question gets a row: judged, prose, image, or unanswered."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from regard.core.verdict import StepVerdict
from regard.derivations.context.placing import Region, answers_to
from regard.derivations.problems.problem import Problem, Question
from regard.derivations.reading.document import Document

_FEWEST_LETTERS = 4
_NO_LETTER = re.compile(r"[\W_\ufffc]")


@dataclass(frozen=True, kw_only=True)
class QuestionRow:
    """What became of one question: judged, prose, image, unanswered; an optional one left out is worth no points."""

    id: str
    title: str
    state: str
    points: float
    counts: Mapping[str, int]
    claims: tuple[str, ...]


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
    state = "judged" if is_judged else _unjudged(document, answers)
    return QuestionRow(
        id=question.id,
        title=question.title,
        state=state,
        points=0.0 if question.is_optional and state == "unanswered" else question.points,
        counts=dict(Counter(verdict.status for verdict in verdicts)),
        claims=question.claims,
    )


def _unjudged(document: Document, answers: Sequence[Region]) -> str:
    """What there is where no step was judged."""
    if any(region.start <= image.start < region.end for region in answers for image in document.images):
        return "image, not read"
    text = "".join(document.prose[region.body : region.end] for region in answers)
    return "prose, not judged" if len(_NO_LETTER.sub("", text)) >= _FEWEST_LETTERS else "unanswered"
