"""Plain rows of tokens as a model reads them: each token sees itself and all before it."""

import torch
from torch import Tensor

from regard.core.axes import Int
from regard.training.model import Passage


def plain_passage(tokens: Int[Tensor, "row token"], head_lengths: Int[Tensor, " row"]) -> Passage:
    """Rows that begin at position 0 with heads of these lengths; what pads them on the right is seen by nothing before.

    As in training, pairs and triples of words do not reach from the head into what follows.
    """
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    inside = torch.where(positions < head_lengths[:, None], positions, positions - head_lengths[:, None])
    before = [torch.where(inside >= back, tokens.roll(back, dims=1), -1) for back in (1, 2)]
    visible = torch.ones(*tokens.shape, tokens.shape[1], dtype=torch.bool).tril_()
    return Passage(tokens=tokens, positions=positions, visible=visible, before=torch.stack(before, dim=-1))
