"""Quantization follows the scale of its input."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Law, LawTrial
from regard.conformance.laws._quantized import ROUNDING, SIZE, draw_pair, named_parts, restored, steps_of
from regard.conformance.reference_kernels import quantized_kernel

# Small numbers added to a step can flip a tie, which is one step.
_MOST = 1.02
_POWERS = (-6, 6)


def _compare(trial: LawTrial) -> Comparisons:
    """Numbers times a power of two, compared in steps; the positive control is the spread of the numbers."""
    pair = draw_pair(trial, "scale")
    before = restored(trial, *pair)
    for power in _POWERS:
        factor = 2.0**power
        scaled = tuple((each * factor).astype(each.dtype) for each in pair)
        found = restored(trial, *scaled)
        for own, (name, groups) in enumerate(named_parts(trial)):
            steps = steps_of(trial, pair[own], groups) + ROUNDING * np.abs(pair[own].astype(np.float64))
            yield Comparison(
                what=f"{name} times 2^{power} do not come back times 2^{power}, in steps",
                error=float(np.abs((found[own] / factor - before[own]) / steps).max()),
                tolerance=_MOST,
                place={"power": power},
            )


def _fixed_step(k: np.ndarray, v: np.ndarray) -> list:
    return [(np.clip(np.round(x / 0.25), -127, 127), np.full((*x.shape[:-1], 1), 0.25, x.dtype)) for x in (k, v)]


LAW = Law(
    id="QUANTSCALE",
    statement="keys and values times a power of two come back times that power",
    family="quantised",
    rank=530,
    needs=("quantized",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: quantized_kernel(_fixed_step),
    suspects=(
        "the step does not follow the numbers: it is fixed or has a bound",
        "the range is cut off at a fixed number",
    ),
    size=SIZE,
)
