"""Causal attention on inputs that have learned absolute positions, with one fused projection."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Layer(nn.Module):
    """The first attention layer of GPT-2, position table included."""

    bias: Tensor

    def __init__(self, width: int = 32, num_heads: int = 4, max_positions: int = 64) -> None:
        super().__init__()
        self.num_heads, self.width = num_heads, width
        self.wpe = nn.Embedding(max_positions, width)
        self.c_attn_weight = nn.Parameter(torch.empty(width, 3 * width))
        self.c_attn_bias = nn.Parameter(torch.empty(3 * width))
        self.c_proj_weight = nn.Parameter(torch.empty(width, width))
        self.c_proj_bias = nn.Parameter(torch.empty(width))
        self.attn_pdrop = 0.1
        self.register_buffer("bias", torch.tril(torch.ones(max_positions, max_positions, dtype=torch.bool)))

    def heads(self, x: Tensor) -> Tensor:
        """[batch, position, width] → [batch, head, position, head_width]."""
        return x.view(x.size(0), x.size(1), self.num_heads, self.width // self.num_heads).transpose(1, 2)

    def visible(self, num_queries: int, num_keys: int, mask: Tensor | None) -> Tensor:
        """The rows of the triangle that belong to these queries, without padding."""
        visible = self.bias[None, None, num_keys - num_queries : num_keys, :num_keys]
        if mask is not None:
            visible = visible & mask.view(mask.size(0), 1, 1, -1)
        return visible

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The softmax step by step."""
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        visible = self.visible(q.size(-2), k.size(-2), mask)
        att = att.masked_fill(~visible, torch.finfo(att.dtype).min)
        att = F.softmax(att, dim=-1) * visible
        att = F.dropout(att, p=self.attn_pdrop, training=self.training)
        return att @ v, att

    def forward(self, x, *, mask=None, positions=None, cache=None, path=""):
        """Output, weights if the eager path was taken, and the cache."""
        batch, length, width = x.size()
        past = cache[0].size(-2) if cache is not None else 0
        if positions is None:
            positions = torch.arange(past, past + length).unsqueeze(0)
        x = x + self.wpe(positions)
        fused = x @ self.c_attn_weight + self.c_attn_bias
        q, k, v = fused.split(self.width, dim=2)
        q, k, v = self.heads(q), self.heads(k), self.heads(v)
        if cache is not None:
            k = torch.cat((cache[0], k), dim=-2)
            v = torch.cat((cache[1], v), dim=-2)
        weights = None
        if mask is None and cache is None and path != "eager":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y, weights = self.attend(q, k, v, mask)
        y = y.transpose(1, 2).contiguous().view(batch, length, width)
        return y @ self.c_proj_weight + self.c_proj_bias, weights, (k, v)
