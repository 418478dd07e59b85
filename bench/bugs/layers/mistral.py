"""Causal sliding-window attention with grouped heads, rotary positions and a rolling cache of the last keys."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class RollingCache:
    """The last keys and values that a later query can still see, and how many tokens there were in all."""

    keys: Tensor
    values: Tensor
    num_seen: int


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Coordinates i and i + width / 2 rotated together."""
    half = x.shape[-1] // 2
    left, right = x[..., :half], x[..., half:]
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


class Layer(nn.Module):
    """Attention as in Mistral."""

    def __init__(self, width: int = 32, num_heads: int = 4, num_kv_heads: int = 2, window: int = 4) -> None:
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_width = num_heads, num_kv_heads, width // num_heads
        self.window, self.rope_theta = window, 1_000_000.0
        self.wq = nn.Linear(width, num_heads * self.head_width, bias=False)
        self.wkv = nn.Linear(width, 2 * num_kv_heads * self.head_width, bias=False)
        self.wo = nn.Linear(num_heads * self.head_width, width, bias=False)

    def angles(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosines and sines [batch, 1, position, head_width / 2]."""
        steps = torch.arange(self.head_width // 2, dtype=torch.float64)
        frequencies = self.rope_theta ** (-2 * steps / self.head_width)
        angles = positions.to(torch.float64)[:, None, :, None] * frequencies
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def visible(self, num_queries: int, num_keys: int, mask: Tensor | None) -> Tensor:
        """Causal, at most `window` keys back, no padding."""
        query_index = torch.arange(num_keys - num_queries, num_keys).unsqueeze(-1)
        key_index = torch.arange(num_keys).unsqueeze(0)
        visible = (key_index <= query_index) & (query_index - key_index < self.window)
        if mask is None:
            return visible[None, None]
        return visible[None, None] & mask[:, None, None, -num_keys:]

    def remember(self, keys: Tensor, values: Tensor, num_seen: int) -> RollingCache:
        """Only what the next query can see is kept."""
        keep = self.window - 1
        first = max(keys.shape[2] - keep, 0)
        return RollingCache(keys[:, :, first:], values[:, :, first:], num_seen)

    def forward(self, x, *, mask=None, positions=None, cache=None, path=""):  # noqa: ARG002
        """Output, no weights, and the cache."""
        batch, length, _ = x.shape
        num_seen = cache.num_seen if cache is not None else 0
        if positions is None:
            positions = (num_seen + torch.arange(length)).repeat(batch, 1)
        queries = self.wq(x).view(batch, length, self.num_heads, self.head_width).transpose(1, 2)
        fused = self.wkv(x).view(batch, length, 2, self.num_kv_heads, self.head_width)
        keys, values = fused.permute(2, 0, 3, 1, 4)
        cos, sin = self.angles(positions, x.dtype)
        queries, keys = rotate(queries, cos, sin), rotate(keys, cos, sin)
        if cache is not None:
            keys = torch.cat([cache.keys, keys], dim=2)
            values = torch.cat([cache.values, values], dim=2)
        visible = self.visible(length, keys.shape[2], mask)
        kept = self.remember(keys, values, num_seen + length)
        groups = self.num_heads // self.num_kv_heads
        keys, values = keys.repeat_interleave(groups, dim=1), values.repeat_interleave(groups, dim=1)
        mixed = F.scaled_dot_product_attention(queries, keys, values, attn_mask=visible)
        mixed = mixed.transpose(1, 2).contiguous().view(batch, length, -1)
        return self.wo(mixed), None, kept
