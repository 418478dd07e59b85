"""The oracle: what a layer must give, in float64, according to its declared spec and its weights.

It is built on the reference in `attention` and `positions`. Each stage is a field, so that a suspected bug is one stage
replaced (see `mutations`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from regard.attention import (
    AttentionRule,
    Linear,
    attention_scores,
    masked_softmax,
    merge_heads,
    repeat_heads,
    split_heads,
)
from regard.conformance.subject import Projections, Spec
from regard.conformance.visibility import visible_pairs
from regard.positions.alibi import alibi_slopes

# Position codes that are rows of a table, added to the embeddings.
TABLES = ("learned", "sinusoidal")

Part = Literal["query", "key", "value"]

_NORM_EPSILON = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionInputs:
    """The tokens that queries and keys come from, their positions, and which keys are real.

    `places` are the indices of the queries among the keys, which masks go by; position codes go by positions.
    """

    queries_from: np.ndarray
    keys_from: np.ndarray
    query_positions: np.ndarray
    key_positions: np.ndarray
    mask: np.ndarray
    places: np.ndarray

    @classmethod
    def of(
        cls, x: np.ndarray, mask: np.ndarray | None = None, positions: np.ndarray | None = None
    ) -> "AttentionInputs":
        """Every token attends to every token; by default, positions are counted from the first real token."""
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


def split(_oracle: "Oracle", projected: np.ndarray, num_heads: int, _part: Part) -> np.ndarray:
    """Consecutive slices, one per head."""
    return split_heads(projected, num_heads)


def merge(_oracle: "Oracle", heads: np.ndarray) -> np.ndarray:
    """Heads concatenated."""
    return merge_heads(heads)


def repeat(oracle: "Oracle", heads: np.ndarray, _part: Part) -> np.ndarray:
    """Key and value heads shared by consecutive query heads."""
    return repeat_heads(heads, oracle.spec.num_heads)


def rotate(oracle: "Oracle", heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    """Queries and keys rotated to their positions, values unchanged."""
    spec = oracle.spec
    if spec.positions != "rotary" or part == "value":
        return heads
    return spec.rotary_code.rotate(heads, positions[:, None, :])


def bias(oracle: "Oracle", inputs: AttentionInputs) -> np.ndarray | None:
    """ALiBi: minus each head's slope times the distance."""
    if oracle.spec.positions != "alibi":
        return None
    gaps = np.abs(inputs.query_positions[:, None, :, None] - inputs.key_positions[:, None, None, :])
    return -oracle.slopes[None, :, None, None] * gaps


def score(oracle: "Oracle", queries: np.ndarray, keys: np.ndarray, added: np.ndarray | None) -> np.ndarray:
    """Logits [batch, head, query, key] before any mask."""
    rule = AttentionRule(scale=oracle.scale, softcap=oracle.spec.softcap, bias=added)
    return attention_scores(queries, keys, rule=rule)


def visible(oracle: "Oracle", inputs: AttentionInputs) -> np.ndarray:
    """[batch, query, key]: real keys that the spec says are visible."""
    seen = visible_pairs(oracle.spec, inputs.places, np.arange(inputs.mask.shape[1]))
    return seen[None] & inputs.mask[:, None, :]


