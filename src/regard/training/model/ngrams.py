"""A table of hashed word pairs and triples, added to the token embeddings."""

import torch
from torch import Tensor, nn

from regard.core.axes import Float, Int

_PAIR, _TRIPLE, _APART = 1_000_003, 998_244_353, 7_368_787


def ngram_rows(
    tokens: Int[Tensor, "batch position"],
    first: Int[Tensor, "batch position"],
    second: Int[Tensor, "batch position"],
    *,
    num_rows: int,
) -> Int[Tensor, "batch position 2"]:
    """The rows of the bigram and the trigram that end at each token.

        (p·(t₁ + 1) + t₀) mod R  and  (q·(t₂ + 1) + p·(t₁ + 1) + t₀ + s) mod R

    `first` and `second` are the tokens t₁ and t₂, one and two places back, −1 where there is none. So a token with
    nothing before it has the rows t₀ and t₀ + s (mod R), which no other such token has if R is large.
    """
    pair = _PAIR * (first.long() + 1) + tokens
    return torch.stack([pair % num_rows, (_TRIPLE * (second.long() + 1) + pair + _APART) % num_rows], dim=-1)


class NgramTable(nn.Module):
    """The sum of two rows for each token; it starts at zero, and only rows that are used have a gradient."""

    def __init__(self, num_rows: int, width: int) -> None:
        super().__init__()
        self.rows = nn.Embedding(num_rows, width, sparse=True)
        nn.init.zeros_(self.rows.weight)

    def forward(self, rows: Int[Tensor, "batch position 2"]) -> Float[Tensor, "batch position width"]:
        """What is added to each token's embedding."""
        return self.rows(rows).sum(dim=-2)
