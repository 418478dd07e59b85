"""A correct layer in plain numpy, each part a method, so that a broken example overrides one of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.attention import widened
from regard.conformance.law import dtype_of
from regard.conformance.subject import Projections, Spec, Subject, random_matrices
from regard.conformance.visibility import visible_pairs
from regard.positions.alibi import alibi_slopes


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyValueCache:
    """Rotated keys and values of the tokens seen so far, whether each is real, and their positions."""

    keys: np.ndarray
    values: np.ndarray
    mask: np.ndarray
    positions: np.ndarray

    def part(self, tokens: slice) -> "KeyValueCache":
        """The cache of some of the tokens."""
        keys, values = self.keys[:, :, tokens], self.values[:, :, tokens]
        return KeyValueCache(keys=keys, values=values, mask=self.mask[:, tokens], positions=self.positions[:, tokens])


class ReferenceLayer(Subject):
    """Multi-head attention as the spec says, in the spec's dtype; a broken example overrides one step of it."""

    capabilities = frozenset(
        "mask positions cache weights core returned float64 documents fork crop reject evict reorder swap reset".split()
    )

    def __init__(self, spec: Spec, *, name: str = "reference layer", seed: int = 0, dtype: str | None = None) -> None:
        self.spec, self.name, self.seed = spec, name, seed
        self.dtype = dtype_of(dtype or spec.dtype)
        self.matrices = random_matrices(spec, self.dtype, seed)

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The output."""
        return self.call_with_weights(x, **options)[0]

    def call_with_weights(
        self,
        x: np.ndarray,
        mask: np.ndarray | None = None,
        positions: np.ndarray | None = None,
        documents: np.ndarray | None = None,
        form: str = "bool",
    ) -> tuple[np.ndarray, np.ndarray]:
        """The output and the weights; `documents` [batch, position] numbers the documents packed into a row."""
        mask = None if mask is None else self.read_mask(_in_form(mask, form))
        empty = self.empty_cache(x.shape[0])
        y, weights, _ = self._attend(x, empty, mask=mask, positions=positions, documents=documents)
        return y, weights

    def mask_forms(self) -> tuple[str, ...]:
        """The forms of a mask that a call takes as `form`."""
        return ("bool", "integer", "additive", "four axes")

    def empty_cache(self, batch: int) -> KeyValueCache:
        """A cache that has seen nothing."""
        nothing = np.zeros((batch, self.spec.num_kv_heads or 1, 0, self.spec.head_width), dtype=self.dtype)
        mask, positions = np.ones((batch, 0), dtype=bool), np.zeros((batch, 0), dtype=np.int64)
        return KeyValueCache(keys=nothing, values=nothing, mask=mask, positions=positions)

    def step(
        self, x: np.ndarray, cache: KeyValueCache, mask: np.ndarray | None = None, positions: np.ndarray | None = None
    ) -> tuple[np.ndarray, KeyValueCache]:
        """New tokens after those in the cache; the mask covers both."""
        y, _, longer = self._attend(x, cache, mask=mask, positions=positions)
        return y, longer

    def reorder_cache(self, cache: KeyValueCache, order: np.ndarray) -> KeyValueCache:
        """The cache with the rows of the batch in another order."""
        return KeyValueCache(**{part: array[order] for part, array in vars(cache).items()})

    def crop_cache(self, cache: KeyValueCache, length: int) -> KeyValueCache:
        """The cache as it was after that many tokens."""
        return cache.part(slice(length))

    def reject_cache(self, cache: KeyValueCache, count: int) -> KeyValueCache:
        """The cache without its last tokens."""
        return cache.part(slice(cache.keys.shape[2] - count))

    def evict_cache(self, cache: KeyValueCache, count: int) -> KeyValueCache:
        """The cache without its first tokens; the others keep their positions."""
        return cache.part(slice(count, None))

    def fork_cache(self, cache: KeyValueCache) -> KeyValueCache:
        """The cache itself: nothing changes it."""
        return cache

    def reset_cache(self, cache: KeyValueCache) -> KeyValueCache:
        """A cache that has seen nothing."""
        return self.empty_cache(len(cache.keys))

    def swap_out(self, cache: KeyValueCache) -> Any:
        """The arrays."""
        return vars(cache)

    def swap_in(self, saved: Any) -> KeyValueCache:
        """The cache of these arrays."""
        return KeyValueCache(**saved)

    def projections(self) -> Projections:
        """The weights, without slopes: declaring ALiBi implies them."""
        return Projections(**self.matrices)

    def in_dtype(self, dtype: str) -> "ReferenceLayer":
        """The same layer in another dtype, from the same draws."""
        return type(self)(self.spec, name=self.name, seed=self.seed, dtype=dtype)

    def core(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, mask: np.ndarray | None = None, causal: bool = False
    ) -> np.ndarray:
        """Attention itself; the mask is [batch, query, key], True where a query may look."""
        num_queries, num_keys = q.shape[2], k.shape[2]
        visible = np.ones((q.shape[0], num_queries, num_keys), dtype=bool) if mask is None else mask
        if causal:
            last = np.arange(num_queries) + self.first_query(num_queries, num_keys)
            visible = visible & (np.arange(num_keys)[None, None, :] <= last[None, :, None])
        return self.mix(self.softmax(self.logits(q, k), visible[:, None]), v)

    def product(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """A matrix product rounded to the layer's dtype; numpy gives float32 for bfloat16."""
        return (left @ right).astype(self.dtype, copy=False)

    # The parts that a broken example overrides.

    def first_query(self, num_queries: int, num_keys: int) -> int:
        """The key that the first query is aligned to, if there are more keys than queries."""
        return 0 if self.spec.align == "top-left" else num_keys - num_queries

    def read_mask(self, given: np.ndarray) -> np.ndarray:
        """A mask of any form as [batch, position], True for a real token."""
        flat = given.reshape(given.shape[0], given.shape[-1])
        return flat == 0 if np.issubdtype(flat.dtype, np.floating) else flat.astype(bool)

    def same_document(self, documents: np.ndarray) -> np.ndarray:
        """[batch, query, key]: True where both belong to one document."""
        return documents[:, :, None] == documents[:, None, :]

    def rotate_queries(self, queries: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Queries rotated to their positions."""
        return self.rotate(queries, positions)

    def rotate_keys(self, keys: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Keys rotated to their positions."""
        return self.rotate(keys, positions)

    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Queries or keys rotated to their positions."""
        if self.spec.positions != "rotary":
            return heads
        return self.spec.rotary_code.rotate(heads, positions[:, None, :])

    def slopes(self) -> np.ndarray:
        """One ALiBi slope per head."""
        return alibi_slopes(self.spec.num_heads)

    def default_positions(self, mask: np.ndarray, length: int) -> np.ndarray:
        """Positions if none are given: counted from the first real token."""
        return np.maximum(np.cumsum(mask, axis=1) - 1, 0)[:, -length:]

    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        """[batch, query, key]: which keys a query may look at; places are indices among the keys."""
        return visible_pairs(self.spec, query_places, np.arange(num_keys))[None] & mask[:, None, :]

    def scale(self) -> float:
        """What logits are multiplied by."""
        return self.spec.scale if self.spec.scale is not None else self.spec.head_width**-0.5

    def logits(self, q: np.ndarray, k: np.ndarray) -> np.ndarray:
        """[batch, head, query, key]; keys of grouped heads are repeated."""
        groups = q.shape[1] // k.shape[1]
        z = self.product(q, np.repeat(k, groups, axis=1).swapaxes(-1, -2)) * self.dtype.type(self.scale())
        cap = self.spec.softcap
        return z if cap is None else self.dtype.type(cap) * np.tanh(z / self.dtype.type(cap))

    def bias(self, query_positions: np.ndarray, key_positions: np.ndarray) -> np.ndarray | None:
        """What is added to the logits [batch, head, query, key]."""
        if self.spec.positions != "alibi":
            return None
        gaps = np.abs(query_positions[:, None, :, None] - key_positions[:, None, None, :])
        return (-self.slopes()[None, :, None, None] * gaps).astype(self.dtype)

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        """Weights; a row that sees nothing is as declared, zero by default."""
        hidden = np.where(visible, z, z.dtype.type(-np.inf))
        top = np.max(hidden, axis=-1, keepdims=True, initial=-np.inf)
        powers = np.exp(hidden - np.where(np.isfinite(top), top, 0).astype(self.dtype))
        total = widened(powers).sum(axis=-1, keepdims=True).astype(self.dtype)
        empty = {"uniform": 1 / max(z.shape[-1], 1), "nan": np.nan}.get(self.spec.empty or "zero", 0.0)
        return np.divide(powers, total, out=np.full_like(powers, empty), where=total > 0)

    def mix(self, weights: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The weighted mean of the values."""
        return self.product(weights, np.repeat(v, weights.shape[1] // v.shape[1], axis=1))

    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        batch, length, _ = x.shape
        return self.product(x, self.matrices[part]).reshape(batch, length, num_heads, -1).transpose(0, 2, 1, 3)

    def _attend(
        self,
        x: np.ndarray,
        cache: KeyValueCache,
        *,
        mask: np.ndarray | None,
        positions: np.ndarray | None,
        documents: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, KeyValueCache]:
        x = x.astype(self.dtype, copy=False)
        batch, length, _ = x.shape
        past, shared = cache.keys.shape[2], self.spec.num_kv_heads or 1
        mask = np.ones((batch, past + length), dtype=bool) if mask is None else mask
        if positions is None:
            # The first tokens may have been evicted.
            first = cache.positions[:, :1] if past else 0
            positions = self.default_positions(mask, length) + first
            positions = positions if documents is None else _restarted(positions, documents)
        all_positions = np.concatenate([cache.positions, positions], axis=1)
        q = self.rotate_queries(self._heads(x, "query", self.spec.num_heads), positions)
        k = np.concatenate([cache.keys, self.rotate_keys(self._heads(x, "key", shared), positions)], axis=2)
        v = np.concatenate([cache.values, self._heads(x, "value", shared)], axis=2)
        z, bias = self.logits(q, k), self.bias(positions, all_positions)
        z = z if bias is None else z + bias
        visible = self.visible(past + np.arange(length), past + length, mask)
        visible = visible if documents is None else visible & self.same_document(documents)
        weights = self.softmax(z, visible[:, None])
        mixed = self.mix(weights, v).transpose(0, 2, 1, 3).reshape(batch, length, -1)
        y = self.product(mixed, self.matrices["output"])
        return y, weights, KeyValueCache(keys=k, values=v, mask=mask, positions=all_positions)


def _restarted(positions: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """Positions that begin again with every document."""
    begins = np.ones_like(documents, dtype=bool)
    begins[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return positions - np.maximum.accumulate(np.where(begins, positions, 0), axis=1)


def _in_form(mask: np.ndarray, form: str) -> np.ndarray:
    """A bool mask [batch, position] as another kind of array with the same meaning."""
    match form:
        case "integer":
            return mask.astype(np.int64)
        case "additive":
            return np.where(mask, 0.0, -np.inf)
        case "four axes":
            return mask[:, None, None, :]
    return mask
