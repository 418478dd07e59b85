"""Small steps of the input make small steps of the output."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, InputSize, Law, LawTrial, Spec, dtype_of
from regard.conformance.reference_layer import ReferenceLayer

# The shorter step is far below half precision's and far above float32's, in which much public code forms its softmax.
_SHORT, _LONG = 1e-4, 1e-3
_NUM_DIRECTIONS = 7
_AGREEMENT = 5e-2

_ROUNDED_INSIDE = Diagnosis("precision", "something inside is rounded to half precision")


def _compare(trial: LawTrial) -> Comparisons:
    """Slopes over two steps in float64, along several directions: half of them must agree, as some may meet a kink.

    Numbers that were rounded to half precision inside stay constant over the shorter step, or jump.
    """
    trial = trial.in_float64()
    x = trial.inputs()
    y = trial.call(x).astype(np.float64)
    apart = []
    for number in range(_NUM_DIRECTIONS):
        along = trial.rng(f"along {number}").standard_normal(x.shape)
        short, long = (_slope(trial, x, along, step) for step in (_SHORT, _LONG))
        apart.append(float(np.linalg.norm(short - long)) / max(float(np.linalg.norm(long)), 1e-300))
    yield Comparison(
        what="outputs stay constant or jump when inputs change by small steps",
        error=float(np.median(apart)),
        tolerance=_AGREEMENT,
        control=0.0 if float(np.ptp(y)) == 0 else None,
        place={"step": _SHORT},
    )


def _slope(trial: LawTrial, x: np.ndarray, along: np.ndarray, step: float) -> np.ndarray:
    up, down = (trial.call((x + sign * step * along).astype(x.dtype)) for sign in (1, -1))
    return (up.astype(np.float64) - down.astype(np.float64)) / (2 * step)


class _CoarseValues(ReferenceLayer):
    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        heads = super()._heads(x, part, num_heads)
        return heads.astype(dtype_of("bfloat16")).astype(self.dtype) if part == "value" else heads


LAW = Law(
    id="SMOOTH",
    statement="in float64 the output follows small steps of the input: nothing inside is rounded to half precision",
    family="precision",
    rank=190,
    needs=("float64",),
    compare=_compare,
    means=_ROUNDED_INSIDE,
    broken_example=lambda: _CoarseValues(Spec(dtype="float64"), name="values in bfloat16"),
    suspects=(_ROUNDED_INSIDE,),
    size=InputSize(batch=2, length=6),
)
