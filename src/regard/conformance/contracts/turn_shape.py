"""What is turned keeps its shape and dtype, and what was handed over is left as it was."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._turning import inputs, table
from regard.conformance.homework import RotaryTurn, honest_turn, turn_of
from regard.conformance.law import Finding, Law, Trial, distance
from regard.conformance.subject import Subject


def _findings(trial: Trial) -> Iterator[Finding]:
    x, cache = inputs(trial), table(trial.size.length)
    given, given_cache = x.copy(), cache.copy()
    found = turn_of(trial).turn(x, cache)
    is_kept = found.shape == given.shape and found.dtype == given.dtype
    yield Finding(
        what=f"x of shape {given.shape} and {given.dtype} comes back as {found.shape} and {found.dtype}",
        error=0.0 if is_kept else 1.0,
        tolerance=0.0,
    )
    yield Finding(what="x is changed in place", error=distance(x, given), tolerance=0.0)
    yield Finding(what="the cache is changed in place", error=distance(cache, given_cache), tolerance=0.0)


def _outlaw() -> Subject:
    return RotaryTurn(lambda x, cache: honest_turn(x, cache).astype(np.float64), name="float64 comes back")


LAW = Law(
    id="TURN-SHAPE",
    statement="the shape (B, heads, T, head_dim) and the dtype of x are kept, and nothing is changed in place",
    needs=("turn",),
    findings=_findings,
    outlaw=_outlaw,
    suspects=("pairs are not flattened again", "a complex or wider result is returned", "x is written to in place"),
)
