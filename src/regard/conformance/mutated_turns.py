"""Bugs of rotary codes."""

from collections.abc import Callable

import numpy as np

from regard.conformance.mutation import Mutation, declared_as, staged
from regard.conformance.oracle import Oracle, Part, turn
from regard.conformance.subject import Spec

Turn = Callable[[Oracle, np.ndarray, np.ndarray, Part], np.ndarray]
_BASES = (100.0, 1_000.0, 10_000.0, 100_000.0, 500_000.0, 1_000_000.0)


def _is_rotary(spec: Spec) -> bool:
    return spec.positions == "rotary"


def _width(spec: Spec) -> int:
    return spec.rotary_width or spec.head_width


def _frequencies(spec: Spec) -> np.ndarray:
    return spec.rotary_base ** (-np.arange(0, _width(spec), 2) / _width(spec))


def _crossed(x: np.ndarray, layout: str, sign: int = -1) -> np.ndarray:
    """What the sine multiplies: (−second, first) of each pair."""
    half = x.shape[-1] // 2
    if layout == "half-split":
        return np.concatenate([sign * x[..., half:], x[..., :half]], axis=-1)
    return np.stack([sign * x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)


def _laid_out(frequencies: np.ndarray, layout: str) -> np.ndarray:
    """A frequency for every number of a head."""
    return np.concatenate([frequencies] * 2) if layout == "half-split" else np.repeat(frequencies, 2)


def _by_hand(
    frequencies: Callable[[Spec], np.ndarray] = _frequencies, *, angles: str = "same", sign: int = 1, minus: int = -1
) -> Turn:
    """A turn with parts of its own: x cos + J(x) sin, in the declared layout unless the angles have the other one."""

    def turned(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
        if part == "value":
            return heads
        spec, dims = oracle.spec, _width(oracle.spec)
        other = "interleaved" if spec.rotary_layout == "half-split" else "half-split"
        per_number = _laid_out(frequencies(spec), spec.rotary_layout if angles == "same" else other)
        angle = sign * positions[:, None, :, None] * per_number
        x = heads[..., :dims]
        crossed = _crossed(x, spec.rotary_layout, sign=minus)
        return np.concatenate([x * np.cos(angle) + crossed * np.sin(angle), heads[..., dims:]], axis=-1)

    return turned


def _parts(*which: str) -> Turn:
    """Only these are turned."""

    def turned(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
        return turn(oracle, heads, positions, "query") if part in which else heads

    return turned


def _placed(rule: Callable[[np.ndarray, Part], np.ndarray]) -> Turn:
    """Turned to other positions."""

    def turned(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
        return turn(oracle, heads, rule(positions, part), part)

    return turned


def _by_head(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    """Turned along the axis of heads."""
    del positions
    if part == "value":
        return heads
    places = np.broadcast_to(np.arange(heads.shape[1]), (heads.shape[0], heads.shape[1]))
    return turn(oracle, heads.swapaxes(1, 2), places, part).swapaxes(1, 2)


def _last_numbers(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    """The last numbers are turned instead of the first."""
    rest = oracle.spec.head_width - _width(oracle.spec)
    moved = turn(oracle, np.roll(heads, -rest, axis=-1), positions, part)
    return np.roll(moved, rest, axis=-1)


def _before_split(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    """All heads of a token turned as one long vector."""
    if part == "value":
        return heads
    batch, count, length, width = heads.shape
    long = heads.swapaxes(1, 2).reshape(batch, 1, length, count * width)
    whole = oracle.changed(rotary_width=None)
    return turn(whole, long, positions, part).reshape(batch, length, count, width).swapaxes(1, 2)


def _rest_lost(oracle: Oracle, heads: np.ndarray, positions: np.ndarray, part: Part) -> np.ndarray:
    turned = turn(oracle, heads, positions, part)
    is_kept = part == "value" or np.arange(heads.shape[-1]) < _width(oracle.spec)
    return np.where(is_kept, turned, 0.0)


_LAYOUTS = (
    declared_as(
        "rotary",
        "the layout swapped",
        lambda spec: (
            {"rotary_layout": "interleaved" if spec.rotary_layout == "half-split" else "half-split"}
            if _is_rotary(spec)
            else None
        ),
    ),
    staged(
        "rotary",
        "half-split rotation with interleaved angles",
        turn=_by_hand(angles="other"),
        applies=lambda spec: _is_rotary(spec) and spec.rotary_layout == "half-split",
    ),
    staged(
        "rotary",
        "interleaved rotation with half-split angles",
        turn=_by_hand(angles="other"),
        applies=lambda spec: _is_rotary(spec) and spec.rotary_layout == "interleaved",
    ),
)

_PARTS = (
    staged("rotary", "only queries turned", applies=_is_rotary, turn=_parts("query")),
    staged("rotary", "only keys turned", applies=_is_rotary, turn=_parts("key")),
    staged("rotary", "values turned too", applies=_is_rotary, turn=_parts("query", "key", "value")),
    staged("rotary", "values turned instead of keys", applies=_is_rotary, turn=_parts("query", "value")),
    staged("rotary", "nothing turned", applies=_is_rotary, turn=_parts()),
)

_ANGLES = (
    *(
        declared_as(
            "rotary",
            f"base {base:.0f}",
            lambda spec, base=base: {"rotary_base": base} if _is_rotary(spec) and spec.rotary_base != base else None,
        )
        for base in _BASES
    ),
    staged("rotary", "turned the other way", applies=_is_rotary, turn=_by_hand(sign=-1)),
    staged(
        "rotary",
        "keys turned the other way",
        applies=_is_rotary,
        turn=_placed(lambda places, part: -places if part == "key" else places),
    ),
    staged("rotary", "a turn without its minus sign", applies=_is_rotary, turn=_by_hand(minus=1)),
    staged("rotary", "turned twice", applies=_is_rotary, turn=_placed(lambda places, _part: 2 * places)),
    staged(
        "rotary",
        "frequencies B^(−i/d) instead of B^(−2i/d)",
        applies=_is_rotary,
        turn=_by_hand(lambda spec: _frequencies(spec) ** 0.5),
    ),
    staged(
        "rotary",
        "frequencies B^(−4i/d) instead of B^(−2i/d)",
        applies=_is_rotary,
        turn=_by_hand(lambda spec: _frequencies(spec) ** 2),
    ),
    staged(
        "rotary",
        "frequencies in the opposite order",
        applies=_is_rotary,
        turn=_by_hand(lambda spec: _frequencies(spec)[::-1]),
    ),
    staged(
        "rotary",
        "frequencies that begin with i = 1",
        applies=_is_rotary,
        turn=_by_hand(lambda spec: spec.rotary_base ** (-np.arange(2, _width(spec) + 2, 2) / _width(spec))),
    ),
    staged("rotary", "frequencies B^(+2i/d)", applies=_is_rotary, turn=_by_hand(lambda spec: 1 / _frequencies(spec))),
    staged(
        "rotary",
        "frequencies that end at 1/B: i/(d/2 − 1)",
        applies=lambda spec: _is_rotary(spec) and _width(spec) > 2,
        turn=_by_hand(lambda spec: spec.rotary_base ** -np.linspace(0, 1, _width(spec) // 2)),
    ),
    staged(
        "rotary",
        "one frequency for all pairs",
        applies=_is_rotary,
        turn=_by_hand(lambda spec: np.ones(_width(spec) // 2)),
    ),
    staged(
        "rotary",
        "exponents by the model's width",
        applies=_is_rotary,
        turn=_by_hand(lambda spec: spec.rotary_base ** (-np.arange(0, _width(spec), 2) / spec.width)),
    ),
)

_WIDTHS = (
    declared_as(
        "rotary",
        "all numbers turned where only some are declared",
        lambda spec: {"rotary_width": None} if _is_rotary(spec) and _width(spec) < spec.head_width else None,
    ),
    declared_as(
        "rotary",
        "half of the numbers turned",
        lambda spec: {"rotary_width": _width(spec) // 2} if _is_rotary(spec) and _width(spec) % 4 == 0 else None,
    ),
    staged(
        "rotary",
        "exponents by the head's width where only some numbers turn",
        applies=lambda spec: _is_rotary(spec) and _width(spec) < spec.head_width,
        turn=_by_hand(lambda spec: spec.rotary_base ** (-np.arange(0, _width(spec), 2) / spec.head_width)),
    ),
    staged(
        "rotary",
        "the last numbers turned instead of the first",
        applies=lambda spec: _is_rotary(spec) and _width(spec) < spec.head_width,
        turn=_last_numbers,
    ),
    staged(
        "rotary",
        "numbers that do not turn are lost",
        applies=lambda spec: _is_rotary(spec) and _width(spec) < spec.head_width,
        turn=_rest_lost,
    ),
    staged("rotary", "turned before the heads are split", applies=_is_rotary, turn=_before_split),
)

_PLACES = (
    staged("positions", "turned by the head's number instead of the position", applies=_is_rotary, turn=_by_head),
    staged(
        "positions",
        "queries one position ahead of the keys",
        applies=_is_rotary,
        turn=_placed(lambda places, part: places + (part == "query")),
    ),
    staged(
        "positions",
        "queries one position behind the keys",
        applies=_is_rotary,
        turn=_placed(lambda places, part: places - (part == "query")),
    ),
    staged(
        "positions",
        "positions in the opposite order",
        applies=_is_rotary,
        turn=_placed(lambda places, _part: places[:, ::-1]),
    ),
    staged(
        "positions", "one position for all tokens", applies=_is_rotary, turn=_placed(lambda places, _part: 0 * places)
    ),
)

MUTATIONS: tuple[Mutation, ...] = (*_LAYOUTS, *_PARTS, *_ANGLES, *_WIDTHS, *_PLACES)
