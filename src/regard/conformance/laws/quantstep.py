"""Quantization errs by no more than its step explains."""

import numpy as np

from regard.conformance.law import BlindSpot, Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial
from regard.conformance.laws._quantized import ROUNDING, SIZE, draw_pair, named_parts, restored, steps_of
from regard.conformance.reference_kernels import quantize, quantized_kernel

# Rounding to the nearest errs by 1/√12 = 0.29 steps in the root mean square, cutting off by 1/√3 = 0.58.
_ROOT_MEAN_SQUARE = 0.4
_MOST = 1.02
_EXCHANGED = Diagnosis("quantised", "keys and values are exchanged")
_SATURATED = Diagnosis("quantised", "large numbers saturate: the step is too small, or the range is cut off")
_CUT_OFF = Diagnosis("quantised", "numbers are cut off instead of rounded, or the step is too large")
_SHIFTED = Diagnosis("quantised", "the zero point is wrong, or lost")


def _compare(trial: LawTrial) -> Comparisons:
    """The largest error and its root mean square, in steps, of centred numbers and of numbers far from zero."""
    for case, offset in (("numbers around zero", 0.0), ("numbers far from zero", 3.0)):
        pair = draw_pair(trial, case, offset=offset)
        found = restored(trial, *pair)
        for own, (name, groups) in enumerate(named_parts(trial)):
            given, ours = pair[own].astype(np.float64), found[own]
            steps = steps_of(trial, pair[own], groups)
            errors = (ours - given) / (steps + ROUNDING * np.abs(given))
            worst = np.unravel_index(np.argmax(np.nan_to_num(np.abs(errors), nan=np.inf)), given.shape)
            signature = {"errors": errors, "given": given, "other": pair[1 - own].astype(np.float64), "found": ours}
            more = {"place": {"index": [int(each) for each in worst]}, "signature": signature}
            largest, usual = float(np.abs(errors).max()), float(np.sqrt(np.mean(errors**2)))
            yield Comparison(
                what=f"{name} are off by more than a step ({case})", error=largest, tolerance=_MOST, **more
            )
            what = f"{name} are off by more steps than rounding explains, in the root mean square ({case})"
            yield Comparison(what=what, error=usual, tolerance=_ROOT_MEAN_SQUARE, **more)


def _signs(_trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    signature = broken[0].signature
    errors, given, found = signature["errors"], signature["given"], signature["found"]
    if all(_correlation(each.signature["found"], each.signature["other"]) > 0.9 for each in broken):
        yield _EXCHANGED
        return
    wrong = np.abs(errors) > _MOST
    if (
        wrong.any()
        and (np.abs(found[wrong]) < np.abs(given[wrong])).all()
        and np.abs(given[wrong]).mean() > np.abs(given).mean()
    ):
        yield _SATURATED
    elif not wrong.any():
        yield _CUT_OFF
    elif abs(errors.mean()) > 0.5 * np.abs(errors).mean():
        yield _SHIFTED


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1]) if np.isfinite(one).all() and one.size > 2 else 0.0


LAW = Law(
    id="QUANTSTEP",
    statement="each number comes back within one step of its group, keys as keys and values as values",
    family="quantised",
    rank=540,
    needs=("quantized",),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: quantized_kernel(lambda k, v: quantize(v, k)),
    suspects=("the step or the zero point is wrong", "keys and values are exchanged", "large numbers saturate"),
    size=SIZE,
    grade="spec",
    reveals=(*BlindSpot,),
)
