"""What the claims about sinusoidal and rotary codes share: their parameters, and the worst entry of a comparison."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

WIDTH = Parameter(name="d", default=64, lower=2, is_integer=True, is_even=True)
SMALL_WIDTH = replace(WIDTH, default=8)
BASE = Parameter(name="B", default=10_000.0, lower=1, is_open=True)

# Products of these and of the widths that routes try stay within the range of float64.
LARGEST_BASE, LARGEST_FACTOR = 1e100, 1e50

EXPONENTIAL_LAW = "e^{i(x+y)} = e^{ix}·e^{iy}"


def tried(width: int, widest: int) -> tuple[int, str]:
    """The width that a route can afford, and what it says where it works at a narrower one."""
    return (width, "") if width <= widest else (widest, f" (tried at d = {widest}, for d = {width:g} costs too much)")


def rounding(largest_position: float, terms: int = 1) -> float:
    """What float64 may lose: an angle tθ is off by a few roundings of its own size, and every term of a sum by that."""
    return 8 * float(np.finfo(float).eps) * (1 + largest_position) * terms


@dataclass(frozen=True, kw_only=True)
class WholeVectors:
    """Vectors x_j = ((aj² + bj) mod 7) − 3 for many a and b: as good as random ones, and told in a line."""

    factors: np.ndarray
    width: int

    @classmethod
    def draw(cls, rng: np.random.Generator, count: int, width: int) -> "WholeVectors":
        """As many vectors of that width, none of them constant."""
        return cls(factors=rng.integers(1, 7, size=(count, 2)), width=width)

    @property
    def rows(self) -> np.ndarray:
        """The vectors as floats, one a row."""
        j = np.arange(self.width)
        return (self.factors[:, :1] * j * j + self.factors[:, 1:] * j) % 7 - 3.0

    def told(self, row: int, name: str) -> str:
        """The vector in a form that anyone can rebuild."""
        a, b = self.factors[row]
        return f"{name}_j = (({a}j² + {b}j) mod 7) − 3 for j = 0…{self.width - 1}"


def worst_entry(
    what: str, *, claimed: np.ndarray, measured: np.ndarray, tolerance: float, at: Callable[..., str]
) -> Evidence:
    """Whether two arrays agree within a tolerance; the value is the largest gap between them, and NaN is the largest.

    `at` names the place of an entry, given its index.
    """
    claimed, measured = np.broadcast_arrays(claimed, measured)
    gaps = np.abs(measured - claimed)
    index = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    gap = float(gaps[index])
    if gap <= tolerance:
        detail = f"{what} agrees to {gap:.1e} in {gaps.size} entries"
        return Evidence(route="brute force", status="holds", detail=detail, value=gap, bound=tolerance)
    sides = f"{what} = {float(measured[index]):.12g}, the statement says {float(claimed[index]):.12g}"
    return Evidence(
        route="brute force",
        status="refuted",
        detail=f"{what} disagrees",
        value=gap,
        bound=tolerance,
        counterexample=f"{at(*map(int, index))}: {sides}",
    )
