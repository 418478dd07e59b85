"""The content of masked tokens does not matter."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec
from regard.conformance.probing import SIDES, mask_hiding, token_gaps, worst_token
from regard.conformance.reference_layer import ReferenceLayer

# Large compared with standard normal embeddings; in float16, products of two such numbers must stay below 65504.
_JUNK = 1e3
_JUNK_FLOAT16 = 30.0


def hidden_content(trial: LawTrial, *, factor: float = 1.0) -> Comparisons:
    """Masked tokens are overwritten with large values: no visible output may change.

    The same values in a visible token must move the outputs of the others. `factor` amplifies the real tokens.
    """
    x = trial.inputs() * trial.inputs().dtype.type(factor)
    batch, length, _ = x.shape
    if length < 3:
        return
    size = _JUNK_FLOAT16 if trial.spec.dtype == "float16" else _JUNK
    junk = (size * trial.rng("junk").standard_normal(x.shape)).astype(x.dtype)
    is_usual = factor == 1 or trial.subject.is_routed
    for side in SIDES:
        mask = mask_hiding(batch, length, side)
        y = trial.call(x, mask=mask)
        gaps = token_gaps(trial.call(np.where(mask[..., None], x, junk), mask=mask), y, mask)
        yield Comparison(
            what=f"the content of masked tokens ({side}) changes this output",
            error=float(gaps.max()),
            # Both calls form the same sums, in which hidden numbers weigh zero. If amplified tokens bypass attention in
            # a residual, what attention adds is small, and so must the tolerance be.
            tolerance=trial.tolerance(y[mask]) if is_usual else trial.tolerance(y[mask], ulps=1),
            control=_control(trial, y, mask, x, junk),
            place={"masked": side, **worst_token(gaps)},
        )


def _control(trial: LawTrial, y: np.ndarray, mask: np.ndarray, x: np.ndarray, junk: np.ndarray) -> float:
    """How far the other visible outputs move if one visible token of each row holds junk.

    It is the first one with a visible neighbour on its right, which sees it even through the narrowest window.
    """
    paired = mask.copy()
    paired[:, :-1] &= mask[:, 1:]
    paired[:, -1] = False
    first = np.zeros_like(mask)
    first[np.arange(len(mask)), np.where(paired.any(axis=1), paired.argmax(axis=1), mask.argmax(axis=1))] = True
    moved = trial.call(np.where(first[..., None], junk, x), mask=mask)
    return float(token_gaps(moved, y, mask & ~first).max())


class _MultipliedMask(ReferenceLayer):
    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        return super().softmax(z * visible, np.ones_like(visible))


LAW = Law(
    id="JUNK",
    statement="the content of masked tokens leaves the outputs of visible tokens unchanged",
    family="padding",
    rank=120,
    needs=("mask",),
    compare=hidden_content,
    grows_in=("length", "batch"),
    broken_example=lambda: _MultipliedMask(Spec(causal=False, positions="none"), name="multiplicative mask"),
    suspects=(
        "the logits are multiplied by the mask",
        Diagnosis("softmax", "the mask is applied after the softmax"),
        "the mask is ignored or inverted",
        "the mask constant is finite and too small",
    ),
)
