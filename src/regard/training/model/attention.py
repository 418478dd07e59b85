"""Self-attention of a decoder, with grouped heads, normalized queries and keys, and a cache."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.axes import Float
from regard.training.model.config import ModelConfig
from regard.training.model.layers import Dense, rms_norm
from regard.training.model.positions import Rotation


class LayerKVCache:
    """The keys and values of one layer, for up to `shape[-2]` positions."""

    def __init__(self, shape: tuple[int, int, int, int], dtype: torch.dtype) -> None:
        self.keys, self.values = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
        self.length = 0

    def extend(
        self, keys: Float[Tensor, "batch head new width"], values: Float[Tensor, "batch head new width"]
    ) -> tuple[Float[Tensor, "batch head key width"], Float[Tensor, "batch head key width"]]:
        """All keys and values so far, the new ones last."""
        end = self.length + keys.shape[-2]
        assert end <= self.keys.shape[-2], "the cache was made for fewer positions"
        self.keys[..., self.length : end, :] = keys
        self.values[..., self.length : end, :] = values
        self.length = end
        return self.keys[..., :end, :], self.values[..., :end, :]


class KVCache:
    """A cache per layer, and the positions of everything read so far; `is_real` is false for padding."""

    def __init__(self, config: ModelConfig, *, batch: int, room: int, dtype: torch.dtype = torch.float32) -> None:
        shape = (batch, config.kv_heads, room, config.head_width)
        self.layers = [LayerKVCache(shape, dtype) for _ in range(config.num_layers)]
        self.positions = torch.zeros((batch, 0), dtype=torch.long)
        self.is_real = torch.zeros((batch, 0), dtype=torch.bool)

    def append_positions(self, positions: Tensor, is_real: Tensor) -> None:
        """Records the positions of the tokens to be read next."""
        self.positions = torch.cat([self.positions, positions], dim=1)
        self.is_real = torch.cat([self.is_real, is_real], dim=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionContext:
    """What all layers share about a batch: the bias of the logits (−∞ for hidden keys), and how heads are rotated."""

    bias: Float[Tensor, "batch #head query key"]
    rotate: Rotation | None = None


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
        return heads if context.rotate is None else context.rotate(heads)

    def _repeated(self, heads: Tensor) -> Tensor:
        return heads if self.kv_heads == self.num_heads else heads.repeat_interleave(self.num_heads // self.kv_heads, 1)
