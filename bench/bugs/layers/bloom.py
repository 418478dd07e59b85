"""Causal attention whose logits fall with the distance (ALiBi), from one fused projection interleaved by head."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def alibi_slopes(num_heads: int) -> Tensor:
    """2^(−8h/H) for a power of two; else those of the next smaller power, and every other one of the next larger."""
    closest = 2 ** math.floor(math.log2(num_heads))
    base = 2 ** (-(2 ** -(math.log2(closest) - 3)))
    slopes = [base**power for power in range(1, closest + 1)]
    if closest != num_heads:
        extra_base = 2 ** (-(2 ** -(math.log2(2 * closest) - 3)))
        slopes += [extra_base**power for power in range(1, 1 + 2 * (num_heads - closest), 2)]
    return torch.tensor(slopes, dtype=torch.float64)


class Layer(nn.Module):
    """Attention as in Bloom."""

    def __init__(self, width: int = 48, num_heads: int = 6) -> None:
        super().__init__()
        self.num_heads, self.head_width = num_heads, width // num_heads
        self.inv_norm_factor = 1.0 / math.sqrt(self.head_width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.dense = nn.Linear(width, width)
        self.attention_dropout = nn.Dropout(0.1)
        self.slopes = alibi_slopes(num_heads)

    def split(self, fused: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [batch, head, position, width]."""
        fused = fused.view(*fused.shape[:2], self.num_heads, 3, self.head_width).transpose(1, 2)
        return fused[..., 0, :], fused[..., 1, :], fused[..., 2, :]

    def bias(self, num_queries: int, num_keys: int, dtype: torch.dtype) -> Tensor:
        """−slope · distance, for every head, query and key."""
        query_index = torch.arange(num_keys - num_queries, num_keys)[:, None]
        key_index = torch.arange(num_keys)[None, :]
        distance = query_index - key_index
        return (-self.slopes[:, None, None] * distance).to(dtype)[None]

    def hidden(self, num_queries: int, num_keys: int, mask: Tensor | None) -> Tensor:
        """True where a query must not look."""
        hidden = torch.ones(num_queries, num_keys, dtype=torch.bool)
        hidden = hidden.triu(diagonal=1 + num_keys - num_queries)[None, None]
        if mask is not None:
            padding = ~mask
            hidden = hidden | padding[:, None, None, :]
        return hidden

    def forward(self, x, *, mask=None, cache=None, path=""):  # noqa: ARG002
        """Output, weights, and the cache; keys are kept transposed, as Bloom does."""
        batch, length, width = x.shape
        queries, keys, values = self.split(self.query_key_value(x))
        keys = keys.transpose(-1, -2)
        if cache is not None:
            past_keys, past_values = cache
            keys = torch.cat((past_keys, keys), dim=-1)
            values = torch.cat((past_values, values), dim=-2)
        num_keys = keys.shape[-1]
        scores = torch.matmul(queries, keys) * self.inv_norm_factor
        scores = scores + self.bias(length, num_keys, scores.dtype)
        hidden = self.hidden(length, num_keys, mask)
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
        weights = F.softmax(scores, dim=-1)
        weights = weights * (~hidden).to(weights.dtype)
        weights = self.attention_dropout(weights)
        context = torch.matmul(weights, values)
        context = context.permute(0, 2, 1, 3).reshape(batch, length, width)
        return self.dense(context), weights, (keys, values)
