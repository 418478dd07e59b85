"""Small operations whose gradients are written out, so that memory is passed over few times."""

from typing import Any

import torch
from torch import Tensor

from regard.core.axes import Float

_SMALLEST = 1e-6


def rms_norm(x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
    """Each vector scaled to mean square one: x / √(mean x²)."""
    return _RmsNorm.apply(x)


def squared_relu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """max(x, 0)²."""
    return _SquaredRelu.apply(x)


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        size = torch.linalg.vector_norm(x, dim=-1, keepdim=True).mul_(x.shape[-1] ** -0.5)
        inverse = size.clamp_min_(_SMALLEST).reciprocal_()
        normed = x * inverse
        ctx.save_for_backward(normed, inverse)
        return normed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        normed, inverse = ctx.saved_tensors
        along = (gradients[0] * normed).mean(dim=-1, keepdim=True)
        return torch.addcmul(gradients[0], normed, along, value=-1).mul_(inverse)


class _SquaredRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        positive = x.clamp_min(0)
        ctx.save_for_backward(positive)
        return positive.square()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (positive,) = ctx.saved_tensors
        return (gradients[0] * positive).mul_(2)
