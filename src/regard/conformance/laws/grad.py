"""The layer's gradient is correct."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, InputSize, Law, LawTrial, Spec
from regard.conformance.reference_layer import ReferenceLayer

# A step that suits one layer is too long for one with kinks and too short for one that rounds to float32:
# a correct gradient agrees at one of them, a wrong one at none.
_STEPS = {"float64": (2e-2, 2e-3, 2e-4, 2e-6), "float32": (3e-2, 3e-3, 3e-4)}
_AGREEMENT = 5e-4
_DIRECTIONS = 2
_ROUNDING = 1e-13


def _compare(trial: LawTrial) -> Comparisons:
    """⟨∇, e⟩ against central differences token by token; then the gradients that must be exactly zero."""
    trial = trial.in_float64()
    x = trial.inputs()
    direction = trial.rng("direction").standard_normal(trial.call(x).shape).astype(x.dtype)
    yield from _slopes(trial, x, direction)
    for options, chosen, tokens, what in _hidden(trial, x, direction):
        found = trial.subject.gradient(x, chosen, **options).astype(np.float64)
        yield Comparison(
            what=what,
            error=float(np.abs(found[tokens]).max()),
            # A largest logit that is subtracted before the mask gives rounding, and nothing more.
            tolerance=max(trial.exact_tolerance(found), _ROUNDING * float(np.abs(found).max())),
            control=float(np.abs(found).max()),
            place={"token": int(np.flatnonzero(tokens.any(axis=0))[0])},
        )


def _slopes(trial: LawTrial, x: np.ndarray, direction: np.ndarray) -> Comparisons:
    """Each token in two directions; steps of several sizes disagree where there is a kink, which is allowed for."""
    gradient = trial.subject.gradient(x, direction).astype(np.float64)
    rows = []
    for token in range(x.shape[1]):
        for number in range(_DIRECTIONS):
            along = np.zeros_like(x)
            along[:, token] = trial.rng(f"along {token} {number}").standard_normal(along[:, token].shape)
            slopes = [_slope(trial, x, along, direction, step) for step in _STEPS[trial.spec.dtype]]
            rows.append((token, float(np.sum(gradient * along)), slopes))
    largest = max(abs(slope) for _, _, slopes in rows for slope in slopes)
    for token, claimed, slopes in rows:
        nearest = min(abs(slope - claimed) for slope in slopes)
        yield Comparison(
            what="the gradient differs from finite differences",
            error=nearest if np.isnan(nearest) else max(nearest - (max(slopes) - min(slopes)), 0.0),
            tolerance=_AGREEMENT * max(largest, 1e-3),
            control=largest,
            place={"token": token},
        )


def _slope(trial: LawTrial, x: np.ndarray, along: np.ndarray, direction: np.ndarray, step: float) -> float:
    """The derivative along a direction: central differences at two steps, extrapolated."""

    def central(size: float) -> float:
        ends = ((x + sign * size * along).astype(x.dtype) for sign in (1, -1))
        up, down = (trial.call(end).astype(np.float64) for end in ends)
        return float(np.sum(direction * (up - down)) / (2 * size))

    return (4 * central(step / 2) - central(step)) / 3


def _hidden(
    trial: LawTrial, x: np.ndarray, direction: np.ndarray
) -> Iterator[tuple[dict[str, Any], np.ndarray, np.ndarray, str]]:
    """Options, directions, the tokens whose gradient must be zero, and what is wrong if it is not."""
    length = x.shape[1]
    if trial.spec.causal and length > 1:
        first = np.where(np.arange(length)[None, :, None] < length // 2, direction, 0).astype(x.dtype)
        later = np.broadcast_to(np.arange(length) >= length // 2, x.shape[:2])
        yield {}, first, later, "an output has a gradient with respect to a later input"
    if trial.subject.has("mask") and length > 2:
        mask = np.broadcast_to(np.arange(length) < length - 1, x.shape[:2])
        real = np.where(mask[..., None], direction, 0).astype(x.dtype)
        yield {"mask": mask}, real, ~mask, "an output has a gradient with respect to a masked input"


class _Detached(ReferenceLayer):
    capabilities = ReferenceLayer.capabilities | {"gradient"}

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        spec, (batch, length, _) = self.spec, x.shape
        weights = self.call_with_weights(x, **options)[1]
        back = (direction @ self.matrices["output"].T).reshape(batch, length, spec.num_heads, -1).transpose(0, 2, 1, 3)
        values = weights.swapaxes(-1, -2) @ back
        return values.transpose(0, 2, 1, 3).reshape(batch, length, -1) @ self.matrices["value"].T


LAW = Law(
    id="GRAD",
    statement="the gradient equals finite differences, and is exactly zero for hidden inputs",
    family="gradient",
    rank=340,
    follows=("CAUSAL", "JUNK"),
    needs=("gradient",),
    compare=_compare,
    broken_example=lambda: _Detached(Spec(causal=True, positions="none", dtype="float64"), name="detached weights"),
    suspects=(
        "part of the layer is detached",
        "the backward pass is wrong",
        Diagnosis("mask", "the backward pass lacks the mask"),
    ),
    size=InputSize(batch=2, length=4),
)
