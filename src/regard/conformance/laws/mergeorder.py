"""The order of merging does not matter."""

import numpy as np

from regard.conformance.law import Comparisons, Law, LawTrial, distance
from regard.conformance.laws._merge import SIZE, Part, compare_parts, draw_part, merged
from regard.conformance.reference_kernels import merge, merge_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """Two parts exchanged, and three merged from either end; another part is the positive control."""
    a, b, c = (draw_part(trial, name) for name in "abc")
    both = merged(trial, a, b)
    live = {"control": distance(merged(trial, a, c)[0], both[0])}
    yield from compare_parts(trial, "changes when the two parts are exchanged", merged(trial, b, a), both, **live)
    left, right = merged(trial, both, c), merged(trial, a, merged(trial, b, c))
    yield from compare_parts(trial, "of three parts depends on which two are merged first", left, right, **live)


def _prefers_first(out_a: np.ndarray, lse_a: np.ndarray, out_b: np.ndarray, lse_b: np.ndarray) -> Part:
    return merge(out_a, lse_a, out_b, np.minimum(lse_a, lse_b))


LAW = Law(
    id="MERGEORDER",
    statement="merging partial results is commutative and associative",
    family="merge",
    rank=640,
    needs=("merge",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: merge_kernel(_prefers_first),
    suspects=("the two parts are treated differently", "the merged log-sum-exp is not that of both parts"),
    size=SIZE,
)
