"""Attention over stored keys and values is attention over the dequantized ones."""

from typing import Any

import numpy as np

from regard.conformance.kernel_cases import TokenSequence, compare_sequences, signs_of_attention
from regard.conformance.law import Comparison, Comparisons, Diagnoses, Law, LawTrial
from regard.conformance.laws._quantized import SIZE, draw_pair, restored
from regard.conformance.reference_kernels import attend_stored, quantized_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """One query and several, over keys and values of different size."""
    pair = draw_pair(trial, "attend")
    k, v = restored(trial, *pair)
    for num_queries in (1, 3):
        shape = (trial.size.batch, trial.spec.num_heads, num_queries, trial.spec.head_width)
        q = trial.rng(f"queries {num_queries}").standard_normal(shape).astype(trial.dtype)
        out = trial.subject.run_kernel("attend", q, *pair)[0]
        found = [np.moveaxis(each, 0, 1) for each in out] if out.shape == q.shape else [out] * len(q)
        every = np.ones((num_queries, k.shape[2]), dtype=bool)
        tokens = ([np.moveaxis(each, 0, 1) for each in x] for x in (q, k, v))
        sequences = [TokenSequence(q=a, k=b, v=c, seen=every) for a, b, c in zip(*tokens, strict=True)]
        what = "attention over stored keys and values differs from attention over the dequantized ones"
        yield compare_sequences(trial, what, found, sequences, place={"queries": num_queries})


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    yield from signs_of_attention(trial, broken)


def _steps_of_values_for_keys(q: np.ndarray, stored: Any) -> np.ndarray:
    (keys, _), (values, step) = stored
    return attend_stored(q, [(keys, step), (values, step)])


LAW = Law(
    id="QUANTATTEND",
    statement="attention over stored keys and values equals attention over the dequantized ones",
    family="quantised",
    rank=550,
    needs=("quantized", "stored"),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: quantized_kernel(attend=_steps_of_values_for_keys),
    suspects=(
        "steps of keys and values are exchanged",
        "steps of another group are used",
        "the zero point is left out",
    ),
    size=SIZE,
    grade="spec",
)
