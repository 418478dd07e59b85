"""Scalings of rotary frequencies, which stretch a code to contexts longer than it was trained on."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from regard.core.axes import Float
from regard.core.errors import InputError

Ramp: TypeAlias = Literal["whole-pairs", "pairs", "rotations"]
"""What YaRN's ramp is linear in: whole pairs (as in the released code), pairs (gpt-oss) or rotations (the paper)."""


def rotary_frequencies(base: float, dims: int) -> Float[np.ndarray, " pair"]:
    """Angle that each pair turns from one position to the next.

        θ_i = B^{−2i/d},   i = 0 … d/2 − 1

    >>> rotary_frequencies(10_000.0, 4)
    array([1.  , 0.01])
    """
    return np.power(base, -np.arange(0, dims, 2) / dims)


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Frequencies as they are: θ_i = B^{−2i/d}. The other scalings are kinds of this one."""

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """Angle that each of the dims/2 pairs turns from one position to the next."""
        return rotary_frequencies(base, dims)

    @property
    def gain(self) -> float:
        """What rotated queries and keys are multiplied by; logits get its square."""
        return 1.0


UNSCALED = Scaling()


@dataclass(frozen=True, kw_only=True)
class Linear(Scaling):
    """Positions are divided by a factor (position interpolation).

        θ'_i = θ_i / s

    >>> Linear(factor=4.0).frequencies(10_000.0, 4)
    array([0.25  , 0.0025])
    """

    factor: float

    def __post_init__(self) -> None:
        _require_factor(self.factor)

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """Every frequency divided by the factor."""
        return rotary_frequencies(base, dims) / self.factor


@dataclass(frozen=True, kw_only=True)
class Ntk(Scaling):
    """The base grows so that the slowest pair slows by the factor and the fastest keeps its speed (NTK-aware).

        θ'_i = B'^{−2i/d},   B' = B s^{d/(d−2)}

    >>> Ntk(factor=4.0).frequencies(10_000.0, 4).round(6)
    array([1.    , 0.0025])
    """

    factor: float

    def __post_init__(self) -> None:
        _require_factor(self.factor)

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """Frequencies of the grown base."""
        if dims <= 2:
            raise InputError(
                f"{dims} rotary dims make one pair, which cannot both slow down and keep its speed. Use 4 or more."
            )
        return rotary_frequencies(base * self.factor ** (dims / (dims - 2)), dims)


@dataclass(frozen=True, kw_only=True)
class Yarn(Scaling):
    """Pairs that turn often within the original length are kept, those that hardly turn are stretched.

        θ'_i = γ_i θ_i + (1 − γ_i) θ_i / s,   gain = 0.1 ln s + 1

    In the paper γ is linear in the rotations r_i = Lθ_i/2π, from 0 at `beta_slow` to 1 at `beta_fast`.
    The released code makes it linear in i between the pairs with those rotations, rounded outward to whole pairs;
    models are trained with the code, so `ramp` follows it unless told otherwise.
    `attention_gain` replaces 0.1 ln s + 1; with 1.0, "rotations" and `beta_fast=4.0` this is Llama 3.1's scaling.

    >>> Yarn(factor=4.0, original_length=64).frequencies(10_000.0, 4)
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
            raise InputError(f"ramp is {self.ramp!r}, which names no ramp. Use one of {', '.join(get_args(Ramp))}.")
        if not 0 < self.beta_slow < self.beta_fast:
            raise InputError(
                f"beta_slow is {self.beta_slow} and beta_fast is {self.beta_fast}, so the ramp has no length. "
                "Use 0 < beta_slow < beta_fast."
            )
        if not self.original_length > 2 * math.pi * self.beta_slow:
            raise InputError(
                f"Within an original length of {self.original_length} even the fastest pair turns fewer than "
                f"{self.beta_slow} times, so every pair would be stretched. Use Linear, or a longer length."
            )

    @property
    def gain(self) -> float:
        """The square root of the inverse attention temperature: 0.1 ln s + 1 unless given."""
        return 0.1 * math.log(self.factor) + 1 if self.attention_gain is None else self.attention_gain

    def frequencies(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """Each frequency between its own and a factor-th of it."""
        plain = rotary_frequencies(base, dims)
        kept = self._kept_by_rotations(plain) if self.ramp == "rotations" else self._kept_by_pairs(base, dims)
        return plain * (kept + (1 - kept) / self.factor)

    def _kept_by_rotations(self, plain: Float[np.ndarray, " pair"]) -> Float[np.ndarray, " pair"]:
        """γ along the number of rotations within the original length."""
        rotations = self.original_length * plain / (2 * math.pi)
        return np.clip((rotations - self.beta_slow) / (self.beta_fast - self.beta_slow), 0, 1)

    def _kept_by_pairs(self, base: float, dims: int) -> Float[np.ndarray, " pair"]:
        """γ along the index of the pair."""
        first, last = (
            dims * math.log(self.original_length / (2 * math.pi * rotations)) / (2 * math.log(base))
            for rotations in (self.beta_fast, self.beta_slow)
        )
        if self.ramp == "whole-pairs":
            first, last = math.floor(first), math.ceil(last)
        # The released code clamps at the last dim, not at the last pair, and parts ends that meet by a thousandth.
        first, last = max(first, 0), min(last, dims - 1)
        return 1 - np.clip((np.arange(dims // 2) - first) / max(last - first, 0.001), 0, 1)


def _require_factor(factor: float) -> None:
    """A stretch, not a squeeze."""
    if not (factor >= 1 and math.isfinite(factor)):
        raise InputError(f"The factor is {factor}, which would not stretch the context. Use a number of at least 1.")
