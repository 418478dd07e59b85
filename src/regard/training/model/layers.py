"""The building blocks of a decoder: matrices, and small operations with hand-written gradients that save memory."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from regard.core.axes import Float

_SMALLEST = 1e-6


def _find_onednn() -> Callable[..., Tensor] | None:
    """oneDNN's matrix product, if it is worth calling.

    PyTorch gives float32 products to MKL, which leaves AVX-512 unused on processors that are not Intel's. oneDNN, which
    computes the bfloat16 products anyway, uses it, but PyTorch has no public name for that.
    """
    if torch.backends.cpu.get_cpu_capability() != "AVX512" or not torch.backends.mkldnn.is_available():
        return None
    return getattr(torch.ops.mkldnn, "_linear_pointwise", None)


_ONEDNN = _find_onednn()


class Dense(nn.Module):
    """xWᵀ + b in the dtype of x, with W and b stored in float32."""

    def __init__(self, inputs: int, outputs: int, *, has_bias: bool = False, is_zero: bool = False) -> None:
        super().__init__()
        # Uniform with variance 1/(3·inputs).
        bound = inputs**-0.5
        weight = torch.empty(outputs, inputs)
        self.weight = nn.Parameter(weight.zero_() if is_zero else weight.uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(outputs)) if has_bias else None

    def forward(self, x: Float[Tensor, "*batch input"]) -> Float[Tensor, "*batch output"]:
        """The product."""
        weight, bias = self.weight.to(x.dtype), None if self.bias is None else self.bias.to(x.dtype)
        if _ONEDNN is not None and x.is_cpu and x.dtype is torch.float32 and x.numel():
            return _OneDnnProduct.apply(x, weight, bias)
        return F.linear(x, weight, bias)


class _OneDnnProduct(torch.autograd.Function):
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
            _transposed_product(rows, x.reshape(-1, weight.shape[1])) if has_weight else None,
            rows.sum(dim=0) if has_bias else None,
        )


def _transposed_product(left: Tensor, right: Tensor) -> Tensor:
    """leftᵀ·right. oneDNN wants one factor transposed in memory; the narrower one is cheaper to copy."""
    if left.shape[1] < right.shape[1]:
        return _product(left.T.contiguous(), right.T)
    return _product(right.T.contiguous(), left.T).T


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    assert _ONEDNN is not None
    return _ONEDNN(x, weight, bias, "none", [], "")


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
