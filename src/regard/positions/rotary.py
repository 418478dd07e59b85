"""Rotary codes: queries and keys are rotated, pair by pair, by angles that grow with position.

Scalings slow the frequencies down, to stretch a code to contexts longer than it was trained on.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from array_api_compat import array_namespace, device

from regard.core.axes import Array, Float, Real
from regard.core.errors import InputError
from regard.positions._code import PositionCode, even_width, positions_like

RotaryLayout: TypeAlias = Literal["interleaved", "half-split"]
"""Which numbers make a pair: neighbours (x_0, x_1), (x_2, x_3), … or one from each half (x_i, x_{i+d/2})."""

Ramp: TypeAlias = Literal["whole-pairs", "pairs", "rotations"]
"""What YaRN's ramp is linear in: whole pairs (as in the released code), pairs (gpt-oss) or rotations (the paper)."""


def rotary_frequencies(base: float, dims: int) -> Float[np.ndarray, " pair"]:
    """The angle by which each pair rotates from one position to the next.

        θ_i = B^{−2i/d},   i = 0 … d/2 − 1

    >>> rotary_frequencies(10_000.0, 4)
    array([1.  , 0.01])
    """
    return np.power(base, -np.arange(0, dims, 2) / dims)


@dataclass(frozen=True, kw_only=True)
class RotaryScaling:
    """No scaling: θ_i = B^{−2i/d}. The other scalings derive from this one."""

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """The angle by which each of the dims/2 pairs rotates from one position to the next."""
        return rotary_frequencies(base, dims)

    @property
    def gain(self) -> float:
        """The factor on rotated queries and keys; logits get its square."""
        return 1.0


UNSCALED = RotaryScaling()


@dataclass(frozen=True, kw_only=True)
class LinearScaling(RotaryScaling):
    """Divides positions by a factor (position interpolation).

        θ'_i = θ_i / s

    >>> LinearScaling(factor=4.0).frequencies(10_000.0, 4)
    array([0.25  , 0.0025])
    """

    factor: float

    def __post_init__(self) -> None:
        _require_factor(self.factor)

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """Every frequency divided by the factor."""
        return rotary_frequencies(base, dims) / self.factor


@dataclass(frozen=True, kw_only=True)
class GivenFrequencies(RotaryScaling):
    """Whatever frequencies a model has been given, one per pair."""

    values: tuple[float, ...]

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """The given frequencies."""
        del base
        if len(self.values) != dims // 2:
            raise InputError(f"{len(self.values)} frequencies were given for {dims // 2} pairs. Give one per pair.")
        return np.array(self.values)


@dataclass(frozen=True, kw_only=True)
class NtkScaling(RotaryScaling):
    """Raises the base so that the slowest pair slows down by the factor and the fastest keeps its speed (NTK-aware).

        θ'_i = B'^{−2i/d},   B' = B s^{d/(d−2)}

    >>> NtkScaling(factor=4.0).frequencies(10_000.0, 4).round(6)
    array([1.    , 0.0025])
    """

    factor: float

    def __post_init__(self) -> None:
        _require_factor(self.factor)

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """The frequencies of the raised base."""
        if dims <= 2:
            raise InputError(
                f"{dims} rotary dims make only one pair, which cannot both slow down and keep its speed. Use 4 or more."
            )
        return rotary_frequencies(base * self.factor ** (dims / (dims - 2)), dims)


