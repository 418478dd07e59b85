"""Large logits give finite outputs."""

import numpy as np

from regard.attention import repeat_heads, split_heads
from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec, distance
from regard.conformance.reference_layer import ReferenceLayer

_LOGITS = 1e5
# float16 ends at 65504, and products before scaling must fit as well.
_LOGITS_FLOAT16 = 3e4
# Logits of unit inputs through projections of unit gain reach about this many standard deviations.
_PEAK = 5.0
# Without the weights their gain is a guess, so float16 needs a margin; its exp overflows at 11 anyway.
_MARGIN_FLOAT16 = 30.0


def _compare(trial: LawTrial) -> Comparisons:
    """x is scaled until logits reach 1e5, or 3e4 in float16: outputs stay finite, and still change with the input."""
    x, others = trial.inputs(), trial.inputs("others")
    y = trial.call(x)
    factor = _factor(trial, x)
    inputs = ((each.astype(np.float64) * factor).astype(x.dtype) for each in (x, others))
    large, moved = (trial.call(each).astype(np.float64) for each in inputs)
    place = {"factor": float(f"{factor:.3g}")}
    infinite = np.argwhere(~np.isfinite(large))
    yield Comparison(
        what="an output is not finite at large logits",
        error=np.inf if len(infinite) else 0.0,
        tolerance=0.0,
        control=distance(large, y),
        place={**place, **({"output": int(infinite[0][1])} if len(infinite) else {})},
        is_yes_no=True,
    )
    control = distance(trial.call(others), y)
    still = np.argwhere((large == moved).all(axis=-1)) if control > 0 else np.zeros((0, 2), dtype=int)
    yield Comparison(
        what="an output no longer changes with the input at large logits",
        error=control if len(still) else 0.0,
        tolerance=0.0,
        control=control,
        place={**place, **({"output": int(still[0][1])} if len(still) else {})},
        is_yes_no=True,
    )


def _factor(trial: LawTrial, x: np.ndarray) -> float:
    """What x is multiplied by; logits grow with its square."""
    spec, scale = trial.spec, trial.spec.scale or trial.spec.head_width**-0.5
    is_float16 = spec.dtype == "float16"
    peak = _largest_product(trial, x) if trial.subject.has("weights") else None
    margin = _MARGIN_FLOAT16 if peak is None and is_float16 else 1.0
    peak = peak or _PEAK * spec.head_width**0.5
    wanted = _LOGITS_FLOAT16 / margin if is_float16 else _LOGITS / scale
    return float(np.sqrt(wanted / peak))


def _largest_product(trial: LawTrial, x: np.ndarray) -> float:
    """max |q·k| of the heads before scaling; rotation hardly changes it."""
    weights, num_heads, wide = trial.subject.projections(), trial.spec.num_heads, x.astype(np.float64)
    q, k = (wide @ np.asarray(matrix, dtype=np.float64) for matrix in (weights.query, weights.key))
    keys = repeat_heads(split_heads(k, trial.spec.num_kv_heads or num_heads), num_heads)
    return float(np.abs(split_heads(q, num_heads) @ keys.swapaxes(-1, -2)).max())


class _UnshiftedSoftmax(ReferenceLayer):
    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        powers = np.where(visible, np.exp(z), z.dtype.type(0))
        return powers / powers.sum(axis=-1, keepdims=True)


LAW = Law(
    id="OVERFLOW",
    statement="outputs are finite at logits of 1e5 (3e4 in float16) and still depend on the input",
    family="softmax",
    rank=110,
    compare=_compare,
    broken_example=lambda: _UnshiftedSoftmax(Spec(), name="softmax without subtracting the maximum"),
    suspects=(
        "the softmax does not subtract its maximum",
        Diagnosis("precision", "logits are formed in too narrow a dtype"),
    ),
)
