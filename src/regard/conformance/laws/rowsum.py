"""Returned weights are the ones that were used."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance, epsilon_of
from regard.conformance.oracle import Asked, Oracle, undeclared
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.rounding import is_half, work_tolerance
from regard.conformance.subject import Spec, Subject

_HALF_ULPS = 4


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Rows of real tokens sum to one (to less where a sink takes its share), and give y with the values."""
    x = trial.inputs()
    yield from _of(trial, x, {})
    if trial.subject.has("mask") and x.shape[1] > 2:
        mask = np.ones(x.shape[:2], dtype=bool)
        mask[-1, -2:] = False
        yield from _of(trial, x, {"mask": mask})


def _of(trial: LawTrial, x: np.ndarray, options: dict[str, Any]) -> Iterator[Comparison]:
    y, weights = trial.subject.call_with_weights(x, **options)
    real = options.get("mask", np.ones(x.shape[:2], dtype=bool))
    rows = weights.astype(np.float64).swapaxes(1, 2)[real]
    sums = rows.sum(axis=-1)
    gaps = np.maximum(sums - 1, 0) if trial.spec.sink else sums - 1
    yield Comparison(
        what="the weights of a row do not sum to one",
        error=distance(gaps, np.zeros_like(gaps)),
        tolerance=_rounding(trial),
        signature={"sums": (float(sums.min()), float(sums.max())), "is masked": bool(options)},
    )
    if options:
        keys = np.broadcast_to(real[:, None, :], (*real.shape, real.shape[1]))[real]
        hidden = np.where(keys[:, None, :], 0, rows)
        yield Comparison(
            what="a masked key has weight",
            error=distance(hidden, np.zeros_like(hidden)),
            tolerance=_rounding(trial),
            signature={"is masked": True},
        )
    wanted = _mixed(trial, x, weights)
    if wanted is not None:
        wanted = wanted[real]
        yield Comparison(
            what="the weights do not reproduce the output",
            error=distance(y[real], wanted),
            tolerance=work_tolerance(trial, wanted),
            control=distance(wanted, np.broadcast_to(wanted.mean(axis=0), wanted.shape)),
            signature={"sums": (float(sums.min()), float(sums.max())), "is masked": bool(options)},
        )


def _rounding(trial: LawTrial) -> float:
    """What a sum of rounded weights may be off by."""
    if is_half(trial.spec.dtype):
        return _HALF_ULPS * epsilon_of(trial.spec.dtype)
    return work_tolerance(trial, np.ones(1))


def _mixed(trial: LawTrial, x: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
    """The output that the weights make of the values, where these are known."""
    parts = trial.subject.projections() if trial.subject.has("weights") else None
    if parts is None or trial.spec.depth > 1 or weights.shape[1] != trial.spec.num_heads:
        return None
    if trial.spec.positions in ("sinusoidal", "learned") or undeclared(trial.spec, parts) is not None:
        return None
    oracle, asked = Oracle(spec=trial.spec, parts=parts), Asked.all(x)
    values = oracle.spread(oracle, oracle.heads(asked.keys_from, "value"), "value")
    return oracle.linear("output")(oracle.merge(oracle, weights.astype(np.float64) @ values))


class _Averaged(ReferenceLayer):
    """Returns weights before they are made to sum to one."""

    def call_with_weights(self, x: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        y, weights = super().call_with_weights(x, **options)
        return y, weights / (1 + weights.max(axis=-1, keepdims=True))


def _broken_example() -> Subject:
    return _Averaged(Spec(causal=True, positions="none"), name="weights that are not shares")


LAW = Law(
    id="ROWSUM",
    statement="returned weights sum to one in every row and reproduce the output",
    needs=("returned",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "softmax: the weights returned are not those used",
        "softmax: rows are not normalised",
        "dropout: dropout acts on the weights returned",
        "sink/softcap: a sink takes part and is not declared",
    ),
)
