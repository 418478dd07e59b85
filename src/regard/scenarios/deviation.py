"""Conditions on how far a random key strays from its mean."""

import math
from dataclasses import dataclass

from regard.errors import InputError

__all__ = ["Deviation"]


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A key strays from its mean, along its mean, by an amount between two bounds.

    lower ≤ δ ≤ upper,  δ = μᵀ(k − μ)/‖μ‖²

    In the course k_a = γμ_a, so δ = γ − 1 and "γ > 0" is `Deviation(group="a", lower=-1)`.
    """

    group: str
    lower: float = -math.inf
    upper: float = math.inf

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InputError(
                f"No deviation of {self.group!r} lies between {self.lower} and {self.upper}. "
                "Give a lower bound that is not above the upper one."
            )

    def probability(self, variance: float) -> float:
        """Probability of the condition in floating point, to size a sampling run.

        P = Φ(upper/√variance) − Φ(lower/√variance)

        >>> round(Deviation(group="a", upper=-1.0).probability(0.5), 10)
        0.0786496035
        """
        if variance == 0:
            return float(self.lower <= 0 <= self.upper)
        low, high = (bound / math.sqrt(2 * variance) for bound in (self.lower, self.upper))
        if high < 0:
            low, high = -high, -low
        return (math.erfc(low) - math.erfc(high)) / 2

    def __str__(self) -> str:
        return f"{self.lower:g} ≤ δ_{self.group} ≤ {self.upper:g}"
