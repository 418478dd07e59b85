"""Plain rows of tokens as a model reads them: each token sees itself and all before it."""

import torch
from torch import Tensor

from regard.axes import Int
from regard.model import Passage

__all__ = ["plain_passage"]


def plain_passage(tokens: Int[Tensor, "row token"]) -> Passage:
    """Rows that begin at position 0; what pads them on the right is seen by nothing before it."""
    before = torch.full((*tokens.shape, 2), -1)
    before[:, 1:, 0], before[:, 2:, 1] = tokens[:, :-1], tokens[:, :-2]
    visible = torch.ones(*tokens.shape, tokens.shape[1], dtype=torch.bool).tril_()
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    return Passage(tokens=tokens, positions=positions, visible=visible, before=before)
