"""Self-attention of a decoder, with grouped heads, normalised queries and keys, and a cache."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.axes import Float
from regard.training.model.cache import LayerCache
from regard.training.model.config import ModelConfig
from regard.training.model.fused import rms_norm
from regard.training.model.linear import Dense
from regard.training.model.turning import turn


@dataclass(frozen=True, kw_only=True, eq=False)
class Frame:
    """What every layer needs to know of a batch: the biases of its logits and the angles of its positions.

    The bias is −∞ where a query may not look.
    """

    bias: Float[Tensor, "batch #head query key"]
    angles: tuple[Tensor, Tensor] | None = None


class SelfAttention(nn.Module):
    """softmax(s·QKᵀ + B)V for each head, joined by an output matrix.

    Queries and keys are normalised (if the configuration says so) and then turned by rotary positions.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.num_heads, self.kv_heads, self.head_width = config.num_heads, config.kv_heads, config.head_width
        self.scale = config.qk_scale if config.qk_norm else config.head_width**-0.5
        self.is_normed, self.dropout = config.qk_norm, config.dropout
        width = config.head_width
        self.project = Dense(config.width, (self.num_heads + 2 * self.kv_heads) * width, has_bias=not config.is_lean)
        self.output = Dense(self.num_heads * width, config.width, has_bias=not config.is_lean, is_zero=config.is_lean)

    def forward(
        self, x: Float[Tensor, "batch position width"], frame: Frame, cache: LayerCache | None = None
    ) -> Float[Tensor, "batch position width"]:
        """What each position gathers from those that its bias lets it see."""
        queries, keys, values = self.heads(x, frame)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        mixed = self._mix(queries, self._shared(keys), self._shared(values), frame)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def weights(
        self, x: Float[Tensor, "batch position width"], frame: Frame
    ) -> Float[Tensor, "batch head position position"]:
        """The share of attention that each position gives each other one, head by head."""
        queries, keys, _ = self.heads(x, frame)
        return self._shares(queries, self._shared(keys), frame)

    def heads(self, x: Float[Tensor, "batch position width"], frame: Frame) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values as they meet in the dot product."""
        batch, length, _ = x.shape
        joined = self.project(x).view(batch, length, -1, self.head_width)
        # Parted before heads change places with positions, so that one copy joins their gradients.
        parts = joined.split([self.num_heads, self.kv_heads, self.kv_heads], dim=2)
        queries, keys, values = (part.transpose(1, 2) for part in parts)
        return self._placed(queries, frame), self._placed(keys, frame), values

    def _mix(self, queries: Tensor, keys: Tensor, values: Tensor, frame: Frame) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        if queries.dtype is torch.bfloat16 and queries.is_cpu:
            # The fused kernel computes in float32 inside; products take a third of its time where bfloat16 is native.
            return F.dropout(self._shares(queries, keys, frame), dropout) @ values
        return F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=frame.bias, dropout_p=dropout, scale=self.scale
        )

    def _shares(self, queries: Tensor, keys: Tensor, frame: Frame) -> Tensor:
        return torch.softmax(torch.add(frame.bias, queries @ keys.mT, alpha=self.scale), dim=-1)

    def _placed(self, heads: Tensor, frame: Frame) -> Tensor:
        if self.is_normed:
            heads = rms_norm(heads)
        return heads if frame.angles is None else turn(heads, *frame.angles)

    def _shared(self, heads: Tensor) -> Tensor:
        return heads if self.kv_heads == self.num_heads else heads.repeat_interleave(self.num_heads // self.kv_heads, 1)
