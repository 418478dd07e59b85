"""What the claims about position codes share: parameters, vectors for counterexamples, and rounding to a format."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from regard.claims.claim import integer, real
from regard.positions.rotary import rotary_frequencies
from regard.render.figures import Axis, Chart, Series

WIDTH = integer("d", 64, lower=2, is_even=True)
SMALL_WIDTH = replace(WIDTH, default=8)
BASE = real("B", 10_000.0, lower=1, is_open=True)

# Products of these and of the widths that methods try stay within the range of float64.
LARGEST_BASE, LARGEST_FACTOR = 1e100, 1e50

EXPONENTIAL_LAW = "e^{i(x+y)} = e^{ix}·e^{iy}"


def tried(width: int, widest: int) -> tuple[int, str]:
    """The width that a method can afford, and a note if that is less than what was asked for."""
    return (width, "") if width <= widest else (widest, f" (tried at d = {widest}, since d = {width:g} costs too much)")


def rounding(largest_position: float, terms: int = 1) -> float:
    """What float64 may lose: an angle tθ is off by a few roundings of its own size, and so is every term of a sum."""
    return 8 * float(np.finfo(float).eps) * (1 + largest_position) * terms


@dataclass(frozen=True, kw_only=True)
class WholeVectors:
    """Vectors x_j = ((aj² + bj) mod 7) − 3 for many a and b: as good as random ones, and described in one line."""

    factors: np.ndarray
    width: int

    @classmethod
    def draw(cls, rng: np.random.Generator, count: int, width: int) -> "WholeVectors":
        """That many vectors of that width, none of them constant."""
        return cls(factors=rng.integers(1, 7, size=(count, 2)), width=width)

    @property
    def rows(self) -> np.ndarray:
        """The vectors as floats, one per row."""
        j = np.arange(self.width)
        return (self.factors[:, :1] * j * j + self.factors[:, 1:] * j) % 7 - 3.0

    def described(self, row: int, name: str) -> str:
        """The vector in a form that anyone can rebuild."""
        a, b = self.factors[row]
        return f"{name}_j = (({a}j² + {b}j) mod 7) − 3 for j = 0…{self.width - 1}"


def as_format(numbers: np.ndarray, name: str) -> np.ndarray:
    """The numbers rounded to a floating-point format, to nearest with ties to even; too large becomes infinite.

    >>> as_format(np.array([257.0]), "bfloat16").astype(float).tolist()
    [256.0]
    """
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype=float).astype(dtype)


def repeats(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that equal an earlier one, in order: the earliest row that each equals, and the row itself.

    >>> earlier, later = repeats(np.array([[0.0, 1.0], [2.0, 1.0], [-0.0, 1.0], [2.0, 1.0]]))
    >>> earlier.tolist(), later.tolist()
    ([0, 1], [2, 3])
    """
    # Each row as one opaque value; adding zero gives both zeros the same bits.
    rows = np.ascontiguousarray(rows + np.zeros((), dtype=rows.dtype))
    opaque = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(opaque, return_index=True, return_inverse=True)
    earliest = first[inverse]
    later = np.flatnonzero(earliest != np.arange(len(rows)))
    return earliest[later], later


def figure_width(width: float) -> int:
    """An even width from 4 to 256, which is what a figure can show."""
    return max(2 * (int(min(width, 256)) // 2), 4)


def slowdowns(scalings: Mapping[str, Any], *, width: int, base: float, caption: str) -> Chart:
    """How many times slower each rotary pair turns under two ways of scaling."""
    plain, pairs = rotary_frequencies(base, width), np.arange(width // 2)
    return Chart(
        title="Which pairs are slowed",
        caption=caption,
        x=Axis(label="pair i, fastest first"),
        y=Axis(label="times slower", is_log=True),
        series=[
            Series(label=name, x=pairs, y=plain / scaling.frequencies(base, width), style=style)
            for style, (name, scaling) in zip(("line", "dashed"), scalings.items(), strict=True)
        ],
    )
