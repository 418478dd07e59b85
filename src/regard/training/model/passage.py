"""What a decoder reads in one go."""

from dataclasses import dataclass

from torch import Tensor

from regard.core.axes import Bool, Int


@dataclass(frozen=True, kw_only=True, eq=False)
class Passage:
    """Tokens, where they stand, and whom each may see.

    `visible` says which keys, cached ones first, each position may see; `before` holds the tokens one and two places
    back, −1 where there is none.
    """

    tokens: Int[Tensor, "batch position"]
    positions: Int[Tensor, "batch position"]
    visible: Bool[Tensor, "batch position key"]
    before: Int[Tensor, "batch position 2"]
