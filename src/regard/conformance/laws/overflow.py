"""Large logits give finite outputs."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

_LOGITS = 1e5
# float16 ends at 65504, and products before the scale must fit as well.
_LOGITS_OF_FLOAT16 = 3e4
# Logits of unit inputs through projections of unit gain reach about this much, in units of their spread.
_PEAK = 5.0
# Without the weights their gain is a guess, and float16 has no room for a wrong one; exp ends at 11 in any case.
_ROOM = 30.0


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """x is scaled until logits reach 1e5, or 3e4 in float16: outputs stay finite, and still move with the input."""
    x, others = trial.inputs(), trial.inputs("others")
    y = trial.subject.call(x)
    factor = _factor(trial, x)
    large, moved = (_called(trial, each, factor) for each in (x, others))
    infinite = np.argwhere(~np.isfinite(large))
    yield Comparison(
        what="an output is not finite at large logits" if len(infinite) else "outputs at large logits",
        error=np.inf if len(infinite) else 0.0,
        tolerance=0.0,
        control=distance(large, y),
        place={"factor": float(f"{factor:.3g}"), **({"output": int(infinite[0][1])} if len(infinite) else {})},
        signature={"factor": factor, "share": len(infinite) / large.size, "is_nan": bool(np.isnan(large).any())},
    )
    control = distance(trial.subject.call(others), y)
    still = np.argwhere((large == moved).all(axis=-1)) if control > 0 else np.zeros((0, 2), dtype=int)
    yield Comparison(
        what="an output no longer moves with the input at large logits" if len(still) else "movement at large logits",
        error=control if len(still) else 0.0,
        tolerance=0.0,
        control=control,
        place={"factor": float(f"{factor:.3g}"), **({"output": int(still[0][1])} if len(still) else {})},
        signature={"factor": factor, "share": len(still) / large[..., 0].size},
    )


def _called(trial: LawTrial, x: np.ndarray, factor: float) -> np.ndarray:
    return trial.subject.call((x.astype(np.float64) * factor).astype(x.dtype)).astype(np.float64)


def _factor(trial: LawTrial, x: np.ndarray) -> float:
    """What x is multiplied by; logits grow with its square."""
    spec, scale = trial.spec, trial.spec.scale or trial.spec.head_width**-0.5
    is_float16 = spec.dtype == "float16"
    peak = _largest_product(trial, x) if trial.subject.has("weights") else None
    room = _ROOM if peak is None and is_float16 else 1.0
    peak = peak or _PEAK * spec.head_width**0.5
    wanted = _LOGITS_OF_FLOAT16 / room if is_float16 else _LOGITS / scale
    return float(np.sqrt(wanted / peak))


def _largest_product(trial: LawTrial, x: np.ndarray) -> float:
    """max |q·k| of the heads before the scale; rotation keeps it near enough."""
    weights, spec = trial.subject.projections(), trial.spec
    q = _split(x, weights.query, spec.num_heads)
    k = np.repeat(_split(x, weights.key, spec.num_kv_heads or 1), spec.num_heads // (spec.num_kv_heads or 1), axis=1)
    return float(np.abs(q @ k.swapaxes(-1, -2)).max())


def _split(x: np.ndarray, matrix: np.ndarray, num_heads: int) -> np.ndarray:
    heads = x.astype(np.float64) @ np.asarray(matrix, dtype=np.float64)
    return heads.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)


class _Unshifted(ReferenceLayer):
    """Takes exponentials of the logits as they are."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        powers = np.where(visible, np.exp(z), z.dtype.type(0))
        return powers / powers.sum(axis=-1, keepdims=True)


def _broken_example() -> Subject:
    return _Unshifted(Spec(), name="softmax without its maximum")


LAW = Law(
    id="OVERFLOW",
    statement="outputs are finite at logits of 1e5 (3e4 in float16) and still depend on the input",
    compare=_compare,
    broken_example=_broken_example,
    suspects=("the softmax does not subtract its maximum", "logits are formed in too narrow a dtype"),
)
