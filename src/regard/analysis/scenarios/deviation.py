"""Conditions on how far a random key strays from its mean."""

import math
from dataclasses import dataclass

from regard.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A key strays from its mean, along its mean, by an amount between two bounds.

    lower ≤ δ ≤ upper,  δ = μᵀ(k − μ)/‖μ‖²

    In the course k_a = γμ_a, so δ = γ − 1 and "γ > 0" is `Deviation(group="a", lower=-1)`.

    >>> str(Deviation(group="a", lower=-1.0)), str(Deviation(group="b", lower=-0.5, upper=1.0))
    ('γ_a ≥ 0', '0.5 ≤ γ_b ≤ 2')
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
        low, high, length = 1 + self.lower, 1 + self.upper, f"γ_{self.group}"
        if math.isinf(low) and math.isinf(high):
            return f"any {length}"
        if math.isinf(low) or math.isinf(high):
            return f"{length} ≥ {low:g}" if math.isinf(high) else f"{length} ≤ {high:g}"
        return f"{low:g} ≤ {length} ≤ {high:g}"
