"""Extreme log-sum-exps are merged exactly."""

import numpy as np

from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial
from regard.conformance.laws._merge import SIZE, Part, base_of, compare_parts, draw_part, exact_merge, merged
from regard.conformance.reference_kernels import merge_kernel

_OVERFLOW = Diagnosis("merge", "exponentials overflow or vanish: the largest log-sum-exp is not subtracted")


def _compare(trial: LawTrial) -> Comparisons:
    """Two parts with huge, tiny and very different log-sum-exps, against float64."""
    huge = 200.0 if trial.is_half_precision else 1000.0
    for first, second in ((huge, huge), (-huge, -huge), (huge, -huge), (-huge, huge), (huge, 0.0), (100.0, 100.0)):
        parts = [draw_part(trial, f"{name} {first} {second}", lse=lse) for name, lse in (("a", first), ("b", second))]
        found = merged(trial, parts[0], parts[1])
        suggests = () if all(np.isfinite(each).all() for each in found) else (_OVERFLOW,)
        what = f"is wrong for log-sum-exps of {first:g} and {second:g}"
        yield from compare_parts(trial, what, found, exact_merge(parts, base_of(trial)), suggests=suggests)


def _not_shifted(out_a: np.ndarray, lse_a: np.ndarray, out_b: np.ndarray, lse_b: np.ndarray) -> Part:
    a, b = np.exp(lse_a)[..., None], np.exp(lse_b)[..., None]
    return (a * out_a + b * out_b) / (a + b), np.log(a + b)[..., 0]


LAW = Law(
    id="MERGEEXTREME",
    statement="log-sum-exps that are huge, tiny or far apart give finite and correct results",
    family="merge",
    rank=630,
    needs=("merge",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: merge_kernel(_not_shifted),
    suspects=("exponentials overflow or vanish", "a part that is much larger does not win"),
    size=SIZE,
    grade="spec",
)
