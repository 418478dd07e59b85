"""A mask that hides nothing does nothing."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial
from regard.conformance.masking import gaps_by_place, mask_hiding, place_of_worst
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """No mask, against a mask of ones in every form the layer takes; then a mask that hides, form against form."""
    x = trial.inputs()
    batch, length, _ = x.shape
    if length < 3:
        return
    ones, hiding = np.ones((batch, length), dtype=bool), mask_hiding(batch, length, "left")
    bare, hidden = trial.subject.call(x), trial.subject.call(x, mask=hiding)
    control = float(gaps_by_place(hidden, bare, hiding).max())
    compared = [("usual", ones, trial.subject.call(x, mask=ones))]
    for form in getattr(trial.subject, "mask_forms", tuple)():
        compared += [(form, mask, trial.subject.call(x, mask=mask, form=form)) for mask in (ones, hiding)]
    for form, mask, ours in compared:
        theirs = bare if mask is ones else hidden
        gaps = gaps_by_place(ours, theirs, mask)
        yield Comparison(
            what=f"a mask of ones ({form} form) gives other outputs than no mask"
            if mask is ones
            else f"a mask in {form} form gives other outputs than in its usual form",
            error=float(gaps.max()),
            tolerance=trial.tolerance(theirs[mask]),
            control=control,
            place={"form": form, **place_of_worst(gaps)},
            signature={"form": form, "hides": mask is hiding, "gaps": gaps.max(axis=0).tolist()},
        )


class _Branched(ReferenceLayer):
    """Takes a mask that is given in place of the causal one."""

    def call_with_weights(
        self, x: np.ndarray, mask: np.ndarray | None = None, **options: object
    ) -> tuple[np.ndarray, np.ndarray]:
        if mask is None:
            return super().call_with_weights(x, **options)  # pyright: ignore[reportArgumentType]
        other = ReferenceLayer(replace(self.spec, causal=False), seed=self.seed)
        return other.call_with_weights(x, mask, **options)  # pyright: ignore[reportArgumentType]


def _broken_example() -> Subject:
    return _Branched(Spec(causal=True, positions="none"), name="causal unless a mask is given")


LAW = Law(
    id="ONES",
    statement="no mask, a mask of ones and its other forms give the same outputs",
    needs=("mask",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "a given mask replaces the causal one",
        "the branch without a mask differs",
        "one form of the mask is read in another convention",
    ),
)
