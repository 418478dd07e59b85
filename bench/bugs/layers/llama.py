"""Causal attention with grouped heads, half-split rotary positions, a cache of rotated keys and a padding mask."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def rotate_half(x: Tensor) -> Tensor:
    """(first, second) → (−second, first)."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def apply_rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Each pair of coordinates rotated by its angle."""
    return x * cos + rotate_half(x) * sin


def repeat_kv(x: Tensor, num_groups: int) -> Tensor:
    """Every key-value head, once for each query head of its group."""
    batch, heads, length, width = x.shape
    x = x[:, :, None].expand(batch, heads, num_groups, length, width)
    return x.reshape(batch, heads * num_groups, length, width)


class Layer(nn.Module):
    """Attention as in Llama."""

    def __init__(self, width: int = 32, num_heads: int = 4, num_kv_heads: int = 2, base: float = 10_000.0) -> None:
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_width = num_heads, num_kv_heads, width // num_heads
        self.base, self.dropout = base, 0.1
        self.q_proj = nn.Linear(width, num_heads * self.head_width, bias=False)
        self.k_proj = nn.Linear(width, num_kv_heads * self.head_width, bias=False)
        self.v_proj = nn.Linear(width, num_kv_heads * self.head_width, bias=False)
        self.o_proj = nn.Linear(num_heads * self.head_width, width, bias=False)

    def rotary(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosines and sines of all angles, for every position."""
        exponents = torch.arange(0, self.head_width, 2, dtype=torch.float64) / self.head_width
        angles = positions[:, :, None].to(torch.float64) * self.base**-exponents
        angles = torch.cat((angles, angles), dim=-1)[:, None]
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def split(self, x: Tensor, num_heads: int) -> Tensor:
        """Heads before positions."""
        batch, length, _ = x.shape
        return x.view(batch, length, num_heads, self.head_width).transpose(1, 2)

    def allowed(self, num_queries: int, num_keys: int, mask: Tensor | None) -> Tensor:
        """True where a query may look; the last query is aligned with the last key."""
        past = num_keys - num_queries
        rows = torch.arange(num_queries)[:, None] + past
        columns = torch.arange(num_keys)[None, :]
        allowed = (columns <= rows)[None, None]
        if mask is not None:
            allowed = allowed & mask[:, None, None, :]
        return allowed

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """Attention itself; a query that may look nowhere gives zero."""
        keys = repeat_kv(keys, self.num_heads // self.num_kv_heads)
        values = repeat_kv(values, self.num_heads // self.num_kv_heads)
        scores = queries @ keys.transpose(-2, -1) * self.head_width**-0.5
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        weights = torch.softmax(scores, dim=-1)
        weights = weights.masked_fill(~allowed, 0.0)
        weights = F.dropout(weights, self.dropout, self.training)
        return weights @ values, weights

    def attend_in_chunks(self, queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """The same, three queries at a time, to save memory."""
        parts = []
        for start in range(0, queries.shape[2], 3):
            part = allowed[:, :, start : start + 3]
            parts.append(self.attend(queries[:, :, start : start + 3], keys, values, part))
        return torch.cat([part[0] for part in parts], dim=2), torch.cat([part[1] for part in parts], dim=2)

    def forward(self, x, *, mask=None, positions=None, cache=None, path=""):
        """Output, weights, and the cache of keys and values."""
        batch, length, _ = x.shape
        past = 0 if cache is None else cache[0].shape[2]
        if positions is None:
            positions = torch.arange(past, past + length)[None, :].expand(batch, -1)
        queries = self.split(self.q_proj(x), self.num_heads)
        keys = self.split(self.k_proj(x), self.num_kv_heads)
        values = self.split(self.v_proj(x), self.num_kv_heads)
        cos, sin = self.rotary(positions, x.dtype)
        queries, keys = apply_rotary(queries, cos, sin), apply_rotary(keys, cos, sin)
        if cache is not None:
            keys = torch.cat((cache[0], keys), dim=2)
            values = torch.cat((cache[1], values), dim=2)
        allowed = self.allowed(length, keys.shape[2], mask)
        attend = self.attend_in_chunks if path == "chunked" else self.attend
        mixed, weights = attend(queries, keys, values, allowed)
        mixed = mixed.transpose(1, 2).reshape(batch, length, -1)
        return self.o_proj(mixed), weights, (keys, values)

    def core(self, queries: Tensor, keys: Tensor, values: Tensor, *, mask=None, causal=True) -> Tensor:
        """Attention of given queries, keys and values."""
        allowed = self.allowed(queries.shape[2], keys.shape[2], None)
        allowed = allowed if causal else torch.ones_like(allowed)
        if mask is not None:
            allowed = allowed & mask
        return self.attend(queries, keys, values, allowed)[0]
