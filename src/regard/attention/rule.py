"""The rule that turns queries and keys into weights."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from regard.attention._shapes import require_positive
from regard.core.axes import Array, Float
from regard.core.errors import InputError

Empty: TypeAlias = Literal["raise", "zero", "uniform", "nan"]
"""What a query that may attend to no key gets: an error, zeros, 1/n for each of all n keys, or NaN."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """Scale, softcap, bias and the fate of a query without keys: all that an attention rule can vary.

        z = C tanh(s q·k / C) + b

    with s the scale (1/√width unless given), C the softcap (without one, z = s q·k + b) and b the bias.
    The cap comes after the scale and before the bias, as in Gemma 2. T5 has s = 1.
    """

    scale: float | None = None
    softcap: float | None = None
    bias: Float[Array, "..."] | None = None
    empty: Empty = "raise"

    def __post_init__(self) -> None:
        require_positive("The softcap", self.softcap)
        if self.empty not in get_args(Empty):
            policies = ", ".join(get_args(Empty))
            raise InputError(f"empty is {self.empty!r}, which names no policy. Use one of {policies}.")


PLAIN = Rule()
"""Scaled dot-product attention as first published: s = 1/√width, no cap, no bias."""
