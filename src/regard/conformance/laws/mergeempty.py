"""An empty part changes nothing."""

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.laws._merge import SIZE, Part, compare_parts, draw_part, empty_part, merged
from regard.conformance.reference_kernels import merge_kernel

_UNDEFINED = Diagnosis("merge", "−∞ minus −∞ is NaN: the largest log-sum-exp has to be made finite first")


def _compare(trial: LawTrial) -> Comparisons:
    """An empty part second, first, in some tokens only, and two of them."""
    part, empty = draw_part(trial, "whole"), empty_part(trial)
    live = distance(merged(trial, part, draw_part(trial, "other"))[0], part[0])
    some = np.arange(trial.size.length) % 2 == 0
    mixed = np.where(some[:, None, None], empty[0], part[0]), np.where(some[:, None], empty[1], part[1])
    cases: dict[str, tuple[Part, Part, Part]] = {
        "changes when an empty part is merged into it": (part, empty, part),
        "changes when it is merged into an empty part": (empty, part, part),
        "changes when a part that is empty in some tokens meets an empty one": (mixed, empty, mixed),
        "of two empty parts is not that of an empty part": (empty, empty, empty),
    }
    for what, (one, other, wanted) in cases.items():
        found = merged(trial, one, other)
        suggests = (_UNDEFINED,) if any(np.isnan(each).any() for each in found) else ()
        yield from compare_parts(trial, what, found, wanted, control=live, suggests=suggests)


def _not_guarded(out_a: np.ndarray, lse_a: np.ndarray, out_b: np.ndarray, lse_b: np.ndarray) -> Part:
    top = np.maximum(lse_a, lse_b)
    a, b = np.exp(lse_a - top)[..., None], np.exp(lse_b - top)[..., None]
    return (a * out_a + b * out_b) / (a + b), top + np.log(a + b)[..., 0]


LAW = Law(
    id="MERGEEMPTY",
    statement="merging an empty part changes nothing, and two empty parts give an empty part",
    family="merge",
    rank=620,
    needs=("merge",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: merge_kernel(_not_guarded),
    suspects=("a log-sum-exp of −∞ is not handled", "an empty part gets a weight"),
    size=SIZE,
)
