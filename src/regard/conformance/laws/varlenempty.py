"""Sequences of length zero disturb no other."""

import numpy as np

from regard.conformance.kernel_cases import unless_it_raises
from regard.conformance.law import Comparisons, Law, LawTrial, distance
from regard.conformance.laws._varlen import SIZE, draw_documents, mixed_lengths, run_packed
from regard.conformance.reference_kernels import varlen, varlen_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """A sequence of length zero first, in the middle and last, and two in a row; others are mixed or have one token."""
    for lengths in (mixed_lengths(trial), [1] * trial.size.batch):
        yield from _beside_empty(trial, lengths)


def _beside_empty(trial: LawTrial, lengths: list[int]) -> Comparisons:
    sequences = draw_documents(trial, f"beside empty {lengths}", lengths)
    [empty] = draw_documents(trial, "empty", [0])
    alone = np.concatenate(run_packed(trial, sequences))
    other = np.concatenate(run_packed(trial, draw_documents(trial, "other documents", lengths)))
    middle = len(sequences) // 2
    for row, count in ((0, 1), (middle, 1), (middle, 2), (len(sequences), 1)):
        padded = [*sequences[:row], *[empty] * count, *sequences[row:]]
        rows = unless_it_raises(
            lambda padded=padded: run_packed(trial, padded),
            "a sequence of length zero",
            is_declared=trial.spec.empty is not None,
        )
        yield trial.compared(
            "outputs change beside a sequence of length zero",
            np.concatenate(rows),
            alone,
            control=distance(other, alone),
            place={"lengths": [each.num_keys for each in padded]},
        )


def _drops_empty(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, starts_q: np.ndarray, starts_k: np.ndarray, *_: int
) -> np.ndarray:
    return varlen(
        q, k, v, starts_q, starts_k[np.concatenate([[True], np.diff(starts_k) > 0])].repeat(2)[: len(starts_q)]
    )


LAW = Law(
    id="VARLENEMPTY",
    statement="sequences of length zero change no other output",
    family="varlen",
    rank=480,
    needs=("varlen",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: varlen_kernel(_drops_empty),
    suspects=("a sequence of length zero shifts those after it", "a sequence of length zero gives NaN"),
    size=SIZE,
)
