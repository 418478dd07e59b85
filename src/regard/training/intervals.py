"""A mean with its interval, as every report of measured runs shows it."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Interval:
    """The mean of some numbers and how far it may be off to either side; infinitely far if there is one number only.

    >>> str(Interval(mean=0.1234, half=0.02, count=5)), str(Interval(mean=0.5, half=math.inf, count=1))
    ('0.123 ± 0.02', '0.5 (one only)')
    """

    mean: float
    half: float
    count: int

    @property
    def lower(self) -> float:
        """The least that the mean may be."""
        return self.mean - self.half

    @property
    def upper(self) -> float:
        """The most that the mean may be."""
        return self.mean + self.half

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values; an infinite half becomes null there."""
        return {"mean": self.mean, "half_width": self.half, "count": self.count}

    def __str__(self) -> str:
        from regard.render.terminal import quantity

        return f"{self.mean:.3g} (one only)" if math.isinf(self.half) else quantity(self.mean, self.half)
