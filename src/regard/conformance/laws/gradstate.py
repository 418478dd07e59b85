"""Gradients through chunks and passed states equal those of one call."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, InputSize, Law, LawTrial
from regard.conformance.reference_recurrence import REFERENCE, RecurrenceLayer

_DETACHED = Diagnosis("gradient", "the state is detached between calls")
_CHUNKED = Diagnosis("gradient", "the backward pass of the chunked form is wrong")


def _compare(trial: LawTrial) -> Comparisons:
    """∂⟨direction, f(x)⟩/∂x in one call, against the same through a cut and in chunks."""
    x, gradient = trial.inputs(), trial.subject.gradient
    if x.shape[1] < 2:
        return
    direction = trial.rng("direction").standard_normal(trial.call(x).shape).astype(x.dtype)
    whole = gradient(x, direction)
    control = float(np.abs(whole.astype(np.float64)).max())
    forms: list[dict[str, Any]] = [{}, *([{"form": "chunked"}] if trial.subject.has("chunked") else [])]
    middle = x.shape[1] // 2
    for options, cuts in itertools.product(forms, ((), (1,), (middle,), (middle, middle + 1))):
        if not options and not cuts:
            continue
        found = gradient(x, direction, **options, cuts=cuts)
        bug = _DETACHED if cuts else _CHUNKED
        yield trial.compared(
            "the gradient through calls that pass a state on differs" if cuts else "the gradient in chunks differs",
            found,
            whole,
            control=control,
            place={"cuts": list(cuts), **options},
            suggests=(bug,),
        )


class _DetachedState(RecurrenceLayer):
    """Gradients by finite differences, those of the first part without what it does to the second."""

    capabilities = frozenset({"gradient"})

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        cut = (*options.get("cuts", ()), 0)[0]
        found, step = np.zeros_like(x), 1e-5
        for place in np.ndindex(x.shape):
            ends = [x.copy(), x.copy()]
            ends[0][place] += step
            ends[1][place] -= step
            slope = (self.call(ends[0]) - self.call(ends[1])) / (2 * step)
            reached = slice(0, cut) if place[1] < cut else slice(None)
            found[place] = np.sum((direction * slope)[:, reached])
        return found


def _broken_example() -> RecurrenceLayer:
    subject = _DetachedState(replace(REFERENCE, name="state detached between calls", dtype="float64", chunked=None))
    subject.capabilities |= {"gradient"}
    return subject


LAW = Law(
    id="GRADSTATE",
    statement="the gradient through chunks and through a state that is passed on equals that of one call",
    family="gradient",
    rank=341,
    needs=("state", "gradient"),
    compare=_compare,
    diagnosed_by="suspects",
    size=InputSize(batch=1, length=6),
    broken_example=_broken_example,
    suspects=(_DETACHED, _CHUNKED),
)
