"""Position codes inside a decoder: what each adds to embeddings, rotates or adds to logits, with its learned table."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.core.axes import Float, Int
from regard.core.errors import InputError
from regard.positions.alibi import Alibi
from regard.positions.rotary import Rotary
from regard.positions.sinusoidal import sinusoid
from regard.positions.t5_buckets import t5_bucket
from regard.training.model.config import ModelConfig


class PositionEncoding(nn.Module):
    """How a decoder encodes positions. This base class does not encode them at all."""

    def __init__(self) -> None:
        super().__init__()
        # Not a class attribute: that would hide the submodule of a subclass.
        self.rotary: RotaryAngles | None = None

    def add(
        self,
        embeddings: Float[Tensor, "batch position width"],
        positions: Int[Tensor, "batch position"],  # noqa: ARG002
    ) -> Float[Tensor, "batch position width"]:
        """The embeddings with their positions added."""
        return embeddings

    def bias(
        self,
        queries: Int[Tensor, "batch query"],  # noqa: ARG002
        keys: Int[Tensor, "batch key"],  # noqa: ARG002
    ) -> Float[Tensor, "batch head query key"] | None:
        """What is added to the logits, if anything."""
        return None


class _Rotary(PositionEncoding):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        code = Rotary(base=config.rotary_base, layout="half-split")
        self.rotary = RotaryAngles(code, config.head_width, config.max_length)


class _Additive(PositionEncoding):
    table: Tensor

    def add(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        return embeddings + self.table[positions].to(embeddings.dtype)


class _Learned(_Additive):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(config.max_length, config.width))


class _Sinusoidal(_Additive):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        waves = torch.from_numpy(sinusoid(np.arange(config.max_length), width=config.width))
        # About as large as the embeddings: those of a lean model are normalized, others start small.
        self.register_buffer("table", waves if config.is_lean else 0.02 * waves, persistent=False)


class _Alibi(PositionEncoding):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.code = Alibi(num_heads=config.num_heads)

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        return self.code.bias(queries, keys)


class _T5Buckets(PositionEncoding):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.max_distance = max(config.max_length, 32)
        self.table = nn.Parameter(torch.zeros(32, config.num_heads))

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        gaps = keys[..., None, :] - queries[..., :, None]
        buckets = t5_bucket(gaps, num_buckets=len(self.table), max_distance=self.max_distance, is_causal=True)
        return self.table[buckets].movedim(-1, -3)


_ENCODINGS = {
    "alibi": _Alibi,
    "learned": _Learned,
    "none": lambda _: PositionEncoding(),
    "rotary": _Rotary,
    "sinusoidal": _Sinusoidal,
    "t5_buckets": _T5Buckets,
}


def position_encoding(config: ModelConfig) -> PositionEncoding:
    """The encoding that the configuration names."""
    if config.positions not in _ENCODINGS:
        known = ", ".join(sorted(_ENCODINGS))
        raise InputError(f"The decoder does not support {config.positions!r} positions. It supports: {known}.")
    return _ENCODINGS[config.positions](config)


class RotaryAngles(nn.Module):
    """Cosines and sines of all positions' angles, as `Rotary` defines them, for half-split heads."""

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


def rotate(
    heads: Float[Tensor, "*batch position width"],
    cos: Float[Tensor, "*#batch position pair"],
    sin: Float[Tensor, "*#batch position pair"],
) -> Float[Tensor, "*batch position width"]:
    """Each pair (x_i, x_{i+d/2}) rotated by its angle.

    (x, y) → (x cos θ − y sin θ, x sin θ + y cos θ)
    """
    if heads.requires_grad and torch.is_grad_enabled():
        return _Rotation.apply(heads, cos, sin)
    return _rotated(heads, cos, sin)


class _Rotation(torch.autograd.Function):
    """The gradient of a rotation is the gradient rotated back, so only the angles are kept."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _rotated(heads, cos, sin)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _rotated(gradients[0], cos, -sin), None, None


def _rotated(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Writes every number once, without temporary arrays."""
    first, second = heads.chunk(2, dim=-1)
    rotated = torch.empty(heads.shape, dtype=heads.dtype, device=heads.device)
    left, right = rotated.chunk(2, dim=-1)
    torch.mul(first, cos, out=left)
    left.addcmul_(second, sin, value=-1)
    torch.mul(second, cos, out=right)
    right.addcmul_(first, sin)
    return rotated
