"""What a mask hides is of no matter."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial
from regard.conformance.masking import SIDES, gaps_by_place, mask_hiding, place_of_worst
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

# Large against standard normal embeddings; in float16 products of two such numbers must stay below 65504.
_JUNK = 1e3
_JUNK_FLOAT16 = 30.0


def hidden_content(trial: LawTrial, *, factor: float = 1.0) -> Iterator[Comparison]:
    """The tokens under a mask are overwritten with large values: no visible output may move.

    The same values in a visible token must move the outputs of the others. `factor` amplifies the real tokens.
    """
    x = trial.inputs() * trial.inputs().dtype.type(factor)
    batch, length, _ = x.shape
    if length < 3:
        return
    size = _JUNK_FLOAT16 if trial.spec.dtype == "float16" else _JUNK
    junk = (size * trial.rng("junk").standard_normal(x.shape)).astype(x.dtype)
    for side in SIDES:
        mask = mask_hiding(batch, length, side)
        y = trial.subject.call(x, mask=mask)
        gaps = gaps_by_place(trial.subject.call(np.where(mask[..., None], x, junk), mask=mask), y, mask)
        yield Comparison(
            what=f"outputs move with the content of masked tokens ({side})",
            error=float(gaps.max()),
            tolerance=_tolerance(trial, y[mask], factor),
            control=_liveness(trial, y, mask, x, junk),
            place={"masked": side, **place_of_worst(gaps)},
            signature={
                "side": side,
                "gaps": gaps.max(axis=0).tolist(),
                "rows": gaps.max(axis=1).tolist(),
                "is_finite": bool(np.isfinite(gaps).all()),
                "factor": factor,
            },
        )


def _tolerance(trial: LawTrial, y: np.ndarray, factor: float) -> float:
    """Rounding, of which there is hardly any: both calls do the same sums, but that other numbers are weighed by zero.

    Beside amplified tokens that pass a layer by, what attention adds is small, and so must be what is allowed.
    """
    return trial.tolerance(y) if factor == 1 or trial.subject.is_routed else trial.tolerance(y, ulps=1)


def _liveness(trial: LawTrial, y: np.ndarray, mask: np.ndarray, x: np.ndarray, junk: np.ndarray) -> float:
    """How far the other visible outputs move if one visible token of each row holds junk.

    It is the first one with a visible neighbour on its right, which sees it through the narrowest window.
    """
    paired = mask.copy()
    paired[:, :-1] &= mask[:, 1:]
    paired[:, -1] = False
    first = np.zeros_like(mask)
    first[np.arange(len(mask)), np.where(paired.any(axis=1), paired.argmax(axis=1), mask.argmax(axis=1))] = True
    moved = trial.subject.call(np.where(first[..., None], junk, x), mask=mask)
    return float(gaps_by_place(moved, y, mask & ~first).max())


class _Multiplied(ReferenceLayer):
    """Multiplies the logits by the mask, so that hidden keys have logit zero instead of none."""

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z * visible, np.ones_like(visible))


def _broken_example() -> Subject:
    return _Multiplied(Spec(causal=False, positions="none"), name="multiplicative mask")


LAW = Law(
    id="JUNK",
    statement="the content of masked tokens leaves the outputs of visible tokens unchanged",
    needs=("mask",),
    compare=hidden_content,
    broken_example=_broken_example,
    suspects=(
        "the mask is multiplied with the logits",
        "the mask comes after the softmax",
        "the mask is ignored or inverted",
        "the mask constant is finite and too small",
    ),
)
