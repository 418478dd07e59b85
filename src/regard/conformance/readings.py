"""Weights read off a layer: pairs of tokens go in, and how the second shares its attention comes out.

An output that is α v₀ + β v₁ tells α and β if the values are known: they are drawn where attention itself can be
called, and follow from the projections where only the layer can.
"""

from dataclasses import dataclass, replace

import numpy as np

from regard.conformance.law import dtype_of
from regard.conformance.oracle import Oracle
from regard.conformance.subject import Spec, Subject

_SEED = 5
# A mixture of two values leaves nothing over; this share of its square is rounding.
_LEFT_OVER = 1e-6
_LEAST_WEIGHT = {"float64": 1e-8}
_LEAST_WEIGHT_ELSE = 3e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairs:
    """What the second token of each pair asks and gets: queries and outputs by head, keys and values by key head.

    Weights below `least` are lost in the rounding of the outputs.
    """

    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    outputs: np.ndarray
    least: float


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightReading:
    """Weights α of the first token and β of the second [pair, head], and the key head that each head's value is of."""

    pairs: Pairs
    first: np.ndarray
    second: np.ndarray
    value_map: np.ndarray
    left_over: float

    @property
    def is_clear(self) -> bool:
        """True if the outputs are mixtures of the values, both of which are seen."""
        return self.left_over < _LEFT_OVER and bool((np.median(self.first, axis=0) > self.pairs.least).all())

    def ratios(self) -> np.ndarray:
        """log α/β [pair, head]: the first logit minus the second; NaN where a weight is lost in rounding."""
        seen = (self.first > self.pairs.least) & (self.second > self.pairs.least)
        return np.log(np.where(seen, self.first, np.nan)) - np.log(np.where(seen, self.second, np.nan))


class WeightReader:
    """Something that answers for pairs of tokens; `has_gaps` says whether their distance in positions can be chosen."""

    spec: Spec
    has_gaps: bool = True

    def pairs(self, count: int, *, loud: float = 1.0, is_near: bool = False) -> np.ndarray:
        """Tokens [pair, 2, …] for `ask`; near ones have almost equal logits in head 0, however loud."""
        raise NotImplementedError

    def ask(self, tokens: np.ndarray, gap: int | None) -> Pairs:
        """The second tokens' queries and outputs, at a distance in positions if the layer takes one."""
        raise NotImplementedError


def reader_of(subject: Subject) -> WeightReader | None:
    """The way to read this subject's weights: through its projections, else through its core."""
    spec = subject.spec
    if subject.has("weights") and spec.depth == 1 and spec.head_width > 2:
        parts = subject.projections()
        if np.linalg.matrix_rank(np.asarray(parts.output, dtype=np.float64)) == parts.output.shape[0]:
            return _LayerReader(subject)
    if subject.has("core") and spec.head_width > 2:
        return _CoreReader(subject)
    return None


def read(pairs: Pairs) -> WeightReading:
    """α and β by least squares, with the key head that leaves the least over."""
    num_heads, num_shared = pairs.outputs.shape[1], pairs.values.shape[1]
    first, second = np.empty(pairs.outputs.shape[:2]), np.empty(pairs.outputs.shape[:2])
    value_map, worst = np.zeros(num_heads, dtype=int), 0.0
    for head in range(num_heads):
        found = [_mixture(pairs.outputs[:, head], pairs.values[:, shared]) for shared in range(num_shared)]
        best = int(np.argmin([left for _, _, left in found]))
        first[:, head], second[:, head], left = found[best]
        value_map[head], worst = best, max(worst, left)
    return WeightReading(pairs=pairs, first=first, second=second, value_map=value_map, left_over=worst)


