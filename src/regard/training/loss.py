"""The loss of many predictions, with its gradient, in pieces that fit the processor's cache."""

from typing import Any

import torch
from torch import Tensor

from regard.axes import Float, Int

__all__ = ["prediction_loss"]

_ROWS = 256


def prediction_loss(
    hidden: Float[Tensor, "row width"],
    head: Float[Tensor, "token width"],
    owners: Int[Tensor, " target"],
    targets: Int[Tensor, " target"],
    weights: Float[Tensor, " target"],
) -> Float[Tensor, ""]:
    """Σ_i w_i (log Σ_t e^{z_{r_i t}} − z_{r_i t_i}) with z = hidden·headᵀ and r_i = owners[i].

    A row may have several targets. Owners must not decrease. The scores of all tokens are never held at once, and
    gradients are made on the way, since the scores would have to be made again for them.
    """
    return _PredictionLoss.apply(hidden, head, owners, targets, weights)


class _PredictionLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, head: Tensor, *asked: Tensor) -> Tensor:
        owners, targets, weights = asked
        used = head.to(hidden.dtype)
        row_weights = torch.zeros(len(hidden)).index_add_(0, owners, weights)
        hidden_gradient = torch.empty_like(hidden)
        head_gradient = torch.zeros_like(head)
        loss = torch.zeros((), dtype=torch.float64)
        edges = torch.searchsorted(owners, torch.arange(0, len(hidden) + _ROWS, _ROWS))
        for number, first in enumerate(range(0, len(hidden), _ROWS)):
            rows, pairs = slice(first, first + _ROWS), slice(int(edges[number]), int(edges[number + 1]))
            here, wanted, shares = owners[pairs] - first, targets[pairs], weights[pairs]
            scores = (hidden[rows] @ used.T).float()
            logs = torch.logsumexp(scores, dim=-1)
            loss += (shares * (logs[here] - scores[here, wanted])).sum()
            errors = scores.sub_(logs[:, None]).exp_().mul_(row_weights[rows, None])
            errors.index_put_((here, wanted), -shares, accumulate=True)
            errors = errors.to(hidden.dtype)
            hidden_gradient[rows] = errors @ used
            head_gradient += errors.T @ hidden[rows]
        ctx.save_for_backward(hidden_gradient, head_gradient)
        return loss.float()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_gradient, head_gradient = ctx.saved_tensors
        return hidden_gradient * gradients[0].to(hidden_gradient.dtype), head_gradient * gradients[0], None, None, None
