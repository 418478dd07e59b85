"""Position codes inside a decoder: what each adds to embeddings, rotates or adds to logits, with its learned table."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from regard.core.axes import Float, Int
from regard.positions import ModelSizes, PositionCode, codes
from regard.positions.rotary import Rotary
from regard.positions.sinusoidal import sinusoid
from regard.training.model.config import ModelConfig

Rotation: TypeAlias = Callable[[Tensor], Tensor]


class PositionEncoding(nn.Module):
    """How a decoder encodes positions: by the hooks of any position code, whose table it learns if there is one."""

    table: Tensor | None

    def __init__(self, code: PositionCode) -> None:
        super().__init__()
        self._code = code
        table = getattr(code, "table", None)
        self.register_parameter("table", None if table is None else nn.Parameter(torch.tensor(table).float()))

    @property
    def code(self) -> PositionCode:
        """The code with what has been learned."""
        return self._code if self.table is None else replace(self._code, table=self.table)  # type: ignore[type-var]

    def add(
        self, embeddings: Float[Tensor, "batch position width"], positions: Int[Tensor, "batch position"]
    ) -> Float[Tensor, "batch position width"]:
        """The embeddings with their positions added."""
        return self.code.add(embeddings, positions)

    def rotation(self, positions: Int[Tensor, "batch position"], dtype: torch.dtype) -> Rotation | None:  # noqa: ARG002
        """What rotates queries and keys at these positions, if anything does."""
        code = self.code
        return None if type(code).rotate is PositionCode.rotate else lambda x: code.rotate(x, positions[:, None])

    def bias(
        self, queries: Int[Tensor, "batch query"], keys: Int[Tensor, "batch key"]
    ) -> Float[Tensor, "batch head query key"] | None:
        """What is added to the logits, if anything."""
        return self.code.bias(queries, keys)


class _RotaryEncoding(PositionEncoding):
    """The angles of all positions are computed once."""

    def __init__(self, code: PositionCode, config: ModelConfig) -> None:
        super().__init__(code)
        self.angles = RotaryAngles(
            Rotary(base=config.rotary_base, layout="half-split"), config.head_width, config.max_length
        )

    def rotation(self, positions: Tensor, dtype: torch.dtype) -> Rotation:
        angles = self.angles.at(positions, dtype)
        return lambda x: rotate(x, *angles)


class _LearnedEncoding(PositionEncoding):
    """The table starts with small random numbers."""

    def __init__(self, code: PositionCode, config: ModelConfig) -> None:
        super().__init__(code)
        self.table = nn.Parameter(0.02 * torch.randn(config.max_length, config.width))

    def add(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        assert self.table is not None
        return embeddings + self.table[positions].to(embeddings.dtype)


class _SinusoidalEncoding(PositionEncoding):
    """The codes of all positions are computed once."""

    waves: Tensor

    def __init__(self, code: PositionCode, config: ModelConfig) -> None:
        super().__init__(code)
        waves = torch.from_numpy(sinusoid(np.arange(config.max_length), width=config.width))
        # About as large as the embeddings: those of a lean model are normalized, others start small.
        self.register_buffer("waves", waves if config.is_lean else 0.02 * waves, persistent=False)

    def add(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        return embeddings + self.waves[positions].to(embeddings.dtype)


# Codes that can be computed faster than by their hooks, or that start in their own way.
_FASTER = {"learned": _LearnedEncoding, "rotary": _RotaryEncoding, "sinusoidal": _SinusoidalEncoding}


def position_encoding(config: ModelConfig) -> PositionEncoding:
    """The encoding that the configuration names."""
    sizes = ModelSizes(
        width=config.width, head_width=config.head_width, num_heads=config.num_heads, max_length=config.max_length
    )
    code = codes()[config.positions].for_model(sizes)
    faster = _FASTER.get(config.positions)
    return PositionEncoding(code) if faster is None else faster(code, config)


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
