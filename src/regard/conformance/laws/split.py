"""A sequence cut anywhere, with the state passed on, gives the outputs of the whole sequence."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial
from regard.conformance.probing import compare_chunks
from regard.conformance.reference_recurrence import broken_recurrence, recurrent

# An error of fewer tolerances than this is not one of a state that is lost, but of one that is rounded.
_ROUNDED = 500.0
_LOST = Diagnosis("state", "the state, or part of it, is not passed on from call to call")
_BY_LENGTH = Diagnosis("state", "the state after several tokens is wrong; token by token it is right")
_COARSE = Diagnosis("precision", "the state is rounded between calls")


def _compare(trial: LawTrial) -> Comparisons:
    return compare_chunks(trial, "a sequence that is cut gives other outputs than the whole")


def _signs(_trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    if all(each.error < _ROUNDED * each.tolerance for each in broken):
        return [_COARSE]
    return [_LOST] if any(set(each.signature["chunks"]) == {1} for each in broken) else [_BY_LENGTH]


def _forgetful(*inputs: np.ndarray, state: np.ndarray | None = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    y, after = recurrent(*inputs, state=state, **options)
    return y, after if state is None else state


LAW = Law(
    id="SPLIT",
    statement="a sequence cut anywhere, with the state passed on, gives the outputs of the whole sequence",
    family="state",
    rank=103,
    needs=("state",),
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    looks_past_window=True,
    grows_in=("length",),
    broken_example=lambda: broken_recurrence("state updated only by the first call", function=_forgetful),
    suspects=(_LOST, _BY_LENGTH, _COARSE),
)
