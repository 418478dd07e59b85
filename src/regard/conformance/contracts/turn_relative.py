"""Scores of turned vectors depend on distances alone."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._turning import inputs, table
from regard.conformance.homework import RotaryTurn, honest_turn, turn_of
from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.subject import Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """One query and one key stand at every position: scores along each diagonal must be equal."""
    length = trial.size.length
    if length < 3:
        return
    queries, keys = (np.repeat(inputs(trial, name)[:, :, :1], length, axis=2) for name in ("query", "key"))
    turned = [turn_of(trial).turn(side, table(length)) for side in (queries, keys)]
    if any(side.shape != queries.shape for side in turned):
        return
    scores = turned[0].astype(np.float64) @ turned[1].astype(np.float64).swapaxes(-1, -2)
    yield Comparison(
        what="the score of a query and a key changes when both move on by one position",
        error=distance(scores[..., 1:, 1:], scores[..., :-1, :-1]),
        tolerance=trial.tolerance(scores),
        control=distance(scores[..., 1:, :], scores[..., :-1, :]),
    )


def _broken_example() -> Subject:
    return RotaryTurn(lambda x, cache: honest_turn(x, cache * np.array([1.0, 0.0])), name="cosine alone")


LAW = Law(
    id="TURN-RELATIVE",
    statement="⟨turn(q, t), turn(k, u)⟩ depends on t − u alone",
    needs=("turn",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=("a sign in the rotation", "positions are taken along the head axis", "the table is used unevenly"),
)
