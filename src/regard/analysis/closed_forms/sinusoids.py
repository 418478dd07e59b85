"""Sinusoidal codes: what a shift does to them, what their products see, and where they nearly repeat."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.arithmetic import Numbers, cos, sin

PiLine: TypeAlias = tuple[int | Fraction, int | Fraction]
"""(a, b) stands for the number a + bπ."""


def code(angles: Numbers) -> np.ndarray:
    """Φ = (sin φ_0, cos φ_0, sin φ_1, cos φ_1, …) for the angles φ_i = t/B^{2i/d}."""
    return np.array([part(angle) for angle in angles for part in (sin, cos)])


def shift_matrix(angles: Numbers) -> np.ndarray:
    """R_s = diag of the blocks [[cos ψ_i, sin ψ_i], [−sin ψ_i, cos ψ_i]], ψ_i = s/B^{2i/d}: it takes Φ(t) to Φ(t+s).

    >>> shift_matrix([0.0, 0.0]).tolist() == np.eye(4).tolist()
    True
    """
    zero = 0 * sin(angles[0])
    matrix = np.full((2 * len(angles), 2 * len(angles)), zero)
    for i, angle in enumerate(angles):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos(angle), sin(angle)], [-sin(angle), cos(angle)]]
    return matrix


def code_product(first: Numbers, second: Numbers) -> Any:
    """Φ(t)ᵀΦ(u) = Σ_i cos(φ_i − ψ_i), the angles of t and of u: only their differences count.

    >>> float(code_product([3.0, 0.3], [3.0, 0.3]))
    2.0
    """
    return sum(cos(a - b) for a, b in zip(first, second, strict=True))


def turned_product(a: Any, b: Any, first: Any, second: Any) -> Any:
    """a cos(φ−ψ) − b sin(φ−ψ) = (sin φ, cos φ)[[a, −b], [b, a]](sin ψ, cos ψ)ᵀ: relative, and no longer even.

    >>> float(turned_product(2.0, 1.0, 0.5, 0.5))
    2.0
    """
    return a * cos(first - second) - b * sin(first - second)


@dataclass(frozen=True, kw_only=True)
class FirstPair:
    """Positions k·spacing, k whole, coded by the kept parts (0: sine, 1: cosine) of a pair of one wavelength.

    Positions and wavelengths are of the form a + bπ. Two positions k apart share an angle if and only if k·spacing
    is a whole number of wavelengths.
    """

    parts: tuple[int, ...] = (0, 1)
    spacing: PiLine = (1, 0)
    wavelength: PiLine = (0, 2)

    @property
    def period(self) -> int | None:
        """The least k > 0 for which k·spacing is a whole number of wavelengths; None if none is: π is irrational.

        >>> FirstPair().period
        >>> FirstPair(wavelength=(Fraction(710, 113), 0)).period
        710
        """
        (a, b), (c, d) = self.spacing, self.wavelength
        if a * d != b * c:
            return None
        return (Fraction(a) / Fraction(c) if c else Fraction(b) / Fraction(d)).denominator

    def angles(self, steps: np.ndarray) -> np.ndarray:
        """2π·k·spacing/wavelength for each step k, in float64."""
        spacing, wavelength = (float(a) + float(b) * np.pi for a, b in (self.spacing, self.wavelength))
        return steps * (2 * np.pi * spacing / wavelength)


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """Two codes of width 2 are nearest at this lag, this gap apart on the circle; the next lag to beat it follows."""

    lag: int
    gap: float
    next_lag: int


def gap(lag: int, *, precision: int = 512) -> arb:
    """|s − 2πm| for the nearest whole m: the angle between codes of width 2 that are s apart, certified.

    >>> f"{float(gap(710)):.9e}"
    '6.028870673e-05'
    """
    with ctx.workprec(precision):
        turn = 2 * arb.pi()
        turns = (arb(lag) / turn + arb(1) / 2).floor().unique_fmpz()
        assert turns is not None, "the working precision is too low for this lag"
        return abs(arb(lag) - turns * turn)


def best_returns(before: int, *, precision: int = 512) -> list[int]:
    """Lags below `before` that come nearer to whole turns than every smaller lag: denominators of 1/2π's convergents.

    >>> best_returns(110_000)
    [1, 6, 19, 25, 44, 333, 710, 103993]
    """
    with ctx.workprec(precision):
        return list(takewhile(lambda lag: lag < before, _denominators(1 / (2 * arb.pi()))))


def _denominators(x: arb) -> Iterator[int]:
    """Denominators of the convergents of 0 < x < ½, the first of them 1."""
    before, now = 0, 1
    while True:
        yield now
        x = 1 / x
        whole = x.floor().unique_fmpz()
        assert whole is not None, "the working precision is too low for so long a continued fraction"
        before, now, x = now, int(whole) * now + before, x - whole
