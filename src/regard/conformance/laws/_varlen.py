"""Sequences packed one after the other, for the laws of varlen kernels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.kernel_cases import TokenSequence, draw_sequence
from regard.conformance.law import InputSize, LawTrial

SIZE = InputSize(batch=4, length=70)


def packed(
    trial: LawTrial, sequences: Sequence[TokenSequence], *, slack: int = 0, fill: float = 0.0
) -> tuple[Any, ...]:
    """The arguments of a varlen kernel; so many rows of the same number follow the last sequence."""
    spec = trial.spec
    heads = {"q": spec.num_heads, "k": spec.num_kv_heads or 1, "v": spec.num_kv_heads or 1}
    rows = [
        np.concatenate(
            [
                *(getattr(each, part) for each in sequences),
                np.full((slack, count, spec.head_width), fill, dtype=trial.dtype),
            ]
        )
        for part, count in heads.items()
    ]
    lengths = [[each.num_queries for each in sequences], [each.num_keys for each in sequences]]
    starts = [np.concatenate([[0], np.cumsum(each)]).astype(np.int32) for each in lengths]
    return (*rows, *starts, *(max(each, default=0) for each in lengths))


def run_packed(trial: LawTrial, sequences: Sequence[TokenSequence], **slack: Any) -> list[np.ndarray]:
    """The outputs [query, head, width] of each sequence."""
    arguments = packed(trial, sequences, **slack)
    out = trial.subject.run_kernel("attend", *arguments)[0]
    if out.shape != arguments[0].shape:
        return [out] * len(sequences)
    return np.split(out[: arguments[3][-1]], arguments[3][1:-1])


def draw_documents(trial: LawTrial, name: str, lengths: Sequence[int], factor: float = 1.0) -> list[TokenSequence]:
    """A random sequence per length, with as many queries as keys."""
    return [draw_sequence(trial, f"{name} {row}", length, length, factor) for row, length in enumerate(lengths)]


def aligned(trial: LawTrial, sequence: TokenSequence) -> TokenSequence:
    """The sequence with the places of its queries among its keys, as the spec declares them."""
    first = 0 if trial.spec.align == "top-left" else sequence.num_keys - sequence.num_queries
    return replace(sequence, places=first + np.arange(sequence.num_queries))


def mixed_lengths(trial: LawTrial) -> list[int]:
    """Short and long sequences, one per row of the batch; all that fits into the trial's length."""
    longest = trial.size.length
    wanted = [max(longest // 3, 1), longest, 1, max(longest // 2, 1), 2]
    return [min(wanted[row % len(wanted)], longest) for row in range(trial.size.batch)]
