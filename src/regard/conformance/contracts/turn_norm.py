"""A turned vector is as long as it was."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._turning import inputs, table
from regard.conformance.homework import RotaryTurn, honest_turn, turn_of
from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.subject import Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    x = inputs(trial)
    found = turn_of(trial).turn(x, table(trial.size.length))
    if found.shape != x.shape:
        return
    before, after = (np.linalg.norm(side.astype(np.float64), axis=-1) for side in (x, found))
    yield Comparison(
        what="the norm of a turned vector changes",
        error=distance(after, before),
        tolerance=trial.tolerance(before),
        control=float(before.max()),
    )


def _broken_example() -> Subject:
    return RotaryTurn(lambda x, cache: honest_turn(x, cache * np.float32(1.01)), name="stretches")


LAW = Law(
    id="TURN-NORM",
    statement="‖apply_rotary_emb(x)‖ = ‖x‖ for every vector",
    needs=("turn",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("a sign in the rotation", "cos and sin of different pairs are combined", "only the cosine is used"),
)
