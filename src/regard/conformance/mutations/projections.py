"""Bugs of what comes before and after attention: rotary codes, heads, key-value heads and projections."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from regard.attention import merge_heads, repeat_heads
from regard.conformance.mutations import Change, Mutation, plain, spec_change, stages, weight_change
from regard.conformance.oracle import AttentionInputs, Oracle, Part, repeat, rotate
from regard.conformance.subject import Projections, RotaryLayout, Spec

_Rotation = Callable[[Oracle, np.ndarray, np.ndarray, Part], np.ndarray]
_WeightChanges = Callable[[Projections], dict[str, Any] | None]
_BASES = (100.0, 1_000.0, 10_000.0, 100_000.0, 500_000.0, 1_000_000.0)
_PARTS = ("query", "key", "value", "output")


def _is_rotary(spec: Spec) -> bool:
    return spec.positions == "rotary"


def _is_partial(spec: Spec) -> bool:
    return _is_rotary(spec) and _width(spec) < spec.head_width


def _width(spec: Spec) -> int:
    return spec.rotary_width or spec.head_width


def _frequencies(spec: Spec, shift: int = 0, width: int = 0) -> np.ndarray:
    """B^(−2(i + shift)/width) for all pairs i; the width is that of what rotates."""
    return spec.rotary_base ** (-(np.arange(0, _width(spec), 2) + 2 * shift) / (width or _width(spec)))


def _other_layout(spec: Spec) -> str:
    return "interleaved" if spec.rotary_layout == "half-split" else "half-split"


def _rotation(
    frequencies: Callable[[Spec], np.ndarray] = _frequencies,
    *,
    applies: Callable[[Spec], bool] = _is_rotary,
    mixed: tuple[RotaryLayout, RotaryLayout] | None = None,
    sign: int = 1,
    minus: int = -1,
) -> Change:
    """A rotation by hand, x cos + J(x) sin, in the declared layout; `mixed` are those of the pairs and the angles."""

    def rotated(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
        if part == "value":
            return heads
        spec, dims = oracle.spec, _width(oracle.spec)
        pairs, layout = mixed or (spec.rotary_layout, spec.rotary_layout)
        rates = frequencies(spec)
        angle = sign * positions[:, None, :, None] * (np.tile(rates, 2) if layout == "half-split" else rates.repeat(2))
        x = heads[..., :dims]
        # What the sine multiplies: (−second, first) of each pair.
        if pairs == "half-split":
            crossed = np.concatenate([minus * x[..., dims // 2 :], x[..., : dims // 2]], axis=-1)
        else:
            crossed = np.stack([minus * x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
        return np.concatenate([x * np.cos(angle) + crossed * np.sin(angle), heads[..., dims:]], axis=-1)

    return stages(applies=applies, rotate=rotated)


def _rotated_parts(*parts: str) -> Change:
    """Only these are rotated."""

    def rotated(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
        return rotate(oracle, heads, positions, "query") if part in parts else heads

    return stages(applies=_is_rotary, rotate=rotated)


def _rotated_to(rule: Callable[[np.ndarray, Part], np.ndarray]) -> Change:
    """Rotated to other positions."""

    def rotated(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
        return rotate(oracle, heads, rule(positions, part), part)

    return stages(applies=_is_rotary, rotate=rotated)


def _by_head(oracle: Oracle, heads: np.ndarray, _positions: np.ndarray, part: Part) -> np.ndarray:
    """Rotated along the axis of heads."""
    if part == "value":
        return heads
    places = np.broadcast_to(np.arange(heads.shape[1]), (heads.shape[0], heads.shape[1]))
    return rotate(oracle, heads.swapaxes(1, 2), places, part).swapaxes(1, 2)


def _last_numbers(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    """The last coordinates are rotated instead of the first."""
    rest = oracle.spec.head_width - _width(oracle.spec)
    moved = rotate(oracle, np.roll(heads, -rest, axis=-1), positions, part)
    return np.roll(moved, rest, axis=-1)


def _before_split(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    """All heads of a token rotated as one long vector."""
    if part == "value":
        return heads
    batch, count, length, width = heads.shape
    long = heads.swapaxes(1, 2).reshape(batch, 1, length, count * width)
    whole = oracle.changed(rotary_width=None)
    return rotate(whole, long, positions, part).reshape(batch, length, count, width).swapaxes(1, 2)


def _rest_lost(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    rotated = rotate(oracle, heads, positions, part)
    is_kept = part == "value" or np.arange(heads.shape[-1]) < _width(oracle.spec)
    return np.where(is_kept, rotated, 0.0)


def _rotary_change(changes: Callable[[Spec], dict[str, Any] | None]) -> Change:
    return spec_change(lambda spec: changes(spec) if _is_rotary(spec) else None)


def _base(base: float) -> Change:
    return _rotary_change(lambda spec: {"rotary_base": base} if spec.rotary_base != base else None)


_ROTARY: dict[str, Change] = {
    "the layout swapped": _rotary_change(lambda spec: {"rotary_layout": _other_layout(spec)}),
    "half-split rotation with interleaved angles": _rotation(mixed=("half-split", "interleaved")),
    "interleaved rotation with half-split angles": _rotation(mixed=("interleaved", "half-split")),
    "only queries rotated": _rotated_parts("query"),
    "only keys rotated": _rotated_parts("key"),
    "values rotated too": _rotated_parts("query", "key", "value"),
    "values rotated instead of keys": _rotated_parts("query", "value"),
    "nothing rotated": _rotated_parts(),
    **{f"base {base:.0f}": _base(base) for base in _BASES},
    "rotated the other way": _rotation(sign=-1),
    "keys rotated the other way": _rotated_to(lambda places, part: -places if part == "key" else places),
    "a rotation without its minus sign": _rotation(minus=1),
    "rotated twice": _rotated_to(lambda places, _part: 2 * places),
    "frequencies B^(−i/d) instead of B^(−2i/d)": _rotation(lambda spec: _frequencies(spec) ** 0.5),
    "frequencies B^(−4i/d) instead of B^(−2i/d)": _rotation(lambda spec: _frequencies(spec) ** 2),
    "frequencies in the opposite order": _rotation(lambda spec: _frequencies(spec)[::-1]),
    "frequencies that begin with i = 1": _rotation(lambda spec: _frequencies(spec, shift=1)),
    "frequencies B^(+2i/d)": _rotation(lambda spec: 1 / _frequencies(spec)),
    "frequencies that end at 1/B: i/(d/2 − 1)": _rotation(
        lambda spec: spec.rotary_base ** -np.linspace(0, 1, _width(spec) // 2),
        applies=lambda spec: _is_rotary(spec) and _width(spec) > 2,
    ),
    "one frequency for all pairs": _rotation(lambda spec: np.ones(_width(spec) // 2)),
    "exponents by the model's width": _rotation(lambda spec: _frequencies(spec, width=spec.width)),
    "all coordinates rotated where only some are declared": spec_change(
        lambda spec: {"rotary_width": None} if _is_partial(spec) else None
    ),
    "half of the coordinates rotated": _rotary_change(
        lambda spec: {"rotary_width": _width(spec) // 2} if _width(spec) % 4 == 0 else None
    ),
    "exponents by the head's width where only some coordinates rotate": _rotation(
        lambda spec: _frequencies(spec, width=spec.head_width), applies=_is_partial
    ),
    "the last coordinates rotated instead of the first": stages(applies=_is_partial, rotate=_last_numbers),
    "coordinates that do not rotate are lost": stages(applies=_is_partial, rotate=_rest_lost),
    "rotated before the heads are split": stages(applies=_is_rotary, rotate=_before_split),
}

_POSITIONS: dict[str, Change] = {
    "rotated by the head's index instead of the position": stages(applies=_is_rotary, rotate=_by_head),
    "queries one position ahead of the keys": _rotated_to(lambda places, part: places + (part == "query")),
    "queries one position behind the keys": _rotated_to(lambda places, part: places - (part == "query")),
    "positions in the opposite order": _rotated_to(lambda places, _part: places[:, ::-1]),
    "one position for all tokens": _rotated_to(lambda places, _part: 0 * places),
}


def _has_kv_heads(spec: Spec) -> bool:
    return (spec.num_kv_heads or 1) > 1


def _tiled(*parts: str) -> Change:
    """Key heads 0, 1, 0, 1 where 0, 0, 1, 1 are meant."""

    def shared(oracle: Oracle, heads: np.ndarray, part: Part) -> np.ndarray:
        if part not in parts:
            return repeat(oracle, heads, part)
        return np.tile(heads, (1, oracle.spec.num_heads // heads.shape[1], 1, 1))

    return stages(applies=lambda spec: _has_kv_heads(spec) and spec.num_kv_heads != spec.num_heads, repeat=shared)


_KV_HEADS: dict[str, Change] = {
    "key and value heads tiled instead of repeated": _tiled("key", "value"),
    "key heads tiled, value heads repeated": _tiled("key"),
    "value heads tiled, key heads repeated": _tiled("value"),
    "the first key head for all": stages(
        applies=_has_kv_heads, repeat=lambda oracle, heads, _part: repeat_heads(heads[:, :1], oracle.spec.num_heads)
    ),
    "key and value heads in the opposite order": stages(
        applies=_has_kv_heads, repeat=lambda oracle, heads, part: repeat(oracle, heads, part)[:, ::-1]
    ),
}


def _split_untransposed(_oracle: Oracle, projected: np.ndarray, num_heads: int, _part: Part) -> np.ndarray:
    """[position, head · width] read as [head, position, width] without moving an axis."""
    batch, length, width = projected.shape
    return projected.reshape(batch, num_heads, length, width // num_heads)


def _split_fast(_oracle: Oracle, projected: np.ndarray, num_heads: int, _part: Part) -> np.ndarray:
    """The head as the faster axis of the projection."""
    batch, length, width = projected.shape
    return projected.reshape(batch, length, width // num_heads, num_heads).transpose(0, 3, 1, 2)


def _merged_untransposed(_oracle: Oracle, heads: np.ndarray) -> np.ndarray:
    batch, count, length, width = heads.shape
    return heads.reshape(batch, length, count * width)


def _merged_fast(_oracle: Oracle, heads: np.ndarray) -> np.ndarray:
    batch, count, length, width = heads.shape
    return heads.transpose(0, 2, 3, 1).reshape(batch, length, count * width)


_HEADS: dict[str, Change] = {
    "heads reshaped without a transpose": stages(split=_split_untransposed),
    "heads reshaped without a transpose, before and after": stages(
        split=_split_untransposed, merge=_merged_untransposed
    ),
    "heads merged without a transpose": stages(merge=_merged_untransposed),
    "the head as the faster axis": stages(split=_split_fast, merge=_merged_fast),
    "the head as the faster axis when split": stages(split=_split_fast),
    "the head as the faster axis when merged": stages(merge=_merged_fast),
    "heads merged in the opposite order": stages(merge=lambda _oracle, heads: merge_heads(heads[:, ::-1])),
}


def _with_weights_of(**sources: str) -> _WeightChanges:
    """Each projection, with its bias, taken from another one of the same shape."""

    def changes(parts: Projections) -> dict[str, Any] | None:
        if any(getattr(parts, one).shape != getattr(parts, other).shape for one, other in sources.items()):
            return None
        matrices = {one: getattr(parts, other) for one, other in sources.items()}
        return matrices | {f"{one}_bias": getattr(parts, f"{other}_bias") for one, other in sources.items()}

    return changes


def _is_square(matrix: np.ndarray) -> bool:
    return matrix.shape[0] == matrix.shape[1]


def _transposed(part: str) -> _WeightChanges:
    return lambda parts: {part: getattr(parts, part).T} if _is_square(getattr(parts, part)) else None


def _without_biases(*parts: str) -> _WeightChanges:
    def changes(weights: Projections) -> dict[str, Any] | None:
        names = [f"{part}_bias" for part in parts]
        return dict.fromkeys(names) if any(getattr(weights, name) is not None for name in names) else None

    return changes


def _without_norm(*names: str) -> _WeightChanges:
    def changes(parts: Projections) -> dict[str, Any] | None:
        extra = parts.extra or {}
        return {"extra": {k: v for k, v in extra.items() if k not in names}} if set(names) & set(extra) else None

    return changes


def _without_gain(parts: Projections) -> dict[str, Any] | None:
    norms = {name: np.ones_like(gain) for name, gain in (parts.extra or {}).items() if name.endswith("_norm")}
    return {"extra": {**(parts.extra or {}), **norms}} if norms else None


def _reread(order: Callable[[np.ndarray, int], np.ndarray]) -> Change:
    """Queries, keys and values from one matrix, whose last axis [3 · width] was written in another order."""

    def change(oracle: Oracle) -> Oracle | None:
        names, parts, heads = ("query", "key", "value"), oracle.parts, oracle.spec.num_heads
        if parts is None or oracle.spec.num_kv_heads != heads:
            return None
        found: dict[str, Any] = {}
        for ending in ("", "_bias"):
            arrays = [getattr(parts, name + ending) for name in names]
            if all(array is not None for array in arrays):
                read = np.split(order(np.concatenate(arrays, axis=-1), heads), 3, axis=-1)
                found |= {name + ending: array for name, array in zip(names, read, strict=True)}
        return replace(oracle, parts=replace(parts, **found))

    return change


_FUSED: dict[str, Change] = {
    "a fused matrix read part by part instead of head by head": _reread(
        lambda fused, heads: fused.reshape(*fused.shape[:-1], 3, heads, -1).swapaxes(-3, -2).reshape(fused.shape)
    ),
    "a fused matrix read head by head instead of part by part": _reread(
        lambda fused, heads: fused.reshape(*fused.shape[:-1], heads, 3, -1).swapaxes(-3, -2).reshape(fused.shape)
    ),
}


def _with_residual(oracle: Oracle, inputs: AttentionInputs) -> np.ndarray | None:
    output = oracle.output(inputs)
    return output + inputs.queries_from if output.shape == inputs.queries_from.shape else None


def _gains(rule: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]) -> _WeightChanges:
    """Other gains of the norms, by a rule of those of queries and of keys."""

    def changes(parts: Projections) -> dict[str, Any] | None:
        extra = dict(parts.extra or {})
        if not {"query_norm", "key_norm"} <= set(extra):
            return None
        query, key = rule(extra["query_norm"], extra["key_norm"])
        return {"extra": {**extra, "query_norm": query, "key_norm": key}}

    return changes


def _gain_of_all_heads(matrix: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """One gain for each coordinate of all heads, which are then normalized together."""
    return np.tile(gain, matrix.shape[1] // len(gain))


def _normed_together(parts: Projections) -> dict[str, Any] | None:
    changes = _gains(lambda query, key: (_gain_of_all_heads(parts.query, query), _gain_of_all_heads(parts.key, key)))
    return changes(parts) if parts.query.shape[1] > len((parts.extra or {}).get("query_norm", ())) else None


def _table(rule: Callable[[np.ndarray], np.ndarray]) -> _WeightChanges:
    """Another table of position codes."""

    def changes(parts: Projections) -> dict[str, Any] | None:
        table = (parts.extra or {}).get("positions")
        return None if table is None else {"extra": {**(parts.extra or {}), "positions": rule(table)}}

    return changes


_TABLES: dict[str, _WeightChanges] = {
    "no position code added": _table(np.zeros_like),
    "the position codes added twice": _table(lambda table: 2 * table),
    "positions from one": _table(lambda table: np.roll(table, -1, axis=0)),
    "positions from two": _table(lambda table: np.roll(table, -2, axis=0)),
}

_PROJECTIONS: dict[str, _WeightChanges] = {
    "keys and values swapped": _with_weights_of(key="value", value="key"),
    "queries and keys swapped": _with_weights_of(query="key", key="query"),
    "queries and values swapped": _with_weights_of(query="value", value="query"),
    "the keys' projection for the values": _with_weights_of(value="key"),
    "the values' projection for the keys": _with_weights_of(key="value"),
    "the queries' projection for the keys": _with_weights_of(key="query"),
    "the keys' projection for the queries": _with_weights_of(query="key"),
    "no output projection": lambda parts: (
        {"output": np.eye(len(parts.output)), "output_bias": None} if _is_square(parts.output) else None
    ),
    **{f"the {part} projection transposed": _transposed(part) for part in _PARTS},
    **{f"no {part} bias": _without_biases(part) for part in _PARTS},
    "no biases": _without_biases(*_PARTS),
    "no biases of queries, keys and values": _without_biases("query", "key", "value"),
    "queries and keys not normalized": _without_norm("query_norm", "key_norm"),
    "queries not normalized": _without_norm("query_norm"),
    "keys not normalized": _without_norm("key_norm"),
    "queries and keys normalized without their gains": _without_gain,
    "the gains of queries and keys swapped": _gains(lambda query, key: (key, query)),
    "the queries' gain for keys too": _gains(lambda query, _: (query, query)),
    "the keys' gain for queries too": _gains(lambda _, key: (key, key)),
    "gains without the one that is added": _gains(lambda query, key: (query - 1, key - 1)),
    "a norm over all heads together": _normed_together,
}

MUTATIONS: tuple[Mutation, ...] = (
    *plain("rotary", _ROTARY),
    *plain("positions", _POSITIONS),
    *plain("kv-heads", _KV_HEADS),
    *plain("heads", _HEADS),
    *plain("positions", {description: weight_change(changes) for description, changes in _TABLES.items()}),
    *plain("projection", _FUSED),
    Mutation(family="projection", description="the input added to the output", output=_with_residual),
    *plain("projection", {description: weight_change(changes) for description, changes in _PROJECTIONS.items()}),
)
