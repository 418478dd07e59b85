"""Causal attention with a sink: one learned logit per head that takes its share of the weight and gives no value."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Layer(nn.Module):
    """Attention as in GPT-OSS, every layer full."""

    def __init__(self, width: int = 32, num_heads: int = 4, num_kv_heads: int = 2) -> None:
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_width = num_heads, num_kv_heads, width // num_heads
        self.qkv = nn.Linear(width, (num_heads + 2 * num_kv_heads) * self.head_width)
        self.out = nn.Linear(num_heads * self.head_width, width)
        self.sinks = nn.Parameter(torch.zeros(num_heads))
        self.rates = 150_000.0 ** (-torch.arange(0, self.head_width, 2, dtype=torch.float64) / self.head_width)

    def rope(self, x: Tensor, positions: Tensor) -> Tensor:
        """Half-split rotary positions on [batch, position, head, width]."""
        angles = torch.einsum("bt,f->btf", positions.double(), self.rates)[:, :, None]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        first, second = torch.chunk(x, 2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Queries [batch, position, kv head, group, width] to keys [batch, position, kv head, width]."""
        num_queries, num_keys = q.shape[1], k.shape[1]
        logits = torch.einsum("bqhgd,bkhd->bhgqk", q, k) / self.head_width**0.5
        hidden = torch.triu(q.new_ones(num_queries, num_keys), diagonal=num_keys - num_queries + 1).bool()
        if mask is not None:
            hidden = hidden | ~mask[:, None, None, None, :]
        logits = logits.masked_fill(hidden, -torch.inf)
        sinks = self.sinks.view(1, self.num_kv_heads, -1, 1, 1).expand(*logits.shape[:-1], 1)
        logits = torch.cat([logits, sinks], dim=-1)
        weights = F.softmax(logits, dim=-1)[..., :-1]
        return torch.einsum("bhgqk,bkhd->bqhgd", weights, v)

    def forward(self, x, *, mask=None, positions=None, cache=None, path=""):  # noqa: ARG002
        """Output, no weights, and the cache."""
        batch, length, _ = x.shape
        past = 0 if cache is None else cache[0].shape[1]
        if positions is None:
            positions = torch.arange(past, past + length).expand(batch, length)
        sizes = [n * self.head_width for n in (self.num_heads, self.num_kv_heads, self.num_kv_heads)]
        q, k, v = (part.unflatten(-1, (-1, self.head_width)) for part in self.qkv(x).split(sizes, dim=-1))
        q, k = self.rope(q, positions), self.rope(k, positions)
        if cache is not None:
            k, v = torch.cat((cache[0], k), dim=1), torch.cat((cache[1], v), dim=1)
        grouped = q.unflatten(2, (self.num_kv_heads, -1))
        mixed = self.attend(grouped, k, v, mask)
        return self.out(mixed.reshape(batch, length, -1)), None, (k, v)
