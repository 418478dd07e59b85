"""Matrices whose numbers are kept in float32 and used in the dtype of what they meet."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.axes import Float

__all__ = ["Dense"]


class Dense(nn.Module):
    """xWᵀ + b in the dtype of x, with W and b kept in float32."""

    def __init__(self, inputs: int, outputs: int, *, has_bias: bool = False, is_zero: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs) if is_zero else _spread(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if has_bias else None

    def forward(self, x: Float[Tensor, "*batch input"]) -> Float[Tensor, "*batch output"]:
        """The product."""
        return F.linear(x, self.weight.to(x.dtype), None if self.bias is None else self.bias.to(x.dtype))


def _spread(outputs: int, inputs: int) -> Tensor:
    """Uniform numbers with variance 1/(3·inputs)."""
    bound = inputs**-0.5
    return torch.empty(outputs, inputs).uniform_(-bound, bound)
