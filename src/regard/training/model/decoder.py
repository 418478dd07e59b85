"""The decoder: embeddings, blocks, logits."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.axes import Bool, Float, Int
from regard.training.model.attention import AttentionContext, KVCache, LayerKVCache, SelfAttention
from regard.training.model.config import ModelConfig
from regard.training.model.layers import Dense, rms_norm, squared_relu
from regard.training.model.positions import position_encoding

_BIGRAM, _TRIGRAM, _OFFSET = 1_000_003, 998_244_353, 7_368_787


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelInput:
    """Tokens, their positions, and the keys each may see.

    `visible` covers all keys, cached ones first. `before` are the tokens one and two places back, −1 for none.
    """

    tokens: Int[Tensor, "batch position"]
    positions: Int[Tensor, "batch position"]
    visible: Bool[Tensor, "batch position key"]
    before: Int[Tensor, "batch position 2"]


def causal_input(tokens: Int[Tensor, "row token"], head_lengths: Int[Tensor, " row"]) -> ModelInput:
    """Rows of tokens from position 0 on, each seeing itself and all before it; rows may be padded on the right.

    As in training, n-grams do not reach from the head (of this length) into what follows it.
    """
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    inside = torch.where(positions < head_lengths[:, None], positions, positions - head_lengths[:, None])
    before = [torch.where(inside >= back, tokens.roll(back, dims=1), -1) for back in (1, 2)]
    visible = torch.ones(*tokens.shape, tokens.shape[1], dtype=torch.bool).tril_()
    return ModelInput(tokens=tokens, positions=positions, visible=visible, before=torch.stack(before, dim=-1))


class NgramTable(nn.Module):
    """A table of hashed bigrams and trigrams, added to the embeddings.

    It starts at zero, and only the rows in use have a gradient.
    """

    def __init__(self, num_rows: int, width: int) -> None:
        super().__init__()
        self.rows = nn.Embedding(num_rows, width, sparse=True)
        nn.init.zeros_(self.rows.weight)

    def forward(
        self, tokens: Int[Tensor, "batch position"], before: Int[Tensor, "batch position 2"]
    ) -> Float[Tensor, "batch position width"]:
        """The sum of the rows of the bigram and the trigram that end at each token.

            (p·(t₁ + 1) + t₀) mod R  and  (q·(t₂ + 1) + p·(t₁ + 1) + t₀ + s) mod R

        t₁ and t₂ are the tokens one and two places back, −1 for none. So a token with nothing before it has the rows
        t₀ and t₀ + s (mod R), which no other such token has if R is large.
        """
        first, second = before.unbind(-1)
        pair = _BIGRAM * (first + 1) + tokens
        rows = torch.stack([pair, _TRIGRAM * (second + 1) + pair + _OFFSET], dim=-1) % self.rows.num_embeddings
        return self.rows(rows).sum(dim=-2)


class FeedForward(nn.Module):
    """Two matrices with an activation between them, applied to each position on its own."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.activation = config.activation
        inner = 2 * config.hidden if config.activation == "swiglu" else config.hidden
        self.hidden = Dense(config.width, inner, has_bias=not config.is_lean)
        self.output = Dense(config.hidden, config.width, has_bias=not config.is_lean, is_zero=config.is_lean)

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """The output of each position."""
        return self.output(self._activated(self.hidden(x)))

    def _activated(self, x: Tensor) -> Tensor:
        if self.activation == "gelu":
            return F.gelu(x)
        if self.activation == "swiglu":
            gate, value = x.chunk(2, dim=-1)
            return F.silu(gate) * value
        return squared_relu(x) if self.activation == "relu2" else F.relu(x)


