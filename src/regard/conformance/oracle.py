"""The oracle: what a layer must give, in float64, from its declared spec and its weights.

It is built of the reference in `attention` and `positions`. Each stage is a field, so that a suspected bug is one stage
replaced (see `mutations`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from regard.attention import (
    Linear,
    Rule,
    attention_scores,
    causal_mask,
    masked_softmax,
    merge_heads,
    repeat_heads,
    split_heads,
    window_mask,
)
from regard.conformance.subject import Projections, Spec
from regard.positions.alibi import alibi_slopes
from regard.positions.rotary import Rotary

# Codes that are rows of a table, added to the embeddings.
TABLES = ("learned", "sinusoidal")

Part = Literal["query", "key", "value"]

_NORM_EPSILON = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """Who asks whom: the tokens that ask and those that answer, where they stand, and which of these are real.

    `places` are the indices of the askers among the keys, which masks go by; positions are what codes go by.
    """

    queries_from: np.ndarray
    keys_from: np.ndarray
    query_positions: np.ndarray
    key_positions: np.ndarray
    mask: np.ndarray
    places: np.ndarray

    @classmethod
    def all(cls, x: np.ndarray, mask: np.ndarray | None = None, positions: np.ndarray | None = None) -> "Asked":
        """Every token asks every token; positions are counted from the first real one unless given."""
        batch, length, _ = x.shape
        mask = np.ones((batch, length), dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
        counted = np.maximum(np.cumsum(mask, axis=1) - 1, 0) if positions is None else np.asarray(positions)
        x = np.asarray(x, dtype=np.float64)
        return cls(
            queries_from=x,
            keys_from=x,
            query_positions=counted,
            key_positions=counted,
            mask=mask,
            places=np.arange(length),
        )

    def last(self) -> "Asked":
        """Only the last token asks, as when it is decoded after the others."""
        return replace(
            self,
            queries_from=self.queries_from[:, -1:],
            query_positions=self.query_positions[:, -1:],
            places=self.places[-1:],
        )


def split(oracle: "Oracle", projected: np.ndarray, num_heads: int, part: Part) -> np.ndarray:
    """Consecutive pieces, one a head."""
    del oracle, part
    return split_heads(projected, num_heads)


def merge(oracle: "Oracle", heads: np.ndarray) -> np.ndarray:
    """Heads end to end."""
    del oracle
    return merge_heads(heads)


def spread(oracle: "Oracle", heads: np.ndarray, part: Part) -> np.ndarray:
    """Key and value heads shared by consecutive query heads."""
    del part
    return repeat_heads(heads, oracle.spec.num_heads)


def turn(oracle: "Oracle", heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    """Queries and keys turned to their positions, values as they are."""
    spec = oracle.spec
    if spec.positions != "rotary" or part == "value":
        return heads
    code = Rotary(base=spec.rotary_base, layout=spec.rotary_layout, rotary_dims=spec.rotary_width)
    return code.rotate(heads, positions[:, None, :])


def bias(oracle: "Oracle", asked: Asked) -> np.ndarray | None:
    """ALiBi: minus each head's slope times the distance."""
    if oracle.spec.positions != "alibi":
        return None
    gaps = np.abs(asked.query_positions[:, None, :, None] - asked.key_positions[:, None, None, :])
    return -oracle.slopes[None, :, None, None] * gaps


