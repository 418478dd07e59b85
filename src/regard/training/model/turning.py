"""Rotary positions at speed: the tables are made once, and turning writes each number once."""

from typing import Any

import torch
from torch import Tensor

from regard.core.axes import Float
from regard.positions.rotary import Rotary


class Turns(torch.nn.Module):
    """Cosines and sines of every position's angles, as `Rotary` defines them, for half-split heads."""

    cos: Tensor
    sin: Tensor

    def __init__(self, code: Rotary, head_width: int, max_length: int) -> None:
        super().__init__()
        frequencies = torch.from_numpy(code.frequencies(head_width))
        angles = torch.arange(max_length, dtype=torch.float64)[:, None] * frequencies
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def at(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """The rows of these positions, with an axis for the heads."""
        return self.cos[positions].unsqueeze(-3).to(dtype), self.sin[positions].unsqueeze(-3).to(dtype)


def turn(
    heads: Float[Tensor, "*batch position width"],
    cos: Float[Tensor, "*#batch position pair"],
    sin: Float[Tensor, "*#batch position pair"],
) -> Float[Tensor, "*batch position width"]:
    """Each pair (x_i, x_{i+d/2}) turned by its angle.

    (x, y) → (x cos θ − y sin θ, x sin θ + y cos θ)
    """
    if heads.requires_grad and torch.is_grad_enabled():
        return _Turn.apply(heads, cos, sin)
    return _turned(heads, cos, sin)


class _Turn(torch.autograd.Function):
    """A rotation's gradient is the gradient turned back, so nothing but the angles is kept."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turned(heads, cos, sin)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _turned(gradients[0], cos, -sin), None, None


def _turned(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = heads.chunk(2, dim=-1)
    turned = torch.empty(heads.shape, dtype=heads.dtype, device=heads.device)
    left, right = turned.chunk(2, dim=-1)
    torch.mul(first, cos, out=left)
    left.addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=right)
    right.addcmul_(first, sin)
    return turned
