"""Cross-attention: queries from one sequence, keys and values from another, which may be longer or padded."""

import torch
from torch import Tensor, nn


class Layer(nn.Module):
    """Attention of a decoder to its encoder's output."""

    def __init__(self, width: int = 32, num_heads: int = 4, chunk: int = 4) -> None:
        super().__init__()
        self.num_heads, self.head_width, self.chunk = num_heads, width // num_heads, chunk
        self.scale = self.head_width**-0.5
        self.to_q = nn.Linear(width, width, bias=True)
        self.to_kv = nn.Linear(width, 2 * width, bias=True)
        self.to_out = nn.Sequential(nn.Linear(width, width), nn.Dropout(0.1))

    def heads(self, x: Tensor) -> Tensor:
        """[batch, position, width] → [batch, head, position, head_width]."""
        return x.unflatten(-1, (self.num_heads, self.head_width)).transpose(1, 2)

    def softmax(self, logits: Tensor, mask: Tensor | None) -> Tensor:
        """Shares of the visible keys; none where no key is visible."""
        visible = torch.ones(1, 1, 1, logits.shape[-1], dtype=torch.bool) if mask is None else mask
        logits = logits.masked_fill(~visible, -1e30)
        powers = torch.exp(logits - logits.amax(dim=-1, keepdim=True)) * visible
        total = powers.sum(dim=-1, keepdim=True)
        return powers / torch.where(total > 0, total, 1.0)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None) -> tuple[Tensor, Tensor]:
        """Attention of queries to keys."""
        logits = torch.einsum("bhqd,bhkd->bhqk", q, k) * self.scale
        weights = self.softmax(logits, visible)
        return torch.einsum("bhqk,bhkd->bhqd", weights, v), weights

    def attend_by_blocks(self, q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None) -> tuple[Tensor, None]:
        """The same one block of keys at a time, with a running maximum and a running total."""
        shape = (*q.shape[:-1], 1)
        largest, total, mixed = q.new_full(shape, -1e30), q.new_zeros(shape), torch.zeros_like(q)
        for start in range(0, k.shape[2], self.chunk):
            block = slice(start, start + self.chunk)
            logits = torch.einsum("bhqd,bhkd->bhqk", q, k[:, :, block]) * self.scale
            seen = torch.ones_like(logits, dtype=torch.bool) if visible is None else visible[..., block]
            logits = logits.masked_fill(~seen, -1e30)
            highest = torch.maximum(largest, logits.amax(dim=-1, keepdim=True))
            powers, shrink = torch.exp(logits - highest) * seen, torch.exp(largest - highest)
            total = total * shrink + powers.sum(dim=-1, keepdim=True)
            mixed = mixed * shrink + powers @ v[:, :, block]
            largest = highest
        return mixed / torch.where(total > 0, total, 1.0), None

    def forward(self, x, *, memory=None, mask=None, path=""):
        """Output and weights; the mask is of the memory, which is x itself if none is given."""
        memory = x if memory is None else memory
        q = self.heads(self.to_q(x))
        k, v = self.to_kv(memory).chunk(2, dim=-1)
        k, v = self.heads(k), self.heads(v)
        visible = None if mask is None else mask[:, None, None, :]
        attend = self.attend_by_blocks if path == "blocks" else self.attend
        mixed, weights = attend(q, k, v, visible)
        return self.to_out(mixed.transpose(1, 2).flatten(-2)), weights, None

    def core(self, queries: Tensor, keys: Tensor, values: Tensor, *, mask=None, causal=False) -> Tensor:
        """Attention of given queries, keys and values; the last query is aligned with the last key if causal."""
        visible = mask
        if causal:
            offset = keys.shape[2] - queries.shape[2]
            past = torch.ones(queries.shape[2], keys.shape[2], dtype=torch.bool).tril(offset)
            visible = past if mask is None else past & mask
        return self.attend(queries, keys, values, visible)[0]
