"""Bugs of heads, key-value heads and projections."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from regard.attention import merge_heads, repeat_heads, split_heads
from regard.conformance.mutation import Mutation, plain, staged, with_parts
from regard.conformance.oracle import Oracle, Part, spread
from regard.conformance.subject import Projections, Spec


def _is_grouped(spec: Spec) -> bool:
    return 1 < (spec.num_kv_heads or 1) < spec.num_heads


def _tiled(*parts: str) -> Callable[[Oracle, np.ndarray, Part], np.ndarray]:
    """Key heads 0, 1, 0, 1 where 0, 0, 1, 1 are meant."""

    def shared(oracle: Oracle, heads: np.ndarray, part: Part) -> np.ndarray:
        if part not in parts:
            return spread(oracle, heads, part)
        return np.tile(heads, (1, oracle.spec.num_heads // heads.shape[1], 1, 1))

    return shared


def _one_for_all(oracle: Oracle, heads: np.ndarray, part: Part) -> np.ndarray:
    del part
    return repeat_heads(heads[:, :1], oracle.spec.num_heads)


def _backward(oracle: Oracle, heads: np.ndarray, part: Part) -> np.ndarray:
    return spread(oracle, heads, part)[:, ::-1]


def _unmoved(oracle: Oracle, projected: np.ndarray, num_heads: int, part: Part) -> np.ndarray:
    """[position, head · width] read as [head, position, width] without moving an axis."""
    del oracle, part
    batch, length, width = projected.shape
    return projected.reshape(batch, num_heads, length, width // num_heads)


def _fast_heads(*parts: str) -> Callable[[Oracle, np.ndarray, int, Part], np.ndarray]:
    """The head as the faster axis of the projection."""

    def cut(oracle: Oracle, projected: np.ndarray, num_heads: int, part: Part) -> np.ndarray:
        del oracle
        if part not in parts:
            return split_heads(projected, num_heads)
        batch, length, width = projected.shape
        return projected.reshape(batch, length, width // num_heads, num_heads).transpose(0, 3, 1, 2)

    return cut


def _merged_unmoved(oracle: Oracle, heads: np.ndarray) -> np.ndarray:
    del oracle
    batch, count, length, width = heads.shape
    return heads.reshape(batch, length, count * width)


def _merged_fast(oracle: Oracle, heads: np.ndarray) -> np.ndarray:
    del oracle
    batch, count, length, width = heads.shape
    return heads.transpose(0, 2, 3, 1).reshape(batch, length, count * width)


def _swapped(one: str, other: str) -> Callable[[Projections], dict[str, Any] | None]:
    def changes(parts: Projections) -> dict[str, Any] | None:
        if getattr(parts, one).shape != getattr(parts, other).shape:
            return None
        return {
            one: getattr(parts, other),
            other: getattr(parts, one),
            f"{one}_bias": getattr(parts, f"{other}_bias"),
            f"{other}_bias": getattr(parts, f"{one}_bias"),
        }

    return changes


def _instead(one: str, other: str) -> Callable[[Projections], dict[str, Any] | None]:
    def changes(parts: Projections) -> dict[str, Any] | None:
        if getattr(parts, one).shape != getattr(parts, other).shape:
            return None
        return {one: getattr(parts, other), f"{one}_bias": getattr(parts, f"{other}_bias")}

    return changes


def _transposed(part: str) -> Callable[[Projections], dict[str, Any] | None]:
    def changes(parts: Projections) -> dict[str, Any] | None:
        matrix = getattr(parts, part)
        return {part: matrix.T} if matrix.shape[0] == matrix.shape[1] else None

    return changes


def _no_bias(part: str) -> Callable[[Projections], dict[str, Any] | None]:
    return lambda parts: None if getattr(parts, f"{part}_bias") is None else {f"{part}_bias": None}


def _no_biases(parts: Projections) -> dict[str, Any] | None:
    names = [f"{part}_bias" for part in ("query", "key", "value", "output")]
    return dict.fromkeys(names) if any(getattr(parts, name) is not None for name in names) else None


def _no_output(parts: Projections) -> dict[str, Any] | None:
    rows, columns = parts.output.shape
    return {"output": np.eye(rows), "output_bias": None} if rows == columns else None


def _no_norm(*names: str) -> Callable[[Projections], dict[str, Any] | None]:
    def changes(parts: Projections) -> dict[str, Any] | None:
        extra = parts.extra or {}
        return {"extra": {k: v for k, v in extra.items() if k not in names}} if set(names) & set(extra) else None

    return changes


def _no_gain(parts: Projections) -> dict[str, Any] | None:
    norms = {name: np.ones_like(gain) for name, gain in (parts.extra or {}).items() if name.endswith("_norm")}
    return {"extra": {**(parts.extra or {}), **norms}} if norms else None


def _reversed_output(oracle: Oracle) -> Oracle:
    return replace(oracle, merge=lambda _same, heads: merge_heads(heads[:, ::-1]))


_KV_HEADS = (
    staged(
        "kv-heads", "key and value heads tiled instead of repeated", applies=_is_grouped, spread=_tiled("key", "value")
    ),
    staged("kv-heads", "key heads tiled, value heads repeated", applies=_is_grouped, spread=_tiled("key")),
    staged("kv-heads", "value heads tiled, key heads repeated", applies=_is_grouped, spread=_tiled("value")),
    staged(
        "kv-heads", "the first key head for all", applies=lambda spec: (spec.num_kv_heads or 1) > 1, spread=_one_for_all
    ),
    staged(
        "kv-heads",
        "key and value heads in the opposite order",
        applies=lambda spec: (spec.num_kv_heads or 1) > 1,
        spread=_backward,
    ),
)

_HEADS = (
    staged("heads", "heads reshaped without a transpose", split=_unmoved),
    staged("heads", "heads reshaped without a transpose, before and after", split=_unmoved, merge=_merged_unmoved),
    staged("heads", "heads merged without a transpose", merge=_merged_unmoved),
    staged("heads", "the head as the faster axis", split=_fast_heads("query", "key", "value"), merge=_merged_fast),
    staged("heads", "the head as the faster axis when split", split=_fast_heads("query", "key", "value")),
    staged("heads", "the head as the faster axis when merged", merge=_merged_fast),
    plain("heads", "heads merged in the opposite order", _reversed_output),
)

_PROJECTIONS = (
    with_parts("projection", "keys and values swapped", _swapped("key", "value")),
    with_parts("projection", "queries and keys swapped", _swapped("query", "key")),
    with_parts("projection", "queries and values swapped", _swapped("query", "value")),
    with_parts("projection", "the keys' projection for the values", _instead("value", "key")),
    with_parts("projection", "the values' projection for the keys", _instead("key", "value")),
    with_parts("projection", "the queries' projection for the keys", _instead("key", "query")),
    with_parts("projection", "the keys' projection for the queries", _instead("query", "key")),
    with_parts("projection", "no output projection", _no_output),
    *(
        with_parts("projection", f"the {part} projection transposed", _transposed(part))
        for part in ("query", "key", "value", "output")
    ),
    *(with_parts("projection", f"no {part} bias", _no_bias(part)) for part in ("query", "key", "value", "output")),
    with_parts("projection", "no biases", _no_biases),
    with_parts("projection", "queries and keys not normalised", _no_norm("query_norm", "key_norm")),
    with_parts("projection", "queries not normalised", _no_norm("query_norm")),
    with_parts("projection", "keys not normalised", _no_norm("key_norm")),
    with_parts("projection", "queries and keys normalised without their gains", _no_gain),
)

MUTATIONS: tuple[Mutation, ...] = (*_KV_HEADS, *_HEADS, *_PROJECTIONS)
