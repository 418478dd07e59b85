"""Position codes: sinusoids, rotations, their scaling to longer contexts, and codes that act on distances."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx, fmpz

from regard.analysis.closed_forms.arithmetic import Numbers, cos, exp, sin
from regard.core.axes import Float, Real
from regard.positions.rotary import rotary_frequencies

PiLine: TypeAlias = tuple[int | Fraction, int | Fraction]
"""(a, b) stands for the number a + bπ."""


def code(angles: Numbers) -> np.ndarray:
    """Φ = (sin φ_0, cos φ_0, sin φ_1, cos φ_1, …) for the angles φ_i = t/B^{2i/d}."""
    return np.array([part(angle) for angle in angles for part in (sin, cos)])


def shift_matrix(angles: Numbers) -> np.ndarray:
    """R_s = diag of the blocks [[cos ψ_i, sin ψ_i], [−sin ψ_i, cos ψ_i]], ψ_i = s/B^{2i/d}: it takes Φ(t) to Φ(t+s)."""
    return rotation_matrix([-1 * angle for angle in angles])


def code_product(first: Numbers, second: Numbers) -> Any:
    """Φ(t)ᵀΦ(u) = Σ_i cos(φ_i − ψ_i), the angles of t and of u: only their differences matter."""
    return sum(cos(a - b) for a, b in zip(first, second, strict=True))


def turned_product(a: Any, b: Any, first: Any, second: Any) -> Any:
    """a cos(φ−ψ) − b sin(φ−ψ) = (sin φ, cos φ)[[a, −b], [b, a]](sin ψ, cos ψ)ᵀ: relative, and no longer even."""
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
    """The lag at which two codes of width 2 are nearest, their gap on the circle, and the next lag that beats it."""

    lag: int
    gap: float
    next_lag: int


def gap(lag: int, *, precision: int = 512) -> arb:
    """|s − 2πm| for the nearest whole m: the angle between codes of width 2 that are s apart, certified."""
    with ctx.workprec(precision):
        turn = 2 * arb.pi()
        turns = (arb(lag) / turn + arb(1) / 2).floor().unique_fmpz()
        assert turns is not None, "the working precision is too low for this lag"
        return abs(arb(lag) - turns * turn)


def best_returns(before: int, *, precision: int = 512) -> list[int]:
    """Lags below `before` that are nearer to whole turns than every smaller lag: denominators of 1/2π's convergents."""
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


def rotation_matrix(angles: Numbers) -> np.ndarray:
    """Diag of the blocks [[cos φ_i, −sin φ_i], [sin φ_i, cos φ_i]]: the D×D matrix of RoPE, interleaved."""
    zero = 0 * sin(angles[0])
    matrix = np.full((2 * len(angles), 2 * len(angles)), zero)
    for i, angle in enumerate(angles):
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cos(angle), -sin(angle)], [sin(angle), cos(angle)]]
    return matrix


def complex_product(numbers: Numbers, angles: Numbers) -> list[Any]:
    """z_i ↦ z_i e^{iφ_i} for z_i = x_{2i} + i·x_{2i+1}: D/2 complex products, real and imaginary parts in turn."""
    turned: list[Any] = []
    for x, y, angle in zip(numbers[0::2], numbers[1::2], angles, strict=True):
        c, s = cos(angle), sin(angle)
        turned += [x * c - y * s, x * s + y * c]
    return turned


def relative_score(first: Numbers, second: Numbers, turns: Numbers, others: Numbers) -> Any:
    """Σ_i Re(z_i w̄_i e^{i(φ_i−ψ_i)}): the score of z turned by φ and w turned by ψ.

    With z = x + iy, w = u + iv: Re(z w̄) = xu + yv and Im(z w̄) = yu − xv.
    """
    pairs = zip(first[0::2], first[1::2], second[0::2], second[1::2], turns, others, strict=True)
    return sum((x * u + y * v) * cos(a - b) - (y * u - x * v) * sin(a - b) for x, y, u, v, a, b in pairs)


def squared_norm(numbers: Numbers) -> Any:
    """‖x‖² = Σ x_j²."""
    return sum(x * x for x in numbers)


