"""Matrices whose numbers are kept in float32 and used in the dtype of what they meet."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.core.axes import Float


def _find_onednn() -> Callable[..., Tensor] | None:
    """oneDNN's product, where it is worth calling.

    PyTorch gives float32 products to MKL, which leaves AVX-512 unused on processors that are not Intel's. oneDNN, which
    makes the bfloat16 products anyway, uses it, but PyTorch has no public name for that.
    """
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not torch.backends.mkldnn.is_available():
        return None
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


_ONEDNN = _find_onednn()


class Dense(nn.Module):
    """xWᵀ + b in the dtype of x, with W and b kept in float32."""

    def __init__(self, inputs: int, outputs: int, *, has_bias: bool = False, is_zero: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, inputs) if is_zero else _spread(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if has_bias else None

    def forward(self, x: Float[Tensor, "*batch input"]) -> Float[Tensor, "*batch output"]:
        """The product."""
        weight, bias = self.weight.to(x.dtype), None if self.bias is None else self.bias.to(x.dtype)
        if _ONEDNN is not None and x.is_cpu and x.dtype is torch.float32 and x.numel():
            return _Product.apply(x, weight, bias)
        return F.linear(x, weight, bias)


class _Product(torch.autograd.Function):
    """xWᵀ + b and its gradients by oneDNN."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        rows = gradient.reshape(-1, len(weight))
        has_x, has_weight, has_bias = ctx.needs_input_grad
        return (
            _product(gradient, weight.T) if has_x else None,
            _crossed(rows, x.reshape(-1, weight.shape[1])) if has_weight else None,
            rows.sum(dim=0) if has_bias else None,
        )


def _crossed(left: Tensor, right: Tensor) -> Tensor:
    """leftᵀ·right, with the narrower of the two copied so that its columns are rows: that is less to copy."""
    if left.shape[1] < right.shape[1]:
        return _product(left.T.contiguous(), right.T)
    return _product(right.T.contiguous(), left.T).T


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    assert _ONEDNN is not None
    return _ONEDNN(x, weight, bias, "none", [], "")


def _spread(outputs: int, inputs: int) -> Tensor:
    """Uniform numbers with variance 1/(3·inputs)."""
    bound = inputs**-0.5
    return torch.empty(outputs, inputs).uniform_(-bound, bound)
