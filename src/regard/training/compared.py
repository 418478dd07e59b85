"""What a comparison of trainings found, as plain values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regard.core.verdict import Verdict
from regard.training.intervals import Interval
from regard.training.trained import Share


@dataclass(frozen=True, kw_only=True)
class VariantResult:
    """One way of training: the share of right answers by seed, its mean over seeds, and all answers pooled.

    `mean` says how far another seed may be from these; `pooled` counts questions as if they were independent.
    """

    name: str
    recipe: str
    positions: str
    steps: int
    shares: Sequence[float]
    mean: Interval
    pooled: Share

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "name": self.name,
            "recipe": self.recipe,
            "positions": self.positions,
            "steps": self.steps,
            "shares": list(self.shares),
            "mean": self.mean.to_dict(),
            "pooled": {
                "value": self.pooled.value,
                "n": self.pooled.asked,
                "interval": [self.pooled.lower, self.pooled.upper],
            },
        }


@dataclass(frozen=True, kw_only=True)
class Gap:
    """How far two ways of training are apart, the one that was seen to be better first.

    `difference` is paired by seed; its interval is that of the corrected test, so it leaves out zero exactly if the
    pair is decided. `needed` is how many seeds would decide if everything stayed as it is (None: more than 10,000).
    `only_better` and `only_worse` count answers that only one of the two got right, over all seeds.
    """

    better: str
    worse: str
    difference: Interval
    chance: float
    corrected: float
    needed: int | None
    only_better: int
    only_worse: int


@dataclass(frozen=True, kw_only=True)
class PairResult:
    """A gap and the verdict on it."""

    gap: Gap
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        gap = self.gap
        return {
            "better": gap.better,
            "worse": gap.worse,
            "difference": gap.difference.to_dict(),
            "p": gap.chance,
            "p_holm": gap.corrected,
            "seeds_needed": gap.needed,
            "only_better": gap.only_better,
            "only_worse": gap.only_worse,
            "status": self.verdict.status,
        }


@dataclass(frozen=True, kw_only=True)
class ComparisonReport:
    """All ways that were tried, every pair that was compared, and how sure that is as a whole."""

    folder: str
    data: str
    questions: str
    num_questions: int
    num_seeds: int
    doubt: float
    majority: Share
    variants: Sequence[VariantResult]
    pairs: Sequence[PairResult]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each pair."""
        return tuple(pair.verdict for pair in self.pairs)

    @property
    def assurance(self) -> str:
        """How many comparisons were made, and how often one of them is a false alarm."""
        count = len(self.pairs)
        plural = "comparison was" if count == 1 else "comparisons were"
        return (
            f"{count} {plural} made on the same {self.num_questions} questions; with Holm's correction the chance that "
            f"any of them holds by luck is at most {self.doubt:.0%}."
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values beside the verdicts."""
        return {
            "folder": self.folder,
            "data": self.data,
            "questions": self.questions,
            "num_questions": self.num_questions,
            "num_seeds": self.num_seeds,
            "num_comparisons": len(self.pairs),
            "false_alarm_rate": self.doubt,
            "correction": "Holm",
            "baseline_majority": self.majority.value,
            "variants": [variant.to_dict() for variant in self.variants],
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


def points(share: float) -> str:
    """A share, or a difference of shares, in points of a hundred.

    >>> points(0.0312), points(math.inf)
    ('3.1', '∞')
    """
    return "∞" if math.isinf(share) else f"{100 * share:.1f}"
