"""Bidirectional attention with an additive mask of padded keys and no positions."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Layer(nn.Module):
    """Self-attention as in BERT."""

    def __init__(self, width: int = 32, num_heads: int = 4) -> None:
        super().__init__()
        self.num_heads, self.head_width = num_heads, width // num_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)

    def transpose_for_scores(self, x: Tensor) -> Tensor:
        """Heads before positions."""
        shape = (*x.shape[:-1], self.num_heads, self.head_width)
        return x.view(shape).permute(0, 2, 1, 3)

    def extended_mask(self, mask: Tensor | None, like: Tensor) -> Tensor | None:
        """0 for a token and a huge negative number for padding, to be added to the logits of a key."""
        if mask is None:
            return None
        padding = 1.0 - mask[:, None, None, :].to(like.dtype)
        return padding * torch.finfo(like.dtype).min

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        """Attention with a bias added to the logits."""
        scores = torch.matmul(queries, keys.transpose(-1, -2))
        scores = scores / math.sqrt(self.head_width)
        if bias is not None:
            scores = scores + bias
        probabilities = F.softmax(scores, dim=-1)
        probabilities = self.dropout(probabilities)
        return torch.matmul(probabilities, values), probabilities

    def attend_fused(self, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None) -> tuple[Tensor, None]:
        """The same by torch's fused kernel."""
        dropout = self.dropout.p if self.training else 0.0
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=bias, dropout_p=dropout), None

    def forward(self, x, *, mask=None, path=""):
        """Output and weights; an encoder has no cache."""
        queries = self.transpose_for_scores(self.query(x))
        keys = self.transpose_for_scores(self.key(x))
        values = self.transpose_for_scores(self.value(x))
        bias = self.extended_mask(mask, x)
        attend = self.attend_fused if path == "sdpa" else self.attend
        context, probabilities = attend(queries, keys, values, bias)
        context = context.permute(0, 2, 1, 3).contiguous()
        context = context.view(*context.shape[:-2], self.num_heads * self.head_width)
        return self.output(context), probabilities, None

    def core(self, queries: Tensor, keys: Tensor, values: Tensor, *, mask=None, causal=False) -> Tensor:
        """Attention of given queries, keys and values."""
        bias = torch.zeros(1, 1, queries.shape[2], keys.shape[2], dtype=queries.dtype)
        lowest = torch.finfo(bias.dtype).min
        if causal:
            future = torch.ones(bias.shape, dtype=torch.bool).triu(1 + keys.shape[2] - queries.shape[2])
            bias = bias.masked_fill(future, lowest)
        if mask is not None:
            bias = bias.masked_fill(~mask, lowest)
        return self.attend(queries, keys, values, bias)[0]
