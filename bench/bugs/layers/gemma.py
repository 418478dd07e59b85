"""Causal attention with normalized queries and keys, capped logits, one key-value head and a scale of its own."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    """x / rms(x) · (1 + weight)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.eps = 1e-6
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        """Each head of each position has root mean square one before the gain."""
        normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return normed * (1.0 + self.weight)


def rotated(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """Half-split rotary positions by complex numbers."""
    half = x.shape[-1] // 2
    rates = theta ** (-torch.arange(half, dtype=torch.float64) / half)
    turns = torch.polar(torch.ones((), dtype=torch.float64), positions.to(torch.float64)[:, None, :, None] * rates)
    pairs = torch.complex(x[..., :half].double(), x[..., half:].double()) * turns
    return torch.cat((pairs.real, pairs.imag), dim=-1).to(x.dtype)


class Layer(nn.Module):
    """Attention as in Gemma 2 and 3."""

    def __init__(self, width: int = 32, num_heads: int = 4, query_scalar: float = 16.0, cap: float = 2.0) -> None:
        super().__init__()
        self.num_heads, self.head_width = num_heads, width // num_heads
        self.scaling, self.softcap = query_scalar**-0.5, cap
        self.qkv_proj = nn.Linear(width, (num_heads + 2) * self.head_width, bias=False)
        self.o_proj = nn.Linear(num_heads * self.head_width, width, bias=False)
        self.q_norm = RMSNorm(self.head_width)
        self.k_norm = RMSNorm(self.head_width)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Logits are capped first, then masked."""
        scores = torch.matmul(q * self.scaling, k.transpose(2, 3))
        scores = torch.tanh(scores / self.softcap) * self.softcap
        num_queries, num_keys = scores.shape[-2:]
        blocked = torch.full((num_queries, num_keys), True).triu(num_keys - num_queries + 1)[None, None]
        if mask is not None:
            blocked = blocked | ~mask[:, None, None]
        scores = scores.masked_fill(blocked, torch.finfo(scores.dtype).min)
        weights = F.softmax(scores, dim=-1).masked_fill(blocked, 0)
        return torch.matmul(weights, v), weights

    def forward(self, x, *, mask=None, positions=None, cache=None, path=""):  # noqa: ARG002
        """Output, weights, and the cache."""
        batch, length, _ = x.shape
        past = 0 if cache is None else cache["k"].shape[2]
        if positions is None:
            positions = torch.arange(length).add(past).expand(batch, length)
        fused = self.qkv_proj(x).view(batch, length, self.num_heads + 2, self.head_width).transpose(1, 2)
        q, k, v = fused.split([self.num_heads, 1, 1], dim=1)
        q, k = self.q_norm(q), self.k_norm(k)
        q, k = rotated(q, positions, 10_000.0), rotated(k, positions, 10_000.0)
        if cache is not None:
            k, v = torch.cat([cache["k"], k], 2), torch.cat([cache["v"], v], 2)
        mixed, weights = self.attend(q, k, v, mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, self.num_heads * self.head_width)
        return self.o_proj(mixed), weights, {"k": k, "v": v}
