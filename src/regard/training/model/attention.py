"""Self-attention of a decoder, with grouped heads, normalized queries and keys, and a cache."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.axes import Float
from regard.training.model.config import ModelConfig
from regard.training.model.inputs import LayerKVCache
from regard.training.model.layers import Dense, rms_norm
from regard.training.model.positions import rotate


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionContext:
    """What all layers share about a batch: the bias of the logits (−∞ for hidden keys) and rotary cosines and sines."""

    bias: Float[Tensor, "batch #head query key"]
    angles: tuple[Tensor, Tensor] | None = None


class SelfAttention(nn.Module):
    """softmax(s·QKᵀ + B)V for each head, joined by an output matrix.

    Queries and keys are normalized (if the configuration says so) and then rotated by rotary positions.
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
        self, x: Float[Tensor, "batch position width"], context: AttentionContext, cache: LayerKVCache | None = None
    ) -> Float[Tensor, "batch position width"]:
        """What each position gathers from the keys it may see."""
        queries, keys, values = self._heads(x, context)
        if cache is not None:
            keys, values = cache.extend(keys, values)
        mixed = self._attend(queries, self._repeated(keys), self._repeated(values), context)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def weights(
        self, x: Float[Tensor, "batch position width"], context: AttentionContext
    ) -> Float[Tensor, "batch head position position"]:
        """The attention weights of each head."""
        queries, keys, _ = self._heads(x, context)
        return self._weights(queries, self._repeated(keys), context)

    def _heads(
        self, x: Float[Tensor, "batch position width"], context: AttentionContext
    ) -> tuple[Tensor, Tensor, Tensor]:
        batch, length, _ = x.shape
        joined = self.project(x).view(batch, length, -1, self.head_width)
        # Split before transposing, so that one copy joins the gradients.
        parts = joined.split([self.num_heads, self.kv_heads, self.kv_heads], dim=2)
        queries, keys, values = (part.transpose(1, 2) for part in parts)
        return self._positioned(queries, context), self._positioned(keys, context), values

    def _attend(self, queries: Tensor, keys: Tensor, values: Tensor, context: AttentionContext) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        if queries.dtype is torch.bfloat16 and queries.is_cpu:
            # PyTorch's fused kernel computes in float32; plain products take a third of its time in native bfloat16.
            return F.dropout(self._weights(queries, keys, context), dropout) @ values
        return F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=context.bias, dropout_p=dropout, scale=self.scale
        )

    def _weights(self, queries: Tensor, keys: Tensor, context: AttentionContext) -> Tensor:
        return torch.softmax(torch.add(context.bias, queries @ keys.mT, alpha=self.scale), dim=-1)

    def _positioned(self, heads: Tensor, context: AttentionContext) -> Tensor:
        if self.is_normed:
            heads = rms_norm(heads)
        return heads if context.angles is None else rotate(heads, *context.angles)

    def _repeated(self, heads: Tensor) -> Tensor:
        return heads if self.kv_heads == self.num_heads else heads.repeat_interleave(self.num_heads // self.kv_heads, 1)
