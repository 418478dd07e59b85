"""The decoder: embeddings, blocks, logits."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.core.axes import Bool, Float, Int
from regard.training.model.attention import Frame, SelfAttention
from regard.training.model.cache import Cache, LayerCache
from regard.training.model.config import ModelConfig
from regard.training.model.fused import rms_norm, squared_relu
from regard.training.model.linear import Dense
from regard.training.model.ngrams import NgramTable, ngram_rows
from regard.training.model.passage import Passage
from regard.training.model.places import places


class FeedForward(nn.Module):
    """Two matrices with an activation between them, at each position on its own."""

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


class Block(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x)) if it has one."""

    def __init__(self, config: ModelConfig, *, has_feed_forward: bool = True) -> None:
        super().__init__()
        self.before_attention, self.attention = _norm(config), SelfAttention(config)
        self.before_feed_forward = _norm(config) if has_feed_forward else None
        self.feed_forward = FeedForward(config) if has_feed_forward else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Float[Tensor, "batch position width"], frame: Frame, cache: LayerCache | None = None
    ) -> Float[Tensor, "batch position width"]:
        """The stream after this block."""
        x = x + self.dropout(self.attention(self.before_attention(x), frame, cache))
        if self.feed_forward is None or self.before_feed_forward is None:
            return x
        return x + self.dropout(self.feed_forward(self.before_feed_forward(x)))


class Decoder(nn.Module):
    """A Transformer that reads from left to right.

    `forward` gives the last hidden states and `logits` turns those that are wanted into scores of tokens, because
    most of a small model's time would go into the scores of positions that nobody asks about. `read_as` says for each
    token which one's embedding it has; without it every token has its own.
    """

    read_as: Tensor | None

    def __init__(self, config: ModelConfig, read_as: Int[np.ndarray, " token"] | None = None) -> None:
        super().__init__()
        self.config = config
        # The entry behind the last is found at −1, where there is no token before.
        kept = None if read_as is None else torch.from_numpy(np.append(read_as, -1))
        self.register_buffer("read_as", kept, persistent=False)
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        nn.init.normal_(self.embedding.weight, std=1.0 if config.is_lean else 0.02)
        self.ngrams = NgramTable(config.ngram_rows, config.width) if config.ngram_rows else None
        self.places = places(config)
        self.blocks = nn.ModuleList(
            Block(config, has_feed_forward=number < config.feed_forwards) for number in range(config.num_layers)
        )
        self.last_norm = _norm(config)
        self.head = None if config.is_tied else Dense(config.width, config.vocab_size, is_zero=config.is_lean)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, passage: Passage, *, cache: Cache | None = None, dtype: torch.dtype = torch.float32
    ) -> Float[Tensor, "batch position width"]:
        """The hidden state of each token."""
        embeddings = self.embed(passage.tokens, passage.before).to(dtype)
        return self.run(embeddings, passage.positions, passage.visible, cache=cache)

    def embed(
        self, tokens: Int[Tensor, "batch position"], before: Int[Tensor, "batch position 2"]
    ) -> Float[Tensor, "batch position width"]:
        """The embedding of each token and of the word pairs and triples that end there."""
        if self.read_as is not None:
            tokens, before = self.read_as[tokens], self.read_as[before]
        x = self.embedding(tokens)
        if self.ngrams is not None:
            x = x + self.ngrams(ngram_rows(tokens, before[..., 0], before[..., 1], num_rows=self.config.ngram_rows))
        return x

    def run(
        self,
        embeddings: Float[Tensor, "batch position width"],
        positions: Int[Tensor, "batch position"],
        visible: Bool[Tensor, "batch position key"],
        *,
        cache: Cache | None = None,
    ) -> Float[Tensor, "batch position width"]:
        """The hidden states that embeddings lead to."""
        x = rms_norm(embeddings) if self.config.is_lean else embeddings
        x = self.dropout(self.places.add(x, positions))
        frame = self.frame(positions, positions if cache is None else cache.positions, visible, x.dtype)
        for number, block in enumerate(self.blocks):
            x = block(x, frame, None if cache is None else cache.layers[number])
        return self.last_norm(x)

    def frame(
        self,
        queries: Int[Tensor, "#batch query"],
        keys: Int[Tensor, "#batch key"],
        visible: Bool[Tensor, "batch query key"],
        dtype: torch.dtype,
    ) -> Frame:
        """The biases and angles that all layers share."""
        bias = torch.zeros(visible.shape, dtype=dtype).masked_fill_(~visible, -torch.inf).unsqueeze(1)
        placed = self.places.bias(queries, keys)
        turns = self.places.turns
        return Frame(
            bias=bias if placed is None else bias + placed.to(dtype),
            angles=None if turns is None else turns.at(queries, dtype),
        )

    @property
    def head_matrix(self) -> Float[Tensor, "token width"]:
        """What hidden states are multiplied with to give scores."""
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
