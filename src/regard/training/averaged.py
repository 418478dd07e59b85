"""What heads learned in the averaging task, beside what the theory prescribes, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.core.verdict import Verdict
from regard.training.intervals import Interval


@dataclass(frozen=True, kw_only=True)
class Prescription:
    """The theory's design of a layout at its best scale: E‖c − ½(v_a+v_b)‖² and the variance of v_a's coefficient.

    β is infinite where the error only falls as the scale grows; the numbers are the limits then.
    """

    layout: str
    design: str
    beta: float
    error: float
    variance: float


@dataclass(frozen=True, kw_only=True)
class Learned:
    """What the seeds learned: the first one's queries in words, and every seed's error and variance, certified."""

    layout: str
    reach: str
    queries: str
    designs: Sequence[Mapping[str, tuple[float, ...]]]
    errors: Sequence[float]
    variances: Sequence[float]
    error: Interval
    variance: Interval
    beta: Interval | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "layout": self.layout,
            "reach": self.reach,
            "errors": list(self.errors),
            "variances": list(self.variances),
            "error": self.error.to_dict(),
            "variance": self.variance.to_dict(),
            "beta": None if self.beta is None else self.beta.to_dict(),
            "queries": [{name: list(row) for name, row in design.items()} for design in self.designs],
        }


@dataclass(frozen=True, kw_only=True)
class AveragingReport:
    """The task, the theory's designs, what was learned, and the verdicts."""

    setting: Mapping[str, Any]
    prescriptions: Sequence[Prescription]
    learned: Sequence[Learned]
    verdicts: Sequence[Verdict]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values beside the verdicts."""
        return {
            "setting": dict(self.setting),
            "prescriptions": [
                {"layout": p.layout, "design": p.design, "beta": p.beta, "error": p.error, "variance": p.variance}
                for p in self.prescriptions
            ],
            "learned": [learned.to_dict() for learned in self.learned],
        }
