"""What is turned keeps its shape and dtype, and what was handed over is left as it was."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._turning import inputs, table
from regard.conformance.homework import RotaryTurn, honest_turn, turn_of
from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.subject import Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    x, cache = inputs(trial), table(trial.size.length)
    given, given_cache = x.copy(), cache.copy()
    found = turn_of(trial).turn(x, cache)
    is_kept = found.shape == given.shape and found.dtype == given.dtype
    yield Comparison(
        what=f"x of shape {given.shape} and {given.dtype} comes back as {found.shape} and {found.dtype}",
        error=0.0 if is_kept else 1.0,
        tolerance=0.0,
    )
    yield Comparison(what="x is changed in place", error=distance(x, given), tolerance=0.0)
    yield Comparison(what="the cache is changed in place", error=distance(cache, given_cache), tolerance=0.0)


def _broken_example() -> Subject:
    return RotaryTurn(lambda x, cache: honest_turn(x, cache).astype(np.float64), name="float64 comes back")


LAW = Law(
    id="TURN-SHAPE",
    statement="the shape (B, heads, T, head_dim) and the dtype of x are kept, and nothing is changed in place",
    needs=("turn",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("pairs are not flattened again", "a complex or wider result is returned", "x is written to in place"),
)
