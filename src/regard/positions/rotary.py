"""Rotary codes: queries and keys are turned, pair by pair, by angles that grow with position."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from array_api_compat import array_namespace, device

from regard.core.axes import Array, Float, Real
from regard.core.errors import InputError
from regard.positions._code import PositionCode, even_width, positions_like
from regard.positions.rotary_scaling import UNSCALED, Scaling

Layout: TypeAlias = Literal["interleaved", "half-split"]
"""Which numbers make a pair: neighbours (x_0, x_1), (x_2, x_3) …, or one from each half (x_i, x_{i+d/2})."""


@dataclass(frozen=True, kw_only=True)
class Rotary(PositionCode):
    """Each pair is turned by tθ_i, so scores depend on distances alone.

        (a, b) ↦ g (a cos tθ_i − b sin tθ_i,  a sin tθ_i + b cos tθ_i),   θ_i = B^{−2i/d}

    The first `rotary_dims` numbers are turned (all, unless given) and d counts those only; the rest stay.
    The scaling gives θ and the gain g, which is 1 for all but YaRN. Angles are formed in float64.

    >>> quarter = Rotary().rotate(np.array([[1.0, 0.0]]), np.array([np.pi / 2]))
    >>> quarter.round(3) + 0.0
    array([[0., 1.]])
    """

    base: float = 10_000.0
    layout: Layout = "interleaved"
    rotary_dims: int | None = None
    scaling: Scaling = UNSCALED

    def __post_init__(self) -> None:
        if self.layout not in get_args(Layout):
            raise InputError(f"layout is {self.layout!r}, which pairs nothing. Use {' or '.join(get_args(Layout))}.")
        if not self.base > 1:
            raise InputError(f"The base is {self.base}, so pairs would not slow down. Use a base above 1.")
        if self.rotary_dims is not None:
            even_width("rotary_dims", self.rotary_dims)

    def frequencies(self, width: int) -> Float[np.ndarray, " pair"]:
        """Angle that each pair of a head of this width turns from one position to the next."""
        return self.scaling.frequencies(self.base, self._dims(width))

    def rotate(
        self, heads: Float[Array, "*batch position width"], positions: Real[Array, "*#batch position"]
    ) -> Float[Array, "*batch position width"]:
        """The queries, or the keys, with each pair turned by its position times its frequency."""
        xp = array_namespace(heads)
        dims = self._dims(heads.shape[-1])
        placed = xp.astype(positions_like(positions, heads), xp.float64)
        angles = placed[..., None] * xp.asarray(self.frequencies(heads.shape[-1]), device=device(heads))
        cos, sin = self.scaling.gain * xp.cos(angles), self.scaling.gain * xp.sin(angles)
        wide = xp.astype(heads, xp.float64)
        first, second = _pairs(wide[..., :dims], self.layout)
        turned = _joined(first * cos - second * sin, first * sin + second * cos, self.layout)
        return xp.astype(xp.concat([turned, wide[..., dims:]], axis=-1), heads.dtype)

    def _dims(self, width: int) -> int:
        """How many of a head's numbers are turned."""
        if self.rotary_dims is None:
            return even_width("The head width", width)
        if self.rotary_dims > width:
            raise InputError(
                f"rotary_dims is {self.rotary_dims}, but heads have width {width}. Turn at most as many as there are."
            )
        return self.rotary_dims


def _pairs(
    x: Float[Array, "*batch position width"], layout: Layout
) -> tuple[Float[Array, "*batch position pair"], Float[Array, "*batch position pair"]]:
    """First and second number of each pair."""
    half = x.shape[-1] // 2
    return (x[..., 0::2], x[..., 1::2]) if layout == "interleaved" else (x[..., :half], x[..., half:])


def _joined(
    first: Float[Array, "*batch position pair"], second: Float[Array, "*batch position pair"], layout: Layout
) -> Float[Array, "*batch position width"]:
    """The inverse of `_pairs`."""
    xp = array_namespace(first)
    if layout == "half-split":
        return xp.concat([first, second], axis=-1)
    return xp.reshape(xp.stack([first, second], axis=-1), (*first.shape[:-1], 2 * first.shape[-1]))


CODE = Rotary