@dataclass(frozen=True, kw_only=True)
class YarnScaling(RotaryScaling):
    """Keeps pairs that rotate often within the original length, and stretches those that hardly rotate.

        θ'_i = γ_i θ_i + (1 − γ_i) θ_i / s,   gain = 0.1 ln s + 1

    In the paper, γ is linear in the rotations r_i = Lθ_i/2π, from 0 at `beta_slow` to 1 at `beta_fast`.
    The released code makes it linear in i between the pairs with those rotations, rounded outward to whole pairs;
    models are trained with the code, so `ramp` follows it by default.
    `attention_gain` replaces 0.1 ln s + 1; with 1.0, "rotations" and `beta_fast=4.0` this is Llama 3.1's scaling.

    >>> YarnScaling(factor=4.0, original_length=64).frequencies(10_000.0, 4)
    array([1.    , 0.0025])
    """

    factor: float
    original_length: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    ramp: Ramp = "whole-pairs"
    attention_gain: float | None = None

    def __post_init__(self) -> None:
        _require_factor(self.factor)
        if self.ramp not in get_args(Ramp):
            raise InputError(f"ramp is {self.ramp!r}, which is not a ramp. Use one of {', '.join(get_args(Ramp))}.")
        if not 0 < self.beta_slow < self.beta_fast:
            raise InputError(
                f"beta_slow is {self.beta_slow} and beta_fast is {self.beta_fast}, so the ramp has no length. "
                "Use 0 < beta_slow < beta_fast."
            )
        if not self.original_length > 2 * math.pi * self.beta_slow:
            raise InputError(
                f"Within an original length of {self.original_length} even the fastest pair rotates fewer than "
                f"{self.beta_slow} times, so every pair would be stretched. Use LinearScaling, or a longer length."
            )

    @property
    def gain(self) -> float:
        """The square root of the inverse attention temperature: 0.1 ln s + 1 unless given."""
        return 0.1 * math.log(self.factor) + 1 if self.attention_gain is None else self.attention_gain

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """Each frequency, divided by a number between 1 and the factor."""
        plain = rotary_frequencies(base, dims)
        kept = self._kept_by_rotations(plain) if self.ramp == "rotations" else self._kept_by_pairs(base, dims)
        return plain * (kept + (1 - kept) / self.factor)

    def _kept_by_rotations(self, plain: Float[np.ndarray, " pair"]) -> Float[np.ndarray, " pair"]:
        """γ as a function of the rotations within the original length."""
        rotations = self.original_length * plain / (2 * math.pi)
        return np.clip((rotations - self.beta_slow) / (self.beta_fast - self.beta_slow), 0, 1)

    def _kept_by_pairs(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """γ as a function of the index of the pair."""
        first, last = (
            dims * math.log(self.original_length / (2 * math.pi * rotations)) / (2 * math.log(base))
            for rotations in (self.beta_fast, self.beta_slow)
        )
        if self.ramp == "whole-pairs":
            first, last = math.floor(first), math.ceil(last)
        # The released code clamps at the last dim, not at the last pair, and keeps the ends a thousandth apart.
        first, last = max(first, 0), min(last, dims - 1)
        return 1 - np.clip((np.arange(dims // 2) - first) / max(last - first, 0.001), 0, 1)


def _require_factor(factor: float) -> None:
    if not (factor >= 1 and math.isfinite(factor)):
        raise InputError(f"The factor is {factor}, which would not stretch the context. Use a number of at least 1.")


@dataclass(frozen=True, kw_only=True)
class Rotary(PositionCode):
    """Rotates each pair by tθ_i, so that scores depend on distances alone.

        (a, b) ↦ g (a cos tθ_i − b sin tθ_i,  a sin tθ_i + b cos tθ_i),   θ_i = B^{−2i/d}

    The first `rotary_dims` numbers (by default all) are rotated and d counts only those; the rest stay.
    The scaling gives θ and the gain g, which is 1 except for YaRN. Angles are computed in float64.

    >>> quarter = Rotary().rotate(np.array([[1.0, 0.0]]), np.array([np.pi / 2]))
    >>> quarter.round(3) + 0.0
    array([[0., 1.]])
    """

    base: float = 10_000.0
    layout: RotaryLayout = "interleaved"
    rotary_dims: int | None = None
    scaling: RotaryScaling = UNSCALED

    def __post_init__(self) -> None:
        if self.layout not in get_args(RotaryLayout):
            raise InputError(
                f"layout is {self.layout!r}, which is not a layout. Use {' or '.join(get_args(RotaryLayout))}."
            )
        if not self.base > 1:
            raise InputError(f"The base is {self.base}, so the pairs would not slow down. Use a base above 1.")
        if self.rotary_dims is not None:
            even_width("rotary_dims", self.rotary_dims)

    def frequencies(self, width: int) -> Float[np.ndarray, " pair"]:
        """The angle by which each pair of a head of this width rotates from one position to the next."""
        return self.scaling.frequencies(self.base, self._dims(width))

    def rotate(
        self, heads: Float[Array, "*batch position width"], positions: Real[Array, "*#batch position"]
    ) -> Float[Array, "*batch position width"]:
        """The queries or keys with each pair rotated by its position times its frequency."""
        xp = array_namespace(heads)
        dims = self._dims(heads.shape[-1])
        placed = xp.astype(positions_like(positions, heads), xp.float64)
        angles = placed[..., None] * xp.asarray(self.frequencies(heads.shape[-1]), device=device(heads))
        cos, sin = self.scaling.gain * xp.cos(angles), self.scaling.gain * xp.sin(angles)
        wide = xp.astype(heads, xp.float64)
        first, second = _pairs(wide[..., :dims], self.layout)
        rotated = _joined(first * cos - second * sin, first * sin + second * cos, self.layout)
        return xp.astype(xp.concat([rotated, wide[..., dims:]], axis=-1), heads.dtype)

    def _dims(self, width: int) -> int:
        if self.rotary_dims is None:
            return even_width("The head width", width)
        if self.rotary_dims > width:
            raise InputError(f"rotary_dims is {self.rotary_dims}, but heads have width {width}. Use at most the width.")
        return self.rotary_dims


def _pairs(
    x: Float[Array, "*batch position width"], layout: RotaryLayout
) -> tuple[Float[Array, "*batch position pair"], Float[Array, "*batch position pair"]]:
    """First and second number of each pair."""
    half = x.shape[-1] // 2
    return (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else (x[..., :half], x[..., half:])


def _joined(
    first: Float[Array, "*batch position pair"], second: Float[Array, "*batch position pair"], layout: RotaryLayout
) -> Float[Array, "*batch position width"]:
    """The inverse of `_pairs`."""
    xp = array_namespace(first)
    if layout == "half-split":
        return xp.concat([first, second], axis=-1)
    return xp.reshape(xp.stack([first, second], axis=-1), (*first.shape[:-1], 2 * first.shape[-1]))


CODE = Rotary
