"""Returned attention weights are the ones that were used."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, distance, epsilon_of
from regard.conformance.oracle import TABLES, Oracle, undeclared
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec

_HALF_ULPS = 4
_UNUSED = Diagnosis("softmax", "the returned weights are not the ones used")
_SINK = Diagnosis("sink/softcap", "an undeclared sink takes a share")


def _compare(trial: LawTrial) -> Comparisons:
    """Rows of real tokens sum to one (less if there is a sink), and with the values they give y."""
    x = trial.inputs()
    yield from _of_call(trial, x, None)
    if trial.subject.has("mask") and x.shape[1] > 2:
        mask = np.ones(x.shape[:2], dtype=bool)
        mask[-1, -2:] = False
        yield from _of_call(trial, x, mask)


def _of_call(trial: LawTrial, x: np.ndarray, mask: np.ndarray | None) -> Comparisons:
    y, weights = trial.subject.call_with_weights(x, **({} if mask is None else {"mask": mask}))
    real = np.ones(x.shape[:2], dtype=bool) if mask is None else mask
    rows = weights.astype(np.float64).swapaxes(1, 2)[real]
    sums = rows.sum(axis=-1)
    gaps = np.maximum(sums - 1, 0) if trial.spec.sink else sums - 1
    signature = {"largest sum": float(sums.max())}
    what, zeros = "the weights of a row do not sum to one", np.zeros_like(gaps)
    yield trial.compared(what, gaps, zeros, _rounding(trial), signature=signature)
    if mask is not None:
        keys = np.broadcast_to(real[:, None, :], (*x.shape[:2], x.shape[1]))[real]
        hidden = np.where(keys[:, None, :], 0, rows)
        yield trial.compared("a masked key has weight", hidden, np.zeros_like(hidden), _rounding(trial))
    wanted = _mixed(trial, x, weights)
    if wanted is not None:
        wanted = wanted[real]
        yield trial.compared(
            "the weights do not reproduce the output",
            y[real],
            wanted,
            trial.work_tolerance(wanted),
            control=distance(wanted, np.broadcast_to(wanted.mean(axis=0), wanted.shape)),
            signature=signature,
        )


def _rounding(trial: LawTrial) -> float:
    """What a sum of rounded weights may be off by."""
    if trial.is_half_precision:
        return _HALF_ULPS * epsilon_of(trial.spec.dtype)
    return trial.work_tolerance(np.ones(1))


def _mixed(trial: LawTrial, x: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
    """The output that the weights give with the values, if these are known."""
    parts = trial.subject.projections() if trial.subject.has("weights") else None
    if parts is None or trial.spec.depth > 1 or weights.shape[1] != trial.spec.num_heads:
        return None
    if trial.spec.positions in TABLES or undeclared(trial.spec, parts) is not None:
        return None
    oracle = Oracle(spec=trial.spec, parts=parts)
    values = oracle.repeat(oracle, oracle.heads(x.astype(np.float64), "value"), "value")
    return oracle.linear("output")(oracle.merge(oracle, weights.astype(np.float64) @ values))


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    x = trial.inputs()
    first, again = trial.subject.call_with_weights(x), trial.subject.call_with_weights(x)
    sums = [each.signature["largest sum"] for each in broken if each.signature]
    if distance(first[1], again[1]) > 0:
        yield Diagnosis("dropout", "the weights change from call to call")
    elif sums and max(sums) < 1 - 1e-3:
        yield Diagnosis("softmax", "the weights sum to less than one")
        yield _SINK
    else:
        yield _UNUSED


class _UnnormalizedWeights(ReferenceLayer):
    def call_with_weights(self, x: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        y, weights = super().call_with_weights(x, **options)
        return y, weights / (1 + weights.max(axis=-1, keepdims=True))


LAW = Law(
    id="ROWSUM",
    statement="returned weights sum to one in every row and reproduce the output",
    family="softmax",
    rank=160,
    needs=("returned",),
    compare=_compare,
    grows_in=("length",),
    signs=_signs,
    broken_example=lambda: _UnnormalizedWeights(Spec(causal=True, positions="none"), name="unnormalized weights"),
    suspects=(
        _UNUSED,
        "rows are not normalized",
        Diagnosis("dropout", "dropout is applied to the returned weights"),
        _SINK,
    ),
)
