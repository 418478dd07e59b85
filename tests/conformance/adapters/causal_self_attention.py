"""A correct causal self-attention in torch: rotary positions, grouped heads, a mask, positions and a cache."""

from typing import Any

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    def __init__(self, width: int = 32, num_heads: int = 4, num_kv_heads: int = 2, base: float = 10_000.0) -> None:
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_width = num_heads, num_kv_heads, width // num_heads
        self.q_proj = nn.Linear(width, num_heads * self.head_width)
        self.k_proj = nn.Linear(width, num_kv_heads * self.head_width)
        self.v_proj = nn.Linear(width, num_kv_heads * self.head_width)
        self.o_proj = nn.Linear(num_heads * self.head_width, width)
        self.base = base

    def rotate(self, heads: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        half = self.head_width // 2
        powers = torch.arange(half, dtype=torch.float64) / half
        angles = positions[:, None, :, None].double() * self.base**-powers
        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
        left, right = heads[..., :half], heads[..., half:]
        return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1)

    def heads(self, flat: torch.Tensor, num_heads: int) -> torch.Tensor:
        return flat.unflatten(-1, (num_heads, self.head_width)).transpose(1, 2)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None = None,
        positions: torch.Tensor | None = None,
        cache: Any = None,
        use_cache: bool = False,
    ) -> Any:
        batch, length, _ = x.shape
        past = 0 if cache is None else cache[0].shape[2]
        if mask is None:
            mask = torch.ones(batch, past + length, dtype=torch.bool)
        if positions is None:
            positions = (mask.cumsum(1) - 1).clamp(min=0)[:, past:]
        q = self.rotate(self.heads(self.q_proj(x), self.num_heads), positions)
        k = self.rotate(self.heads(self.k_proj(x), self.num_kv_heads), positions)
        v = self.heads(self.v_proj(x), self.num_kv_heads)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        y = self.attend(q, k, v, mask)
        return (y, (k, v)) if use_cache else y

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        groups = self.num_heads // self.num_kv_heads
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        scores = q @ k.transpose(-1, -2) * self.head_width**-0.5
        past = k.shape[2] - q.shape[2]
        ahead = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(past + 1)
        scores = scores.masked_fill(ahead | ~mask[:, None, None, :], torch.finfo(scores.dtype).min)
        mixed = scores.softmax(-1) @ v
        return self.o_proj(mixed.transpose(1, 2).flatten(2))
