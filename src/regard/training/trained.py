"""What a training and an examination found, as plain values that every report draws from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many right of so many asked, with Wilson's 95 % interval."""

    right: int
    asked: int
    lower: float
    upper: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.right / self.asked

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.right} of {self.asked}, 95 % interval {self.lower:.1%} to {self.upper:.1%})"


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One question, what was said, how likely the model found that, and what would have been right."""

    question: str
    prediction: str
    probability: float
    answer: str

    @property
    def is_right(self) -> bool:
        """Exact match."""
        return self.prediction == self.answer


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The answers of some models together; `majority` is how many the commonest training answer would get right."""

    answered: Sequence[Answered]
    exact_match: Share
    majority: Share
    commonest_answer: str
    num_models: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as JSON-ready values."""
        return {
            "exact_match": self.exact_match.value,
            "n": self.exact_match.asked,
            "interval": [self.exact_match.lower, self.exact_match.upper],
            "baseline_majority": self.majority.value,
            "commonest_answer": self.commonest_answer,
            "models": self.num_models,
            "seconds": self.seconds,
            "predictions": [
                {
                    "question": each.question,
                    "prediction": each.prediction,
                    "answer": each.answer,
                    "is_right": each.is_right,
                    "probability": each.probability,
                }
                for each in self.answered
            ],
        }


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What a training will take: steps, seconds a step, members, processes and threads, memory, operations."""

    steps: int
    step_seconds: float
    processes: int
    threads: int
    members: int
    precision: str
    parameters: int
    bytes_needed: int
    flops: float
    tried: Sequence[tuple[str, float]]

    @property
    def seconds(self) -> float:
        """How long the steps take."""
        return self.steps * self.step_seconds


@dataclass(frozen=True, kw_only=True)
class Course:
    """How one model learned: its loss, and what it knew about the questions kept back, step by step."""

    losses: Sequence[tuple[int, float]]
    held_out: Sequence[tuple[int, Share]]


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """A finished run: its plan in words, a course for each member, and what they know together.

    `steps` are those of one member, `tokens` those of all.
    """

    folder: str
    recipe: str
    about: str
    settings: Sequence[tuple[str, str]]
    courses: Sequence[Course]
    together: Share | None
    majority: Share | None
    steps: int
    tokens: int
    seconds: float

    @property
    def knows(self) -> Share | None:
        """The share of held-out questions answered right after the last step, by all members together."""
        return self.together if len(self.courses) > 1 else next(iter(self.alone), None)

    @property
    def alone(self) -> list[Share]:
        """The same for each member alone; nothing where no question was kept back."""
        return [course.held_out[-1][1] for course in self.courses if course.held_out]
