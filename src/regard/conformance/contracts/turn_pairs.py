"""Neighbours are turned as complex numbers by the angles of their position."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._rivals import look_alikes
from regard.conformance.contracts._turning import inputs, table
from regard.conformance.homework import RotaryTurn, honest_turn, turn_of
from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.subject import Subject
from regard.positions.rotary import Rotary


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    x, cache = inputs(trial), table(trial.size.length)
    found, wanted = turn_of(trial).turn(x, cache), honest_turn(x, cache)
    if found.shape != wanted.shape:
        return
    yield Comparison(
        what="the result is not (x_1 + i x_2)(cos + i sin) pair by pair",
        error=distance(found, wanted),
        tolerance=trial.tolerance(wanted),
        control=None if trial.size.length == 1 else distance(wanted, x),
        signature={"looks": look_alikes(found, _mistakes(x, cache))},
    )


def _mistakes(x: np.ndarray, cache: np.ndarray) -> dict[str, np.ndarray]:
    """The same input turned with one known mistake each."""
    backwards = cache * np.array([1.0, -1.0], dtype=cache.dtype)
    length, heads = x.shape[2], x.shape[1]
    mistakes = {
        "half-split pairs (x_i, x_{i+d/2})": _half_split(x),
        "a turn the other way (sin with the wrong sign)": honest_turn(x, backwards),
        "half-split pairs turned the other way": _half_split(x, sign=-1),
        "positions shifted by one": honest_turn(x, table(length + 1)[1:]),
        "pairs taken as (x_2, x_1) and left exchanged": honest_turn(_exchanged(x), cache),
        "pairs taken as (x_2, x_1)": _exchanged(honest_turn(_exchanged(x), cache)),
        "x as it was, nothing turned": x,
    }
    if heads <= length:
        by_head = honest_turn(x.swapaxes(1, 2), cache[:heads]).swapaxes(1, 2)
        mistakes["positions counted along the head axis"] = by_head
    return mistakes


def _exchanged(x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[:-1], -1, 2)[..., ::-1].reshape(x.shape)


def _half_split(x: np.ndarray, sign: int = 1) -> np.ndarray:
    return Rotary(layout="half-split").rotate(x, np.broadcast_to(sign * np.arange(x.shape[-2]), x.shape[:-1]))


def _broken_example() -> Subject:
    return RotaryTurn(lambda x, cache: _half_split(x) + 0 * cache[0, 0, 0], name="half-split pairs")


LAW = Law(
    id="TURN-PAIRS",
    statement="(x_{2i−1} + i x_{2i}) is multiplied by cos tθ_i + i sin tθ_i, for neighbouring pairs",
    needs=("turn",),
    compare=_compare,
    broken_example=_broken_example,
    grade="spec",
    suspects=("half-split pairs instead of neighbours", "the sign of the sine", "positions along another axis"),
)