def softmax(oracle: "Oracle", logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Weights; a sink is one more key without a value. Rows that see nothing are NaN."""
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
    repeat: Callable[["Oracle", np.ndarray, Part], np.ndarray] = repeat
    rotate: Callable[["Oracle", np.ndarray, np.ndarray, Part], np.ndarray] = rotate
    bias: Callable[["Oracle", AttentionInputs], np.ndarray | None] = bias
    score: Callable[["Oracle", np.ndarray, np.ndarray, np.ndarray | None], np.ndarray] = score
    visible: Callable[["Oracle", AttentionInputs], np.ndarray] = visible
    softmax: Callable[["Oracle", np.ndarray, np.ndarray], np.ndarray] = softmax
    rounded: Callable[[np.ndarray], np.ndarray] = np.asarray

    def __call__(
        self, x: np.ndarray, mask: np.ndarray | None = None, positions: np.ndarray | None = None
    ) -> np.ndarray:
        """The output for embeddings [batch, position, width]; NaN where a token sees nothing."""
        return self.output(AttentionInputs.of(x, mask, positions))

    def output(self, inputs: AttentionInputs) -> np.ndarray:
        """[batch, query, width]."""
        weights = self.weights(inputs)
        keyed = self.with_positions(inputs.keys_from, inputs.key_positions)
        values = self.rotate(self, self.heads(keyed, "value"), inputs.key_positions, "value")
        mixed = self.rounded(weights @ self.repeat(self, values, "value"))
        return self.rounded(self.linear("output")(self.merge(self, mixed)))

    def weights(self, inputs: AttentionInputs) -> np.ndarray:
        """[batch, head, query, key]."""
        return self.rounded(self.softmax(self, self.logits(inputs), self.visible(self, inputs)[:, None]))

    def logits(self, inputs: AttentionInputs) -> np.ndarray:
        """[batch, head, query, key] before the mask."""
        asking = self.with_positions(inputs.queries_from, inputs.query_positions)
        queries = self.rotate(self, self.heads(asking, "query"), inputs.query_positions, "query")
        keyed = self.with_positions(inputs.keys_from, inputs.key_positions)
        keys = self.rotate(self, self.heads(keyed, "key"), inputs.key_positions, "key")
        return self.rounded(self.score(self, queries, self.repeat(self, keys, "key"), self.bias(self, inputs)))

    def core(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Attention on heads that are projected and rotated already."""
        logits = self.score(self, q, self.repeat(self, k, "key"), None)
        return self.softmax(self, logits, seen[:, None]) @ self.repeat(self, v, "value")

    def heads(self, x: np.ndarray, part: Part) -> np.ndarray:
        """One projection of the tokens, split into heads and normalized if there is a gain for it."""
        num_heads = self.spec.num_heads if part == "query" else self.spec.num_kv_heads or self.spec.num_heads
        # All rows at once: numpy multiplies a stack of matrices one by one.
        projected = self.linear(part)(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)
        gain = self.extra(f"{part}_norm")
        if gain is not None and gain.size != self.spec.head_width:
            return self.split(self, self._normalized(projected, gain), num_heads, part)
        heads = self.rounded(self.split(self, projected, num_heads, part))
        return heads if gain is None else self.rounded(self._normalized(heads, gain))

    def linear(self, part: str) -> Linear:
        """One of the four projections, in float64."""
        assert self.parts is not None
        weight, offset = getattr(self.parts, part), getattr(self.parts, f"{part}_bias")
        wide = None if offset is None else np.asarray(offset).astype(np.float64)
        return Linear(weight=np.asarray(weight).astype(np.float64), bias=wide)

    def with_positions(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """The embeddings plus the rows of the layer's own table of positions, if it has one."""
        table = self.extra("positions") if self.spec.positions in TABLES else None
        return x if table is None else x + table[positions]

    def extra(self, name: str) -> np.ndarray | None:
        """An optional weight of the layer."""
        found = ((self.parts.extra if self.parts is not None else None) or {}).get(name)
        return None if found is None else np.asarray(found).astype(np.float64)

    @property
    def scale(self) -> float:
        """What logits are multiplied by."""
        return self.spec.scale if self.spec.scale is not None else float(self.spec.head_width**-0.5)

    @property
    def slopes(self) -> np.ndarray:
        """One ALiBi slope per head."""
        found = self.extra("slopes")
        return alibi_slopes(self.spec.num_heads) if found is None else found

    def changed(self, **changes: Any) -> "Oracle":
        """The oracle with a changed spec."""
        return replace(self, spec=replace(self.spec, **changes))

    def _normalized(self, x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        epsilon = self.extra("norm_epsilon")
        squares = np.mean(x**2, axis=-1, keepdims=True)
        return gain * x / np.sqrt(squares + (_NORM_EPSILON if epsilon is None else float(epsilon)))


def undeclared(spec: Spec, parts: Projections | None) -> str | None:
    """What prevents building an oracle of the whole layer, None if nothing does."""
    if not spec.says_what_is_visible:
        return "the spec does not say whether the layer is causal"
    if spec.positions is None:
        return "the spec does not say which positions the layer has"
    has_table = parts is not None and "positions" in (parts.extra or {})
    if spec.positions not in ("none", "rotary", "alibi", *(TABLES if has_table else ())):
        return f"{spec.positions} positions come from a table that is not among the weights"
    if spec.depth > 1:
        return f"the oracle covers one attention layer, and the subject has {spec.depth}"
    if spec.sink and (parts is None or "sinks" not in (parts.extra or {})):
        return "the spec has a sink, and its logits are not among the weights"
    return None
