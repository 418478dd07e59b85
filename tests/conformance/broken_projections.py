"""Reference layers that rotate, split or project wrongly, each under the mutation that must explain it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.broken_attention import GROUPED, PLAIN, ROTARY, Build, broken
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Projections

PARTIAL = {**ROTARY, "rotary_width": 4}
NEIGHBOURS = {**ROTARY, "rotary_layout": "interleaved"}
FREQUENCIES = 10_000.0 ** (-np.arange(4) / 4)


def spun(heads: np.ndarray, angles: np.ndarray, *, is_interleaved: bool = False) -> np.ndarray:
    """Pairs as complex numbers, multiplied by e^{i angle}."""
    half = angles.shape[-1]
    pairs, rest = heads[..., : 2 * half].astype(np.float64), heads[..., 2 * half :]
    first, second = (slice(0, None, 2), slice(1, None, 2)) if is_interleaved else (slice(0, half), slice(half, None))
    turned = (pairs[..., first] + 1j * pairs[..., second]) * np.exp(1j * angles)
    out = np.empty_like(pairs)
    out[..., first], out[..., second] = turned.real, turned.imag
    return np.concatenate([out, rest], axis=-1).astype(heads.dtype)


def rotating(frequencies: np.ndarray, spec: dict[str, Any] = ROTARY, **options: Any) -> Build:
    def rotate(self, heads, places):
        return spun(heads, places[:, None, :, None] * frequencies, **options)

    return broken(spec, rotate=rotate)


def by_number(spec: dict[str, Any], angles: np.ndarray, crossed: Callable[[np.ndarray], np.ndarray]) -> Build:
    """x cos + J(x) sin with a frequency for every number."""

    def rotate(self, heads, places):
        at = places[:, None, :, None] * angles
        return (heads * np.cos(at) + crossed(heads) * np.sin(at)).astype(heads.dtype)

    return broken(spec, rotate=rotate)


def halves(x: np.ndarray) -> np.ndarray:
    return np.concatenate([-x[..., 4:], x[..., :4]], axis=-1)


def neighbours(x: np.ndarray) -> np.ndarray:
    return x[..., [1, 0, 3, 2, 5, 4, 7, 6]] * np.array([-1, 1] * 4)


def still(self, heads, places):
    return heads


def both_ways(self, heads, places):
    return spun(heads, places[:, None, :, None] * FREQUENCIES)


def mixing_rotated(self, weights, v):
    places = np.arange(v.shape[2])[None, None, :, None]
    return ReferenceLayer.mix(self, weights, spun(v, places * FREQUENCIES))


def at(rule: Callable[[np.ndarray], np.ndarray], **parts: Any) -> Build:
    return broken(ROTARY, rotate=lambda self, heads, places: ReferenceLayer.rotate(self, heads, rule(places)), **parts)


def long_vector(self, heads, places):
    batch, count, length, width = heads.shape
    flat = heads.transpose(0, 2, 1, 3).reshape(batch, length, count * width)
    angles = places[:, :, None] * 10_000.0 ** (-np.arange(count * width // 2) / (count * width // 2))
    return spun(flat, angles).reshape(batch, length, count, width).transpose(0, 2, 1, 3)


def last_four(self, heads, places):
    return np.concatenate([heads[..., :4], spun(heads[..., 4:], places[:, None, :, None] * FREQUENCIES[::2])], axis=-1)


TURNS = {
    "the layout swapped": rotating(FREQUENCIES, is_interleaved=True),
    "half-split rotation with interleaved angles": by_number(ROTARY, np.repeat(FREQUENCIES, 2), halves),
    "interleaved rotation with half-split angles": by_number(NEIGHBOURS, np.tile(FREQUENCIES, 2), neighbours),
    "only queries rotated": broken(ROTARY, rotate_keys=still),
    "only keys rotated": broken(ROTARY, rotate_queries=still),
    "values rotated too": broken(ROTARY, mix=mixing_rotated),
    "values rotated instead of keys": broken(ROTARY, rotate_keys=still, mix=mixing_rotated),
    "nothing rotated": broken(ROTARY, rotate=still),
    "base 100": rotating(100.0 ** (-np.arange(4) / 4)),
    "base 1000": rotating(1000.0 ** (-np.arange(4) / 4)),
    "base 500000": rotating(500_000.0 ** (-np.arange(4) / 4)),
    "rotated the other way": rotating(-FREQUENCIES),
    "keys rotated the other way": broken(
        ROTARY, rotate_keys=lambda self, heads, places: spun(heads, -places[:, None, :, None] * FREQUENCIES)
    ),
    "a rotation without its minus sign": by_number(ROTARY, np.tile(FREQUENCIES, 2), lambda x: np.roll(x, 4, axis=-1)),
    "rotated twice": rotating(2 * FREQUENCIES),
    "frequencies B^(−i/d) instead of B^(−2i/d)": rotating(
        5000.0 ** (-np.arange(4) / 8), {**ROTARY, "rotary_base": 5000.0}
    ),
    "frequencies B^(−4i/d) instead of B^(−2i/d)": rotating(10_000.0 ** (-np.arange(4) / 2)),
    "frequencies in the opposite order": rotating(FREQUENCIES[::-1]),
    "frequencies that begin with i = 1": rotating(10_000.0 ** (-np.arange(1, 5) / 4)),
    "frequencies B^(+2i/d)": rotating(1 / FREQUENCIES),
    "frequencies that end at 1/B: i/(d/2 − 1)": rotating(10_000.0 ** (-np.arange(4) / 3)),
    "one frequency for all pairs": rotating(np.ones(4)),
    "exponents by the model's width": rotating(10_000.0 ** (-np.arange(0, 8, 2) / 32)),
    "all coordinates rotated where only some are declared": rotating(FREQUENCIES, PARTIAL),
    "half of the coordinates rotated": rotating(100.0 ** -np.arange(2)),
    "exponents by the head's width where only some coordinates rotate": rotating(
        5000.0 ** (-np.arange(3) / 4), {**ROTARY, "rotary_width": 6, "rotary_base": 5000.0}
    ),
    "the last coordinates rotated instead of the first": broken(PARTIAL, rotate=last_four),
    "rotated before the heads are split": broken(ROTARY, rotate=long_vector),
    "queries one position ahead of the keys": broken(
        ROTARY, rotate_queries=lambda self, heads, places: both_ways(self, heads, places + 1)
    ),
    "queries one position behind the keys": broken(
        ROTARY, rotate_queries=lambda self, heads, places: both_ways(self, heads, places - 1)
    ),
}


def cut(spec: dict[str, Any], parts: tuple[str, ...], shape: Callable[..., np.ndarray], **methods: Any) -> Build:
    """Heads cut from some projections in another way."""

    def heads(self, x, part, num_heads):
        if part not in parts:
            return ReferenceLayer._heads(self, x, part, num_heads)
        return shape(x @ self.matrices[part], num_heads)

    return broken(spec, _heads=heads, **methods)


ALL = ("query", "key", "value")


def unmoved(y: np.ndarray, num_heads: int) -> np.ndarray:
    return y.reshape(y.shape[0], num_heads, y.shape[1], -1)


def fast(y: np.ndarray, num_heads: int) -> np.ndarray:
    return np.stack([y[..., head::num_heads] for head in range(num_heads)], axis=1)


def mixed(change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda self, weights, v: change(ReferenceLayer.mix(self, weights, v))


def merged_unmoved(c: np.ndarray) -> np.ndarray:
    """What gives, split and merged correctly, the heads merged without a transpose."""
    batch, count, length, width = c.shape
    return c.reshape(batch, length, count, width).transpose(0, 2, 1, 3)


def merged_fast(c: np.ndarray) -> np.ndarray:
    batch, count, length, width = c.shape
    return c.transpose(0, 2, 3, 1).reshape(batch, length, count, width).transpose(0, 2, 1, 3)


def shared(order: list[int], *, keys: bool = True, values: bool = True) -> Build:
    """Key heads in this order for the four query heads."""

    def logits(self, q, k):
        return ReferenceLayer.logits(self, q, k[:, order] if keys else k)

    return broken(
        GROUPED, logits=logits, mix=lambda self, w, v: ReferenceLayer.mix(self, w, v[:, order] if values else v)
    )


HEADS = {
    "key and value heads tiled instead of repeated": shared([0, 1, 0, 1]),
    "key heads tiled, value heads repeated": shared([0, 1, 0, 1], values=False),
    "value heads tiled, key heads repeated": shared([0, 1, 0, 1], keys=False),
    "the first key head for all": shared([0, 0, 0, 0]),
    "key and value heads in the opposite order": shared([1, 1, 0, 0]),
    "heads reshaped without a transpose": cut(PLAIN, ALL, unmoved),
    "heads reshaped without a transpose, before and after": cut(PLAIN, ALL, unmoved, mix=mixed(merged_unmoved)),
    "heads merged without a transpose": broken(PLAIN, mix=mixed(merged_unmoved)),
    "the head as the faster axis": cut(PLAIN, ALL, fast, mix=mixed(merged_fast)),
    "the head as the faster axis when split": cut(PLAIN, ALL, fast),
    "the head as the faster axis when merged": broken(PLAIN, mix=mixed(merged_fast)),
    "heads merged in the opposite order": broken(PLAIN, mix=mixed(lambda c: c[:, ::-1])),
}


def told(spec: dict[str, Any] = ROTARY, **swaps: str) -> Build:
    """Says that its matrices are those of other parts."""

    def projections(self):
        return Projections(**{**self.matrices, **{part: self.matrices[other] for part, other in swaps.items()}})

    return broken(spec, projections=projections)


def told_as(change: Callable[[dict[str, np.ndarray]], dict[str, Any]]) -> Build:
    return broken(ROTARY, projections=lambda self: Projections(**{**self.matrices, **change(self.matrices)}))


def biased(*missing: str) -> Build:
    """Says that it has biases, and leaves these out."""

    def drawn(self, part):
        return np.random.default_rng(len(part)).standard_normal(self.matrices[part].shape[1]) * 0.7

    def heads(self, x, part, num_heads):
        y = x @ self.matrices[part] + (0 if part in missing else drawn(self, part))
        return y.astype(self.dtype).reshape(*x.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)

    def attend(self, x, cache, **options):
        y, weights, longer = ReferenceLayer._attend(self, x, cache, **options)
        return (y if "output" in missing else y + drawn(self, "output").astype(self.dtype)), weights, longer

    def projections(self):
        return Projections(**self.matrices, **{f"{part}_bias": drawn(self, part) for part in (*ALL, "output")})

    return broken({**PLAIN}, _heads=heads, _attend=attend, projections=projections)


def normed(*missing: str) -> Build:
    """Says that it normalises queries and keys, and leaves these out."""
    gains = {"query": np.linspace(0.5, 2, 8), "key": np.linspace(3, 1, 8)}

    def heads(self, x, part, num_heads):
        y = ReferenceLayer._heads(self, x, part, num_heads)
        if part == "value" or part in missing:
            return y
        gain = 1.0 if "gain" in missing else gains[part]
        return (y / np.sqrt(np.mean(y**2, axis=-1, keepdims=True)) * gain).astype(self.dtype)

    def projections(self):
        return Projections(**self.matrices, extra={f"{part}_norm": gain for part, gain in gains.items()})

    return broken(PLAIN, _heads=heads, projections=projections)


PROJECTIONS = {
    "keys and values swapped": told(key="value", value="key"),
    "queries and keys swapped": told({**ROTARY, "positions": "alibi"}, query="key", key="query"),
    "the keys' projection for the values": broken(
        ROTARY, _heads=lambda self, x, part, n: ReferenceLayer._heads(self, x, "key" if part == "value" else part, n)
    ),
    "the values' projection for the keys": broken(
        ROTARY, _heads=lambda self, x, part, n: ReferenceLayer._heads(self, x, "value" if part == "key" else part, n)
    ),
    "the queries' projection for the keys": broken(
        ROTARY, _heads=lambda self, x, part, n: ReferenceLayer._heads(self, x, "query" if part == "key" else part, n)
    ),
    "the query projection transposed": told_as(lambda m: {"query": m["query"].T}),
    "the key projection transposed": told_as(lambda m: {"key": m["key"].T}),
    "the value projection transposed": told_as(lambda m: {"value": m["value"].T}),
    "the output projection transposed": told_as(lambda m: {"output": m["output"].T}),
    "no query bias": biased("query"),
    "no value bias": biased("value"),
    "no output bias": biased("output"),
    "no biases": biased(*ALL, "output"),
    "queries and keys not normalized": normed("query", "key"),
    "queries not normalized": normed("query"),
    "keys not normalized": normed("key"),
    "queries and keys normalized without their gains": normed("gain"),
}


BROKEN: dict[str, Build] = {**TURNS, **HEADS, **PROJECTIONS}
