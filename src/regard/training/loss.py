"""The loss of many predictions, with its gradient, in pieces that fit the processor's cache."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.core.axes import Float, Int

_ROWS = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class Wanted:
    """The row `owners[i]` should predict the token `targets[i]`, with weight `weights[i]`; owners must not decrease."""

    owners: Int[Tensor, " target"]
    targets: Int[Tensor, " target"]
    weights: Float[Tensor, " target"]


def prediction_loss(
    hidden: Float[Tensor, "row width"],
    head: Float[Tensor, "token width"],
    log_counts: Float[Tensor, " token"],
    wanted: Wanted,
) -> Float[Tensor, ""]:
    """Σ_i w_i (log Σ_t c_t e^{z_{r_i t}} − z_{r_i t_i}) with z = hidden·headᵀ, r_i = owners[i] and c = e^log_counts.

    A row may have several targets; c is 1 for all of them. The scores of all tokens are never held at once, and
    gradients are made on the way, since the scores would have to be made again for them.
    """
    return _PredictionLoss.apply(hidden, head, log_counts, wanted.owners, wanted.targets, wanted.weights)


class _PredictionLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, head: Tensor, log_counts: Tensor, *wanted: Tensor) -> Tensor:
        owners, targets, weights = wanted
        used = head.to(hidden.dtype)
        row_weights = torch.zeros(len(hidden)).index_add_(0, owners, weights)
        hidden_gradient = torch.empty_like(hidden)
        head_gradient = torch.zeros_like(head)
        loss = torch.zeros((), dtype=torch.float64)
        edges = torch.searchsorted(owners, torch.arange(0, len(hidden) + _ROWS, _ROWS))
        for number, first in enumerate(range(0, len(hidden), _ROWS)):
            rows, pairs = slice(first, first + _ROWS), slice(int(edges[number]), int(edges[number + 1]))
            here, asked, shares = owners[pairs] - first, targets[pairs], weights[pairs]
            scores = (hidden[rows] @ used.T).float().add_(log_counts)
            asked_scores, tops = scores[here, asked], scores.amax(dim=-1, keepdim=True)
            sums = scores.sub_(tops).exp_().sum(dim=-1, keepdim=True)
            logs = sums.log().add_(tops)[:, 0]
            loss += (shares * (logs[here] - asked_scores)).sum()
            errors = scores.mul_(row_weights[rows, None] / sums)
            errors.index_put_((here, asked), -shares, accumulate=True)
            errors = errors.to(hidden.dtype)
            hidden_gradient[rows] = errors @ used
            head_gradient += errors.T @ hidden[rows]
        ctx.save_for_backward(hidden_gradient, head_gradient)
        return loss.float()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden_gradient, head_gradient = ctx.saved_tensors
        both = hidden_gradient * gradients[0].to(hidden_gradient.dtype), head_gradient * gradients[0]
        return (*both, None, None, None, None)
