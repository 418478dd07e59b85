"""What the heads of a trained model look at and read, as plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.core.axes import Float
from regard.core.verdict import Verdict
from regard.training.intervals import Interval


@dataclass(frozen=True, kw_only=True)
class HeadFinding:
    """One head: the share of attention that the last position gives the name, and what cutting that look costs.

    `drop` is by how many nats the right answer's log-probability falls. Layers and heads count from one.
    """

    layer: int
    head: int
    share: Interval
    drop: Interval
    verdict: Verdict

    @property
    def name(self) -> str:
        """How a reader calls it."""
        return f"layer {self.layer} head {self.head}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "layer": self.layer,
            "head": self.head,
            "share": self.share.to_dict(),
            "drop": self.drop.to_dict(),
            "status": self.verdict.status,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """One question with every head's weights; `first` up to `end` are the name's tokens."""

    question: str
    name: str
    answer: str
    probability: float
    tokens: Sequence[str]
    first: int
    end: int
    weights: Float[np.ndarray, "layer head query key"]


@dataclass(frozen=True, kw_only=True, eq=False)
class InspectionReport:
    """A run's heads. `even_share` is what the name would get if a head looked at all keys alike."""

    run: str
    population: str
    num_questions: int
    heads: Sequence[HeadFinding]
    all_heads: Interval
    even_share: float
    least: float
    shown: Shown

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each head."""
        return tuple(head.verdict for head in self.heads)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values beside the verdicts."""
        shown = self.shown
        return {
            "run": self.run,
            "population": self.population,
            "num_questions": self.num_questions,
            "least_drop": self.least,
            "even_share": self.even_share,
            "all_heads_drop": self.all_heads.to_dict(),
            "heads": [head.to_dict() for head in self.heads],
            "shown": {
                "question": shown.question,
                "name": shown.name,
                "answer": shown.answer,
                "probability": shown.probability,
                "tokens": list(shown.tokens),
                "name_tokens": [shown.first, shown.end],
                "weights": shown.weights.round(6).tolist(),
            },
        }