class DecoderBlock(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x)) if it has one."""

    def __init__(self, config: ModelConfig, *, has_feed_forward: bool = True) -> None:
        super().__init__()
        self.before_attention, self.attention = _norm(config), SelfAttention(config)
        self.before_feed_forward = _norm(config) if has_feed_forward else None
        self.feed_forward = FeedForward(config) if has_feed_forward else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "batch position width"], context: AttentionContext, cache: LayerKVCache | None = None
    ) -> Float[Tensor, "batch position width"]:
        """The residual stream after this block."""
        x = x + self.dropout(self.attention(self.before_attention(x), context, cache))
        if self.feed_forward is None or self.before_feed_forward is None:
            return x
        return x + self.dropout(self.feed_forward(self.before_feed_forward(x)))


class Decoder(nn.Module):
    """A decoder-only Transformer.

    `forward` gives the last hidden states, and `logits` turns selected ones into scores: a small model would spend most
    of its time on the scores of positions that have no target. `embedding_ids` lets tokens share an embedding: for each
    token it has the id of the one to use.
    """

    embedding_ids: Tensor | None

    def __init__(self, config: ModelConfig, embedding_ids: Int[np.ndarray, " token"] | None = None) -> None:
        super().__init__()
        self.config = config
        # The extra last entry maps −1, "no token", to itself.
        ids = None if embedding_ids is None else torch.from_numpy(np.append(embedding_ids, -1))
        self.register_buffer("embedding_ids", ids, persistent=False)
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        nn.init.normal_(self.embedding.weight, std=1.0 if config.is_lean else 0.02)
        self.ngrams = NgramTable(config.ngram_rows, config.width) if config.ngram_rows else None
        # Saved weights use this name.
        self.places = position_encoding(config)
        self.blocks = nn.ModuleList(
            DecoderBlock(config, has_feed_forward=number < config.feed_forwards) for number in range(config.num_layers)
        )
        self.last_norm = _norm(config)
        self.head = None if config.is_tied else Dense(config.width, config.vocab_size, is_zero=config.is_lean)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, given: ModelInput, *, cache: KVCache | None = None, dtype: torch.dtype = torch.float32
    ) -> Float[Tensor, "batch position width"]:
        """The hidden state of each token."""
        tokens, before = given.tokens, given.before
        if self.embedding_ids is not None:
            tokens, before = self.embedding_ids[tokens], self.embedding_ids[before]
        x = self.embedding(tokens)
        if self.ngrams is not None:
            x = x + self.ngrams(tokens, before)
        return self.run(x.to(dtype), given.positions, given.visible, cache=cache)

    def run(
        self,
        embeddings: Float[Tensor, "batch position width"],
        positions: Int[Tensor, "batch position"],
        visible: Bool[Tensor, "batch position key"],
        *,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "batch position width"]:
        """The hidden states of embeddings."""
        x = rms_norm(embeddings) if self.config.is_lean else embeddings
        x = self.dropout(self.places.add(x, positions))
        context = self.attention_context(positions, positions if cache is None else cache.positions, visible, x.dtype)
        for number, block in enumerate(self.blocks):
            x = block(x, context, None if cache is None else cache.layers[number])
        return self.last_norm(x)

    def attention_context(
        self,
        queries: Int[Tensor, "#batch query"],
        keys: Int[Tensor, "#batch key"],
        visible: Bool[Tensor, "batch query key"],
        dtype: torch.dtype,
    ) -> AttentionContext:
        """The biases for queries and keys at these positions, and the rotation of both."""
        bias = torch.zeros(visible.shape, dtype=dtype).masked_fill_(~visible, -torch.inf).unsqueeze(1)
        position_bias = self.places.bias(queries, keys)
        return AttentionContext(
            bias=bias if position_bias is None else bias + position_bias.to(dtype),
            rotate=self.places.rotation(queries, dtype),
        )

    @property
    def head_matrix(self) -> Float[Tensor, "token width"]:
        """The output matrix, which turns hidden states into scores."""
        return self.embedding.weight if self.head is None else self.head.weight

    def logits(self, hidden: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch token"]:
        """The score of each token as the next one."""
        return F.linear(hidden, self.head_matrix.to(hidden.dtype))


class _PlainRms(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x)


def _norm(config: ModelConfig) -> nn.Module:
    if config.norm == "layer":
        return nn.LayerNorm(config.width, elementwise_affine=not config.is_lean)
    return _PlainRms() if config.is_lean else nn.RMSNorm(config.width)
