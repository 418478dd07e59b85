"""How far rounding may take a layer from what it must be, where other work than its own dtype's is lawful."""

import math
from dataclasses import replace

import numpy as np

from regard.conformance.law import LawTrial, NotTried, epsilon_of

HALVES = ("bfloat16", "float16")

# In the same units as a trial's own tolerance.
_ULPS = 64
# Units of the last place that a logit may be off by: two projections, two turns and one product.
_LOGIT_ULPS = 8
# A step whose square is nothing in float64, and which moves every number that is rounded to float32.
_STEP = 1e-6


def is_half(dtype: str) -> bool:
    """True for the two half precisions."""
    return dtype in HALVES


def work_tolerance(trial: LawTrial, outputs: np.ndarray, largest_logit: float = 0.0) -> float:
    """The trial's tolerance, never below float32's, and larger with the logits.

    Much public code forms its softmax, its angles and its slopes in float32 whatever the dtype of the layer, and that
    is lawful. An error of eps·|z| in a logit z is one of as much in the weights.
    """
    finite = np.abs(outputs[np.isfinite(outputs)])
    largest = max(float(np.max(finite, initial=0.0)), 1e-3)
    single = _ULPS * epsilon_of("float32") * math.sqrt(trial.size.length) * largest
    of_logits = _LOGIT_ULPS * max(epsilon_of("float32"), epsilon_of(trial.spec.dtype)) * largest_logit * largest
    return max(trial.tolerance(outputs), single) + of_logits


def widest_subject(trial: LawTrial) -> LawTrial:
    """The trial on the same layer in float32 if it is in half precision and can be had so."""
    if not (is_half(trial.spec.dtype) and trial.subject.has("float64")):
        return trial
    wider = trial.subject.in_dtype("float32")
    return replace(trial, subject=wider.declared(dtype="float32"))


def in_float64(trial: LawTrial) -> LawTrial:
    """The trial in float64 where the layer can be had in it, in float32 if that is what it is in."""
    if trial.spec.dtype == "float64":
        return trial
    if trial.subject.has("float64"):
        return replace(trial, subject=trial.subject.in_dtype("float64").declared(dtype="float64"))
    if trial.spec.dtype != "float32":
        raise NotTried(f"differences in {trial.spec.dtype} say nothing, and the layer cannot be had in float64")
    return trial


def inner_rounding(trial: LawTrial, x: np.ndarray) -> float:
    """How far a float64 layer's outputs are from smooth, which is what it rounds to float32 inside.

    max |f(x + h) − 2 f(x) + f(x − h)|
    """
    step = _STEP * trial.rng("rounding").standard_normal(x.shape)
    up, middle, down = (trial.subject.call(x + sign * step).astype(np.float64) for sign in (1, 0, -1))
    return float(np.abs(up - 2 * middle + down).max())
