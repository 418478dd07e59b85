"""Sinusoidal codes: sines and cosines of many wavelengths, added to the embeddings."""

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from regard.core.axes import Array, Float, Real
from regard.core.errors import InputError
from regard.positions._code import PositionCode, even_width, positions_like


def sinusoid(
    positions: Real[Array, "*batch position"], *, width: int, base: float = 10_000.0
) -> Float[Array, "*batch position width"]:
    """The code of each position, in float64.

        Φ(t, 2i) = sin(t / B^{2i/d}),   Φ(t, 2i+1) = cos(t / B^{2i/d})

    >>> sinusoid(np.array([0, 1]), width=2).round(3)
    array([[0.   , 1.   ],
           [0.841, 0.54 ]])
    """
    xp = array_namespace(positions)
    exponents = np.arange(0, even_width("The width of a sinusoidal code", width), 2) / width
    wavelengths = xp.asarray(np.power(base, exponents), device=device(positions))
    angles = xp.astype(positions, xp.float64)[..., None] / wavelengths
    pairs = xp.stack([xp.sin(angles), xp.cos(angles)], axis=-1)
    return xp.reshape(pairs, (*positions.shape, width))


@dataclass(frozen=True, kw_only=True)
class Sinusoidal(PositionCode):
    """Adds the code of each position to its embedding.

        X + Φ,   Φ(t, 2i) = sin(t / B^{2i/d}),   Φ(t, 2i+1) = cos(t / B^{2i/d})

    The code is computed in float64; the sum is rounded once to the dtype of the embeddings.

    >>> Sinusoidal().add(np.zeros((1, 4)), np.array([0]))
    array([[0., 1., 0., 1.]])
    """

    base: float = 10_000.0

    def __post_init__(self) -> None:
        if not self.base > 1:
            raise InputError(f"The base is {self.base}, so the wavelengths would not grow. Use a base above 1.")

    def add(
        self, embeddings: Float[Array, "*batch position width"], positions: Real[Array, "*#batch position"]
    ) -> Float[Array, "*batch position width"]:
        """The embeddings plus the code of each position."""
        xp = array_namespace(embeddings)
        code = sinusoid(positions_like(positions, embeddings), width=embeddings.shape[-1], base=self.base)
        return xp.astype(xp.astype(embeddings, xp.float64) + code, embeddings.dtype)


CODE = Sinusoidal
