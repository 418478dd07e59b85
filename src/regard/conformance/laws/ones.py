"""A mask that hides nothing has no effect."""

from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, Spec
from regard.conformance.probing import mask_hiding, token_gaps, worst_token
from regard.conformance.reference_layer import ReferenceLayer

_REPLACED = Diagnosis("mask", "a given mask replaces the causal one")
_OTHER_CONVENTION = Diagnosis("padding", "one form of the mask is read in another convention")


def _compare(trial: LawTrial) -> Comparisons:
    """A mask of ones in every form the layer takes, against no mask; then a mask that hides, form against form."""
    x = trial.inputs()
    batch, length, _ = x.shape
    if length < 3:
        return
    ones, hiding = np.ones((batch, length), dtype=bool), mask_hiding(batch, length, "left")
    bare, hidden = trial.call(x), trial.call(x, mask=hiding)
    control = float(token_gaps(hidden, bare, hiding).max())
    compared = [("usual", ones, trial.call(x, mask=ones))]
    for form in getattr(trial.subject, "mask_forms", tuple)():
        compared += [(form, mask, trial.call(x, mask=mask, form=form)) for mask in (ones, hiding)]
    for form, mask, found in compared:
        wanted = bare if mask is ones else hidden
        gaps = token_gaps(found, wanted, mask)
        yield Comparison(
            what=f"a mask of ones ({form} form) and no mask give different outputs"
            if mask is ones
            else f"a mask in {form} form and in its usual form gives different outputs",
            error=float(gaps.max()),
            tolerance=trial.tolerance(wanted[mask]),
            control=control,
            place={"form": form, **worst_token(gaps)},
            signature={"form": form},
        )


def _signs(trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    if {each.signature["form"] for each in broken}.isdisjoint({"usual"}):
        return [_OTHER_CONVENTION]
    x = trial.inputs(length=8 if trial.spec.window is None else trial.spec.window + 4)
    mask = np.ones(x.shape[:2], dtype=bool)
    y = trial.call(x, mask=mask)
    later, early = (trial.call(trial.bumped(x, place), mask=mask) for place in (-1, 0))
    if trial.spec.causal and token_gaps(later, y)[:, 0].max() > 0:
        return [_REPLACED]
    if trial.spec.window is not None and token_gaps(early, y)[:, -1].max() > 0:
        return [Diagnosis("window", "it is forgotten if there is a mask")]
    return [Diagnosis("padding", "the branch with a mask differs")]


class _MaskReplacesCausal(ReferenceLayer):
    def call_with_weights(self, x: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        if "mask" not in options:
            return super().call_with_weights(x, **options)
        return ReferenceLayer(replace(self.spec, causal=False), seed=self.seed).call_with_weights(x, **options)


LAW = Law(
    id="ONES",
    statement="no mask, a mask of ones and its other forms give the same outputs",
    family="mask",
    rank=130,
    needs=("mask",),
    compare=_compare,
    grows_in=("length",),
    signs=_signs,
    diagnosed_by="signs",
    broken_example=lambda: _MaskReplacesCausal(
        Spec(causal=True, positions="none"), name="causal unless a mask is given"
    ),
    suspects=(_REPLACED, "the branch without a mask differs", _OTHER_CONVENTION),
)
