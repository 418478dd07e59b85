"""Rows after the last offset do not matter."""

import numpy as np

from regard.conformance.kernel_cases import junk_values, unless_it_raises
from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.laws._varlen import SIZE, draw_documents, mixed_lengths, run_packed
from regard.conformance.reference_kernels import attend_tokens, varlen, varlen_kernel

_SLACK = 3
_NAN = Diagnosis("varlen", "rows after the last offset get the weight zero, and zero times NaN is NaN")


def _compare(trial: LawTrial) -> Comparisons:
    """Large numbers, then NaN, in rows after the last offset."""
    sequences = draw_documents(trial, "slack", mixed_lengths(trial))
    before = np.concatenate(run_packed(trial, sequences))
    other = np.concatenate(run_packed(trial, draw_documents(trial, "other documents", mixed_lengths(trial))))
    for kind, value in junk_values(trial):
        rows = unless_it_raises(
            lambda value=value: run_packed(trial, sequences, slack=_SLACK, fill=value), "rows after the last offset"
        )
        found = np.concatenate(rows)
        yield trial.compared(
            f"{kind} in rows after the last offset change outputs",
            found,
            before,
            control=distance(other, before),
            place={"lengths": [each.num_keys for each in sequences]},
            suggests=(_NAN,) if np.isnan(value) and np.isnan(found).any() else (),
        )


def _last_to_the_end(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, starts_q: np.ndarray, starts_k: np.ndarray, *_: int
) -> np.ndarray:
    out, (first_q, first_k) = varlen(q, k, v, starts_q, starts_k), (starts_q[-2], starts_k[-2])
    own = slice(first_q, starts_q[-1])
    out[own] = attend_tokens(
        q[first_q:], k[first_k:], v[first_k:], np.ones((len(q) - first_q, len(k) - first_k), bool)
    )[: starts_q[-1] - first_q]
    return out


LAW = Law(
    id="VARLENSLACK",
    statement="rows after the last offset do not matter",
    family="varlen",
    rank=450,
    needs=("varlen",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: varlen_kernel(_last_to_the_end),
    suspects=("the last sequence runs to the end of the array", "rows after the last offset are read"),
    size=SIZE,
)