def score(oracle: "Oracle", queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
    """Logits [batch, head, query, key] before any mask."""
    rule = Rule(scale=oracle.scale, softcap=oracle.spec.softcap, bias=added)
    return attention_scores(queries, keys, rule=rule)


def visible(oracle: "Oracle", asked: Asked) -> np.ndarray:
    """[batch, query, key]: real keys, not ahead if causal, not farther than the window."""
    length, spec = asked.mask.shape[1], oracle.spec
    seen = np.ones((length, length), dtype=bool)
    if spec.causal:
        seen &= causal_mask(length, length)
    if spec.window is not None:
        seen &= window_mask(length, length, window=spec.window)
    return seen[asked.places][None] & asked.mask[:, None, :]


def share(oracle: "Oracle", logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Weights; a sink takes part in the softmax as one more key without a value. Rows that see nothing are NaN."""
    sinks = oracle.extra("sinks")
    seen = np.broadcast_to(seen, logits.shape)
    if sinks is None:
        return masked_softmax(logits, seen, empty="nan")
    column = np.broadcast_to(sinks.reshape(1, -1, 1, 1), (*logits.shape[:3], 1))
    everywhere = np.ones((*seen.shape[:3], 1), dtype=bool)
    both = np.concatenate([logits, column], axis=-1), np.concatenate([seen, everywhere], axis=-1)
    return masked_softmax(*both, empty="nan")[..., :-1]


@dataclass(frozen=True, kw_only=True, eq=False)
class Oracle:
    """Multi-head attention as declared.

    y = [c_1 … c_H] W_O + b_O,   c_h = softmax(s C(R q_h · R k_⌊h/g⌋) + b_h, masked) v_⌊h/g⌋
    """

    spec: Spec
    parts: Projections | None = None
    split: Callable[["Oracle", np.ndarray, int, Part], np.ndarray] = split
    merge: Callable[["Oracle", np.ndarray], np.ndarray] = merge
    spread: Callable[["Oracle", np.ndarray, Part], np.ndarray] = spread
    turn: Callable[["Oracle", np.ndarray, np.ndarray, Part], np.ndarray] = turn
    bias: Callable[["Oracle", Asked], np.ndarray | None] = bias
    score: Callable[["Oracle", np.ndarray, np.ndarray, np.ndarray | None], np.ndarray] = score
    visible: Callable[["Oracle", Asked], np.ndarray] = visible
    share: Callable[["Oracle", np.ndarray, np.ndarray], np.ndarray] = share
    rounded: Callable[[np.ndarray], np.ndarray] = np.asarray

    def __call__(
        self, x: np.ndarray, mask: np.ndarray | None = None, positions: np.ndarray | None = None
    ) -> np.ndarray:
        """The output for embeddings [batch, position, width]; NaN where a token sees nothing."""
        return self.output(Asked.all(x, mask, positions))

    def output(self, asked: Asked) -> np.ndarray:
        """What the askers get."""
        weights = self.weights(asked)
        keyed = self.placed(asked.keys_from, asked.key_positions)
        values = self.turn(self, self.heads(keyed, "value"), asked.key_positions, "value")
        mixed = self.rounded(weights @ self.spread(self, values, "value"))
        return self.rounded(self.linear("output")(self.merge(self, mixed)))

    def weights(self, asked: Asked) -> np.ndarray:
        """[batch, head, query, key]."""
        return self.rounded(self.share(self, self.logits(asked), self.visible(self, asked)[:, None]))

    def logits(self, asked: Asked) -> np.ndarray:
        """[batch, head, query, key] before the mask."""
        asking = self.placed(asked.queries_from, asked.query_positions)
        queries = self.turn(self, self.heads(asking, "query"), asked.query_positions, "query")
        keyed = self.placed(asked.keys_from, asked.key_positions)
        keys = self.turn(self, self.heads(keyed, "key"), asked.key_positions, "key")
        return self.rounded(self.score(self, queries, self.spread(self, keys, "key"), self.bias(self, asked)))

    def core(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Attention itself on heads that are projected and turned already."""
        logits = self.score(self, q, self.spread(self, k, "key"), None)
        return self.share(self, logits, seen[:, None]) @ self.spread(self, v, "value")

    def heads(self, x: np.ndarray, part: Part) -> np.ndarray:
        """One projection of the tokens, cut into heads and normalised if there is a gain for it."""
        num_heads = self.spec.num_heads if part == "query" else self.spec.num_kv_heads or self.spec.num_heads
        # All rows at once: numpy multiplies a stack of matrices one by one.
        projected = self.linear(part)(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)
        gain = self.extra(f"{part}_norm")
        if gain is not None and gain.size != self.spec.head_width:
            return self.split(self, self._normed(projected, gain), num_heads, part)
        heads = self.rounded(self.split(self, projected, num_heads, part))
        return heads if gain is None else self.rounded(self._normed(heads, gain))

    def linear(self, part: str) -> Linear:
        """One of the four maps, in float64."""
        assert self.parts is not None
        weight, offset = getattr(self.parts, part), getattr(self.parts, f"{part}_bias")
        wide = None if offset is None else np.asarray(offset).astype(np.float64)
        return Linear(weight=np.asarray(weight).astype(np.float64), bias=wide)

    def placed(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """The embeddings with the rows of the layer's own table of positions added."""
        table = self.extra("positions") if self.spec.positions in TABLES else None
        return x if table is None else x + table[positions]

    def extra(self, name: str) -> np.ndarray | None:
        """What else the layer has under that name."""
        found = ((self.parts.extra if self.parts is not None else None) or {}).get(name)
        return None if found is None else np.asarray(found).astype(np.float64)

    @property
    def scale(self) -> float:
        """What logits are multiplied by."""
        return self.spec.scale if self.spec.scale is not None else float(self.spec.head_width**-0.5)

    @property
    def slopes(self) -> np.ndarray:
        """One ALiBi slope a head."""
        found = self.extra("slopes")
        return alibi_slopes(self.spec.num_heads) if found is None else found

    def changed(self, **changes: Any) -> "Oracle":
        """The oracle of a spec that differs in this."""
        return replace(self, spec=replace(self.spec, **changes))

    def _normed(self, x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        epsilon = self.extra("norm_epsilon")
        squares = np.mean(x**2, axis=-1, keepdims=True)
        return gain * x / np.sqrt(squares + (_NORM_EPSILON if epsilon is None else float(epsilon)))


def undeclared(spec: Spec, parts: Projections | None) -> str | None:
    """What keeps an oracle of the whole layer from being built, None if nothing does."""
    if spec.causal is None:
        return "the spec does not say whether the layer is causal"
    if spec.positions is None:
        return "the spec does not say which positions the layer has"
    has_table = parts is not None and "positions" in (parts.extra or {})
    if spec.positions not in ("none", "rotary", "alibi", *(TABLES if has_table else ())):
        return f"{spec.positions} positions come from a table that is not among the weights"
    if spec.depth > 1:
        return f"the oracle is of one attention layer, and this is {spec.depth} deep"
    if spec.sink and (parts is None or "sinks" not in (parts.extra or {})):
        return "the spec has a sink, and its logits are not among the weights"
    return None
