"""Causal attention with interleaved rotary positions on a part of each head."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def sinusoids(positions: Tensor, rotary_width: int) -> tuple[Tensor, Tensor]:
    """Sines and cosines [batch, position, 1, rotary_width / 2] of the angles."""
    inverse = 1.0 / (10000 ** (torch.arange(0, rotary_width, 2, dtype=torch.float64) / rotary_width))
    angles = torch.einsum("bt,f->btf", positions.to(torch.float64), inverse)
    return torch.sin(angles)[:, :, None, :], torch.cos(angles)[:, :, None, :]


def rotate_every_two(x: Tensor) -> Tensor:
    """(a, b, c, d, …) → (−b, a, −d, c, …)."""
    even = x[..., ::2]
    odd = x[..., 1::2]
    return torch.stack((-odd, even), dim=-1).flatten(-2)


def apply_rotary(x: Tensor, sin: Tensor, cos: Tensor) -> Tensor:
    """Neighbouring coordinates rotated by their angle."""
    sin = sin.repeat_interleave(2, dim=-1)
    cos = cos.repeat_interleave(2, dim=-1)
    return x * cos + rotate_every_two(x) * sin


class Layer(nn.Module):
    """Attention as in GPT-J."""

    def __init__(self, width: int = 48, num_heads: int = 3, rotary_width: int = 8) -> None:
        super().__init__()
        self.num_heads, self.head_width, self.rotary_width = num_heads, width // num_heads, rotary_width
        self.scale_attn = self.head_width**0.5
        self.attn_dropout = nn.Dropout(0.1)
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, width, bias=False)
        self.v_proj = nn.Linear(width, width, bias=False)
        self.out_proj = nn.Linear(width, width, bias=True)

    def split_heads(self, x: Tensor) -> Tensor:
        """Positions stay before heads until the rotation is done."""
        return x.view(*x.shape[:2], self.num_heads, self.head_width)

    def merge_heads(self, x: Tensor) -> Tensor:
        """Heads side by side again."""
        x = x.permute(0, 2, 1, 3).contiguous()
        return x.view(*x.shape[:2], self.num_heads * self.head_width)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """The first coordinates of each head are rotated, the rest are unchanged."""
        sin, cos = sinusoids(positions, self.rotary_width)
        turned, rest = x[..., : self.rotary_width], x[..., self.rotary_width :]
        turned = apply_rotary(turned, sin.to(x.dtype), cos.to(x.dtype))
        return torch.cat([turned, rest], dim=-1)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Attention under the causal mask and the padding."""
        num_queries, num_keys = queries.shape[-2], keys.shape[-2]
        causal = torch.ones(num_keys, num_keys, dtype=torch.bool).tril()[num_keys - num_queries : num_keys]
        visible = causal[None, None]
        if mask is not None:
            visible = visible & mask[:, None, None, :]
        scores = torch.matmul(queries, keys.transpose(-1, -2))
        scores = scores / self.scale_attn
        scores = torch.where(visible, scores, torch.finfo(scores.dtype).min)
        weights = F.softmax(scores, dim=-1)
        weights = torch.where(visible, weights, 0.0)
        weights = self.attn_dropout(weights)
        return torch.matmul(weights, values), weights

    def forward(self, x, *, mask=None, positions=None, cache=None, path=""):  # noqa: ARG002
        """Output, weights, and the cache."""
        queries = self.split_heads(self.q_proj(x))
        keys = self.split_heads(self.k_proj(x))
        values = self.split_heads(self.v_proj(x)).permute(0, 2, 1, 3)
        num_past = cache["keys"].shape[-2] if cache else 0
        if positions is None:
            positions = torch.arange(num_past, num_past + x.shape[1]).expand(x.shape[:2])
        queries = self.rotate(queries, positions).permute(0, 2, 1, 3)
        keys = self.rotate(keys, positions).permute(0, 2, 1, 3)
        if cache:
            keys = torch.cat((cache["keys"], keys), dim=-2)
            values = torch.cat((cache["values"], values), dim=-2)
        cache = {"keys": keys, "values": values}
        mixed, weights = self.attend(queries, keys, values, mask)
        return self.out_proj(self.merge_heads(mixed)), weights, cache