def interleaved_slot(pair: Any, part: int, width: Any) -> Any:
    """Slot 2i + p, where the interleaved layout keeps part p of pair i, whatever the width."""
    return 2 * pair + part + 0 * width


def half_split_slot(pair: Any, part: int, width: Any) -> Any:
    """Slot i + p·d/2, where the half-split layout keeps part p of pair i."""
    return pair + part * width / 2


def mixed_score(turns: Numbers, others: Numbers) -> Any:
    """Score cos φ_0 · cos ψ_1 of q = k = e_1 when q is turned interleaved and k half-split, d ≥ 4.

    Slot 1 is the second number of pair 0 in one layout and the first number of pair 1 in the other.
    """
    return cos(turns[0]) * cos(others[1])


def favour_lost(energy: Any, half_turn: Any) -> Any:
    """2|q_i|² sin²((s−r)θ_i/2): how far the score of q and k = R_r q at distance s falls short of |q|², for one pair.

    `half_turn` is (s−r)θ_i/2.
    """
    return 2 * energy * sin(half_turn) * sin(half_turn)


def envelope(lags: Real[np.ndarray, " lag"], width: int, base: float) -> Float[np.ndarray, " lag"]:
    """|Σ_j e^{isθ_j}| for each lag s: d/2 at lag 0, where all pairs agree."""
    angles = np.multiply.outer(lags, rotary_frequencies(base, width))
    return np.hypot(np.cos(angles).sum(-1), np.sin(angles).sum(-1))


def envelope_floor(width: int) -> float:
    """½√(πd/2): the mean of |Σ_j e^{iφ_j}| over d/2 independent phases, for many pairs (Rayleigh's law)."""
    return float(np.sqrt(np.pi * width / 2) / 2)


def ntk_slowdown(pair: Any, width: Any) -> Any:
    """2i/(d−2): under the base B·s^{d/(d−2)} pair i turns s to this power times slower, from 0 for the first to 1."""
    return 2 * pair / (width - 2)


def interpolation_slowdown(pair: Any, width: Any) -> Any:
    """1 for every pair: position interpolation slows all of them down by s."""
    return 1 + 0 * pair * width


def yarn_ramp(turns: Any, slow: Any, fast: Any) -> Any:
    """(r − r_slow)/(r_fast − r_slow), cut to [0, 1]: the share of its frequency that a pair keeps, in r or in log r."""
    return (turns - slow) / (fast - slow)


def yarn_logit_gain(log_factor: Any) -> Any:
    """(1 + ln(s)/10)²: the factor that YaRN puts on the logits, since queries and keys both get 1 + ln(s)/10."""
    return (1 + log_factor / 10) * (1 + log_factor / 10)


def alibi_weight(slope: Any, drop: Any) -> Any:
    """(1 − e^{−m})e^{−mk}: the weight at distance k ≥ 0 under ALiBi's slope m, if all contents are alike.

    `drop` is mk, the difference of the logit from that at distance 0.
    """
    return (1 - exp(-slope)) * exp(-drop)


def alibi_mean(slope: Any) -> Any:
    """1/(e^m − 1): the mean distance that ALiBi's slope m attends to."""
    return 1 / (exp(slope) - 1)


def alibi_covered(drop: Any) -> Any:
    """1 − e^{−mK}: the share of attention that the K nearest keys get; `drop` is mK."""
    return 1 - exp(-drop)


def last_bucket_start(num_buckets: int, max_distance: int) -> int:
    """⌈E(D/E)^{(N−E−1)/(N−E)}⌉, E = ⌊N/2⌋: the smallest distance in the last of T5's N buckets for one direction.

    >>> last_bucket_start(32, 128), last_bucket_start(2, 128)
    (113, 1)
    """
    exact = num_buckets // 2
    rest = num_buckets - exact
    power = fmpz(max_distance) ** (rest - 1) * exact
    root = int(power.root(rest))
    return root if fmpz(root) ** rest == power else root + 1


def window_reach(layers: Any, window: Any) -> Any:
    """L(w−1) + 1: how many tokens, itself included, can reach a token through L causal layers of window w."""
    return layers * (window - 1) + 1