def _mixture(outputs: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The shares of two values in each output, and the square that they leave over, relative to the output's."""
    a, b = values[:, 0], values[:, 1]
    aa, bb, ab = (np.sum(p * q, axis=-1) for p, q in ((a, a), (b, b), (a, b)))
    ya, yb = np.sum(outputs * a, axis=-1), np.sum(outputs * b, axis=-1)
    area = aa * bb - ab**2
    alpha, beta = (ya * bb - yb * ab) / area, (yb * aa - ya * ab) / area
    rest = outputs - alpha[:, None] * a - beta[:, None] * b
    return alpha, beta, float(np.median(np.sum(rest**2, axis=-1)) / max(np.median(np.sum(outputs**2, axis=-1)), 1e-300))


class _LayerReader(WeightReader):
    """Reads through the projections of a layer."""

    def __init__(self, subject: Subject) -> None:
        parts = subject.projections()
        self.subject = subject
        self.spec = replace(subject.spec, num_kv_heads=max(parts.key.shape[1] // subject.spec.head_width, 1))
        self.oracle = Oracle(spec=self.spec, parts=parts)
        self.has_gaps = subject.has("positions")
        output = self.oracle.linear("output")
        self.undone, self.moved = np.linalg.pinv(output.weight), 0.0 if output.bias is None else output.bias
        self.loudness = self._loudness()

    def pairs(self, count: int, *, loud: float = 1.0, is_near: bool = False) -> np.ndarray:
        """Embeddings [pair, 2, width]."""
        rng = np.random.default_rng(_SEED)
        tokens = rng.standard_normal((count, 2, self.spec.width)) * self.loudness * loud
        if is_near:
            query = self.oracle.heads(tokens, "query")[:, 0, 1]
            normal = query @ np.asarray(self.oracle.linear("key").weight)[:, : self.spec.head_width].T
            tokens[:, 0] = tokens[:, 1] + _beside(tokens[:, 0], normal, rng.standard_normal(count) / self.oracle.scale)
        return tokens

    def ask(self, tokens: np.ndarray, gap: int | None) -> Pairs:
        """The layer on each pair."""
        places = np.broadcast_to(np.array([0, gap or 0]), tokens.shape[:2])
        options = {} if gap is None else {"positions": places}
        y = self.subject.call(tokens.astype(dtype_of(self.spec.dtype)), **options)[:, 1].astype(np.float64)
        outputs = ((y - self.moved) @ self.undone).reshape(len(tokens), self.spec.num_heads, -1)
        parts = {part: self.oracle.heads(tokens, part) for part in ("query", "key", "value")}
        return Pairs(
            queries=parts["query"][:, :, 1],
            keys=parts["key"],
            values=parts["value"],
            outputs=outputs,
            least=_LEAST_WEIGHT.get(self.spec.dtype, _LEAST_WEIGHT_ELSE),
        )

    def _loudness(self) -> float:
        """What embeddings are multiplied by for logits of about one."""
        tokens = np.random.default_rng(_SEED).standard_normal((64, 1, self.spec.width))
        queries, keys = self.oracle.heads(tokens, "query"), self.oracle.heads(tokens, "key")
        size = np.sqrt(np.mean(queries**2) * np.mean(keys**2)) * self.spec.head_width**0.5 * self.oracle.scale
        return float(size**-0.5) if size > 0 else 1.0


class _CoreReader(WeightReader):
    """Reads attention itself, on drawn queries, keys and values."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.spec = subject, subject.spec

    def pairs(self, count: int, *, loud: float = 1.0, is_near: bool = False) -> np.ndarray:
        """Queries, keys and values side by side [pair, 2, heads, width]."""
        spec, rng = self.spec, np.random.default_rng(_SEED)
        shared = spec.num_kv_heads or 1
        tokens = rng.standard_normal((count, 2, spec.num_heads + 2 * shared, spec.head_width))
        tokens[:, :, : spec.num_heads + shared] *= loud
        if is_near:
            query, key = tokens[:, 1, 0], tokens[:, :, spec.num_heads]
            key[:, 0] = key[:, 1] + _beside(key[:, 0], query, rng.standard_normal(count) * spec.head_width**0.5)
        return tokens

    def ask(self, tokens: np.ndarray, gap: int | None) -> Pairs:
        """The core on each pair; it takes no positions unless the subject is `placed`."""
        heads, shared = self.spec.num_heads, self.spec.num_kv_heads or 1
        q, k, v = np.split(tokens.swapaxes(1, 2).astype(dtype_of(self.spec.dtype)), [heads, heads + shared], axis=1)
        options = {}
        if self.subject.has("placed"):
            options["positions"] = np.broadcast_to(np.array([0, gap or 0]), tokens.shape[:2])
        out = self.subject.core(q, k, v, **options).astype(np.float64)
        q, k, v = (part.astype(np.float64) for part in (q, k, v))
        return Pairs(
            queries=q[:, :, 1],
            keys=k,
            values=v,
            outputs=out[:, :, 1],
            least=_LEAST_WEIGHT.get(self.spec.dtype, _LEAST_WEIGHT_ELSE),
        )


def _beside(drawn: np.ndarray, normal: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The drawn vectors with another component along each normal, so that their dot product with it is as wanted."""
    squares = np.sum(normal**2, axis=-1, keepdims=True)
    along = np.sum(drawn * normal, axis=-1, keepdims=True)
    return drawn + (wanted[:, None] - along) / np.where(squares > 0, squares, 1) * normal
