"""What a submission is worth, question by question: the values that Gradescope and the class list show."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class QuestionGrade:
    """The points of one question and why; `score` is None where only a person can give points."""

    id: str
    title: str
    state: str
    points: float
    score: float | None
    num_refuted: int = 0
    reasons: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def max_score(self) -> float:
        """What the question adds to the total; nothing where a person gives the points."""
        return 0.0 if self.score is None else self.points


@dataclass(frozen=True, kw_only=True)
class Grade:
    """One submission; `outcome` is "judged", or says why it could not be."""

    file: str
    outcome: str
    reason: str | None
    problem: str | None
    counts: Mapping[str, int]
    understood: float
    questions: tuple[QuestionGrade, ...]
    seconds: float

    @property
    def score(self) -> float:
        """The points of all questions that were judged."""
        return round(sum(question.score or 0.0 for question in self.questions), 2)

    @property
    def max_score(self) -> float:
        """The points that could be had; questions left to a person are not among them."""
        return round(sum(question.max_score for question in self.questions), 2)
