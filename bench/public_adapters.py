"""Layers of `check_public.jsonl` that want something else than tokens, each in at most ten lines."""

from importlib import import_module
from typing import Any

import torch
from torch import nn


class Gated(nn.Module):
    """diffusers GatedSelfAttentionDense: its objects are the tokens."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.inner = import_module("diffusers.models.attention").GatedSelfAttentionDense(width, width, 4, 8)

    def forward(self, x: Any) -> Any:
        """The gated tokens."""
        return self.inner(x, x)


class Mochi(nn.Module):
    """diffusers MochiAttention: its text is the tokens too."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        own = import_module("diffusers.models.attention_processor")
        self.inner = own.MochiAttention(width, width, own.MochiAttnProcessor2_0(), heads=4, dim_head=8)

    def forward(self, x: Any) -> Any:
        """The outputs of the tokens, every text token being shown."""
        return self.inner(x, encoder_hidden_states=x, attention_mask=torch.ones(x.shape[:2], dtype=torch.bool))[0]


class Jet(nn.Module):
    """vit_pytorch JetViTLinearAttention: an image of one row, however long it is."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.inner = import_module("vit_pytorch.jet_vit").JetViTLinearAttention(width, 1, 1, heads=4, dim_head=8)

    def forward(self, x: Any) -> Any:
        """The outputs for an image of this length."""
        self.inner.w_s = self.inner.dynamic_conv.w_s = x.shape[1]
        return self.inner(x)


class SharedKeys(nn.Module):
    """block_recurrent_transformer_pytorch Attention: one head of keys and values, without an axis for it."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.inner = import_module("block_recurrent_transformer_pytorch.block_recurrent_transformer_pytorch").Attention(
            8
        )
        self.q, self.kv = nn.Linear(width, 32), nn.Linear(width, 16)

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Attention between projections."""
        q, (k, v) = self.q(x).unflatten(-1, (4, 8)).transpose(1, 2), self.kv(x).chunk(2, dim=-1)
        return self.inner(q, k, v, mask=mask).transpose(1, 2).flatten(2)


class Buckets(nn.Module):
    """reformer_pytorch LSHAttention: queries that are keys, in two buckets, however long the input is."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.inner = import_module("reformer_pytorch.reformer_pytorch").LSHAttention(n_hashes=2)
        self.qk, self.v = nn.Linear(width, 32), nn.Linear(width, 32)

    def forward(self, x: Any) -> Any:
        """The outputs of an input that is repeated to an even length; the same buckets in each call."""
        torch.manual_seed(0)
        self.inner.bucket_size = x.shape[1]
        return self.inner(self.qk(x).repeat(1, 2, 1), self.v(x).repeat(1, 2, 1))[0][:, : x.shape[1]]


class Points(nn.Module):
    """invariant_point_attention: every token in the frame of the origin."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        kind = import_module("invariant_point_attention.invariant_point_attention").InvariantPointAttention
        self.inner = kind(dim=width, heads=4, require_pairwise_repr=False)

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Attention in one frame."""
        turns = torch.eye(3, dtype=x.dtype).expand(*x.shape[:2], 3, 3)
        return self.inner(x, rotations=turns, translations=torch.zeros_like(x[..., :3]), mask=mask)
