"""Groups of equal numbers survive quantization."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.laws._quantized import ROUNDING, SIZE, draw_pair, named_parts, restored, steps_of
from regard.conformance.reference_kernels import dequantize, quantized_kernel

_VALUES = (0.0, 1.0, -3.0, 1e-3)
_DIVIDED = Diagnosis("quantised", "a range of zero is divided by")


def _compare(trial: LawTrial) -> Comparisons:
    """All numbers equal, then those of one row; what is dead gives back no constant but zero."""
    bits, ordinary = trial.subject.traits.bits, draw_pair(trial, "constant")
    for value in _VALUES:
        everywhere = tuple(np.full_like(each, value) for each in ordinary)
        one_row = tuple(each.copy() for each in ordinary)
        for each in one_row:
            each[0] = value
        for case, pair in (("all numbers", everywhere), ("the numbers of one row", one_row)):
            for (name, groups), given, ours in zip(named_parts(trial), pair, restored(trial, *pair), strict=True):
                found, step = ours[:1], float(steps_of(trial, given, groups)[:1].max())
                yield Comparison(
                    what=f"{name} do not come back if {case} are {value:g}",
                    error=distance(found, np.full(found.shape, value)),
                    # One step of a group of numbers of this size, with or without a zero point.
                    tolerance=max(step, abs(value) / (2 ** (bits - 1) - 1)) + ROUNDING * abs(value) + 1e-6,
                    suggests=(_DIVIDED,) if not np.isfinite(found).all() else (),
                )


def _divides_by_zero(k: np.ndarray, v: np.ndarray) -> list:
    steps = [np.abs(x).max(axis=-1, keepdims=True) / 127 for x in (k, v)]
    return [(np.round(x / step), step) for x, step in zip((k, v), steps, strict=True)]


LAW = Law(
    id="QUANTCONST",
    statement="groups of equal numbers and of zeros come back finite, and within one step of their size",
    family="quantised",
    rank=510,
    needs=("quantized",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: quantized_kernel(_divides_by_zero, dequantize),
    suspects=("a range of zero is divided by", "the zero point of a constant group is lost"),
    size=SIZE,
)
