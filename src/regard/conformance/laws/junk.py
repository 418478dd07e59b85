"""The content of masked tokens does not matter."""

from collections.abc import Callable

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, Spec, distance
from regard.conformance.probing import SIDES, mask_hiding, token_gaps, worst_token
from regard.conformance.reference_layer import ReferenceLayer

# Large compared with standard normal embeddings; in float16, products of two such numbers must stay below 65504.
_JUNK = 1e3
_JUNK_FLOAT16 = 30.0
_MULTIPLIED = Diagnosis("padding", "the logits are multiplied by the mask, so that hidden keys have logit zero")
_AFTER_SOFTMAX = Diagnosis("padding", "the mask is applied after the softmax, so that hidden keys take their share")
_IGNORED = Diagnosis("padding", "the mask is ignored")
_INVERTED = Diagnosis("padding", "the mask is inverted")
_TOO_WEAK = Diagnosis("padding", "hidden keys keep some weight: the mask constant is finite and too small")
_IN_MAXIMUM = Diagnosis(
    "padding", "hidden keys count for the maximum that the softmax subtracts, so that others underflow"
)


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


def _signs(trial: LawTrial, _broken: list[Comparison]) -> Diagnoses:
    """How the outputs change as the hidden tokens grow shows how they get in.

    A key whose logit is set to zero adds to the output in proportion to its value. One that counts only in the
    softmax's sum adds nothing, and takes its share; one that counts only in the maximum does so at large logits alone.
    """
    x = trial.inputs(length=max(trial.size.length, 6))
    mask = mask_hiding(x.shape[0], x.shape[1], "middle")
    junk = trial.rng("junk").standard_normal(x.shape).astype(x.dtype)

    def seen(content: float, shown: np.ndarray = mask) -> np.ndarray:
        return trial.call(np.where(mask[..., None], x, (content * junk).astype(x.dtype)), mask=shown)[mask]

    none, small, twice, huge = (seen(size) for size in (0.0, 1e-2, 2e-2, 1e3))
    near = trial.tolerance(none)
    if distance(small, none) <= near:
        yield _IN_MAXIMUM
    elif distance(seen(1.0), seen(1.0, np.ones_like(mask))) <= near:
        yield _IGNORED
    elif distance(trial.call(trial.bumped(x, 0), mask=mask)[:, -1], trial.call(x, mask=mask)[:, -1]) == 0:
        yield _INVERTED
    elif distance(twice - none, 2 * (small - none)) <= 0.05 * distance(twice, none) and _is_linear(seen, none, near):
        yield _MULTIPLIED
    elif float(np.abs(huge).max()) <= 10 * float(np.abs(none).max()):
        yield _AFTER_SOFTMAX
    else:
        yield _TOO_WEAK


def _is_linear(seen: Callable[[float], np.ndarray], none: np.ndarray, near: float) -> bool:
    """True if outputs grow in proportion to what is hidden, however large."""
    large, larger = seen(10.0) - none, seen(20.0) - none
    return distance(larger, 2 * large) <= 1e-3 * float(np.abs(larger).max()) + near


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
    signs=_signs,
    grows_in=("length", "batch"),
    broken_example=lambda: _MultipliedMask(Spec(causal=False, positions="none"), name="multiplicative mask"),
    suspects=(_MULTIPLIED, _AFTER_SOFTMAX, _IGNORED, _INVERTED, _TOO_WEAK, _IN_MAXIMUM),
)
