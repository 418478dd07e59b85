"""Packed sequences get what each gets alone."""

import numpy as np

from regard.conformance.kernel_cases import LARGE, compare_sequences, draw_sequence, signs_of_attention
from regard.conformance.law import BlindSpot, Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial
from regard.conformance.laws._varlen import SIZE, aligned, draw_documents, mixed_lengths, run_packed
from regard.conformance.reference_kernels import attend_tokens, varlen_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """One sequence, equal and different lengths in two orders, large logits; fewer queries than keys if declared."""
    lengths, batch = mixed_lengths(trial), trial.size.batch
    cases = {"one sequence": [trial.size.length]}
    if batch > 1:
        cases |= {"equal lengths": [min(trial.size.length, 5)] * batch, "one token each": [1] * batch}
        cases |= {"different lengths": lengths, "another order": lengths[::-1]}
    for case, chosen in cases.items():
        yield _compared(trial, case, draw_documents(trial, case, chosen))
    yield _compared(trial, "large logits", draw_documents(trial, "large", lengths, LARGE))
    for part in (2, max(lengths)) if trial.spec.align is not None else ():
        shorter = [
            aligned(trial, draw_sequence(trial, f"fewer {part} {row}", max(length // part, 1), length))
            for row, length in enumerate(lengths)
        ]
        yield _compared(trial, "fewer queries than keys", shorter)


def _compared(trial: LawTrial, case: str, sequences: list) -> Comparison:
    found = run_packed(trial, sequences)
    what = f"packed attention differs from attention over each sequence ({case})"
    return compare_sequences(
        trial, what, found, sequences, signature={"case": case, "is_large": case == "large logits"}
    )


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    cases = {each.signature["case"] for each in broken}
    if "one sequence" in cases or cases == {"large logits"}:
        yield from signs_of_attention(trial, broken)
    if cases == {"fewer queries than keys"}:
        yield Diagnosis("varlen", f"queries are not aligned {trial.spec.align} to the keys of their sequence")
    elif "one sequence" not in cases and "equal lengths" not in cases:
        yield Diagnosis("varlen", "sequences of different lengths are wrong: offsets or lengths are mixed up")
    elif "one sequence" not in cases:
        yield Diagnosis("varlen", "sequences see each other: the borders between them are lost")


def _one_document(q: np.ndarray, k: np.ndarray, v: np.ndarray, *_: object) -> np.ndarray:
    return attend_tokens(q, k, v)


LAW = Law(
    id="VARLEN",
    statement="packed sequences get what float64 attention gives each alone",
    family="varlen",
    rank=470,
    needs=("varlen",),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: varlen_kernel(_one_document),
    suspects=(
        "sequences see each other",
        "offsets of queries and keys are mixed up",
        "causality goes by places in the packed array",
    ),
    size=SIZE,
    grade="spec",
    reveals=(*BlindSpot,),
)
