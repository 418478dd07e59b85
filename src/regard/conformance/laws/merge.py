"""Merged parts are one pass."""

from functools import reduce
from itertools import pairwise

import numpy as np

from regard.conformance.kernel_cases import TokenSequence, draw_sequence, oracle_of
from regard.conformance.law import BlindSpot, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.laws._merge import SIZE, Part, base_of, compare_parts, draw_part, exact_merge, merged
from regard.conformance.reference_kernels import merge, merge_kernel

_OTHER_BASE = Diagnosis("merge", "log-sum-exps are taken to have another base, e or 2")
_OVERFLOW = Diagnosis("merge", "exponentials overflow or vanish: the largest log-sum-exp is not subtracted")
_NEAR = 2e-3


def _compare(trial: LawTrial) -> Comparisons:
    """Keys cut in two at several places and in four, each part attended in float64; then extreme log-sum-exps."""
    num_keys = 12
    sequence = draw_sequence(trial, "merge", trial.size.length, num_keys, factor=2.0)
    whole = _part(trial, sequence, slice(None))
    for cuts in ((1,), (6,), (11,), (2, 5, 9)):
        pieces = [_part(trial, sequence, slice(*edge)) for edge in pairwise([0, *cuts, num_keys])]
        rounded = [(out.astype(trial.dtype), lse.astype(trial.dtype)) for out, lse in pieces]
        found = reduce(lambda one, other: merged(trial, one, other), rounded)
        what, place = "of merged parts differs from that of one pass", {"keys": num_keys, "cut at": list(cuts)}
        is_other = distance(found[0], exact_merge(rounded, 2.0 + np.e - base_of(trial))[0]) < _NEAR
        suggests = (_OTHER_BASE,) if is_other else ()
        yield from compare_parts(trial, what, found, whole, place=place, suggests=suggests)
    yield from _extreme(trial)
    yield from _apart(trial)


def _extreme(trial: LawTrial) -> Comparisons:
    """Two parts with huge, tiny and very different log-sum-exps."""
    huge = 200.0 if trial.is_half_precision else 1000.0
    for first, second in ((huge, huge), (-huge, -huge), (huge, -huge), (-huge, huge), (huge, 0.0), (100.0, 100.0)):
        parts = [draw_part(trial, f"{name} {first} {second}", lse=lse) for name, lse in (("a", first), ("b", second))]
        found = merged(trial, parts[0], parts[1])
        suggests = () if all(np.isfinite(each).all() for each in found) else (_OVERFLOW,)
        what, wanted = f"is wrong for log-sum-exps of {first:g} and {second:g}", exact_merge(parts, base_of(trial))
        yield from compare_parts(trial, what, found, wanted, suggests=suggests)


def _apart(trial: LawTrial) -> Comparisons:
    """Log-sum-exps that differ much between tokens and heads, and two parts with the same ones."""
    one, other = (draw_part(trial, name, spread=300.0) for name in ("wide a", "wide b"))
    what = "is wrong for log-sum-exps that differ between tokens and heads"
    yield from compare_parts(trial, what, merged(trial, one, other), exact_merge((one, other), base_of(trial)))
    same = other[0], one[1]
    what = "is wrong for parts with the same log-sum-exps"
    yield from compare_parts(trial, what, merged(trial, one, same), exact_merge((one, same), base_of(trial)))


def _part(trial: LawTrial, sequence: TokenSequence, keys: slice) -> Part:
    """Output and log-sum-exp of all queries over some of the keys, in float64."""
    oracle = oracle_of(trial)
    q, k, v = (np.moveaxis(x, 0, 1)[None].astype(np.float64) for x in (sequence.q, sequence.k[keys], sequence.v[keys]))
    logits = oracle.score(oracle, q, oracle.repeat(oracle, k, "key"), None)[0]
    out = oracle.core(q, k, v, np.ones((1, *logits.shape[1:]), dtype=bool))[0]
    lse = np.logaddexp.reduce(logits, axis=-1) / np.log(base_of(trial))
    return np.moveaxis(out, 0, 1), lse.T


def _mean(out_a: np.ndarray, lse_a: np.ndarray, out_b: np.ndarray, lse_b: np.ndarray) -> Part:
    return (out_a + out_b) / 2, merge(out_a, lse_a, out_b, lse_b)[1]


LAW = Law(
    id="MERGE",
    statement="merging the parts of any split equals one pass, also if log-sum-exps are huge, tiny or far apart",
    family="merge",
    rank=650,
    needs=("merge",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: merge_kernel(_mean),
    suspects=(
        "parts are weighted by something else than their exponentials",
        "the logarithm has another base",
        "the merged log-sum-exp is wrong",
    ),
    size=SIZE,
    grade="spec",
    reveals=(*BlindSpot,),
)
