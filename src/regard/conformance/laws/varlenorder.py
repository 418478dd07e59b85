"""The order in which sequences are packed does not matter."""

import numpy as np

from regard.conformance.law import Comparisons, Law, LawTrial, distance
from regard.conformance.laws._varlen import SIZE, draw_documents, mixed_lengths, run_packed
from regard.conformance.reference_kernels import attend_tokens, varlen, varlen_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """The sequences in reversed and in rotated order."""
    sequences = draw_documents(trial, "order", mixed_lengths(trial))
    rows = len(sequences)
    if rows < 2:
        return
    before = run_packed(trial, sequences)
    other = run_packed(trial, draw_documents(trial, "other documents", mixed_lengths(trial)))
    for order in (np.arange(rows)[::-1], np.roll(np.arange(rows), 1)):
        after = run_packed(trial, [sequences[row] for row in order])
        wanted = [before[row] for row in order]
        gaps = [distance(ours, theirs) for ours, theirs in zip(after, wanted, strict=True)]
        yield trial.compared(
            "the output of a sequence changes with the order of packing",
            np.concatenate(after),
            np.concatenate(wanted),
            control=distance(np.concatenate(other), np.concatenate(before)),
            place={"lengths": [sequences[row].num_keys for row in order], "sequence": int(np.argmax(gaps))},
        )


def _sees_first(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, starts_q: np.ndarray, starts_k: np.ndarray, *_: int
) -> np.ndarray:
    out = varlen(q, k, v, starts_q, starts_k)
    second = slice(starts_q[1], starts_q[2] if len(starts_q) > 2 else None)
    out[second] = attend_tokens(
        q[second], k[: starts_k[2 if len(starts_k) > 2 else 1]], v[: starts_k[2 if len(starts_k) > 2 else 1]]
    )
    return out


LAW = Law(
    id="VARLENORDER",
    statement="packing the sequences in another order gives the same outputs in that order",
    family="varlen",
    rank=460,
    needs=("varlen",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: varlen_kernel(_sees_first),
    suspects=(
        "a sequence sees tokens of the one before it",
        "the lengths of the first sequence are used for others",
        "something is carried from one sequence to the next",
    ),
    size=SIZE,
)
