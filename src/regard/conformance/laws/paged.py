"""Attention over pages is attention over each sequence."""

import numpy as np

from regard.conformance.kernel_cases import LARGE, compare_sequences, draw_sequences, signs_of_attention
from regard.conformance.law import BlindSpot, Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial
from regard.conformance.laws._paged import SIZE, border_lengths, in_pages, ragged_lengths
from regard.conformance.reference_kernels import paged, paged_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """One sequence at each border, sequences of different lengths, a full pool, several queries, and large logits."""
    for length in border_lengths(trial):
        yield _compared(trial, "one sequence", [length])
    ragged = ragged_lengths(trial)
    if len(ragged) > 1:
        yield _compared(trial, "sequences of different lengths", ragged)
        yield _compared(trial, "a full pool", ragged)
    yield _compared(trial, "large logits", ragged)
    size = trial.subject.traits.page_size
    for count in (2, size + 1) if trial.subject.traits.takes_chunks else ():
        lengths = [max(length, count) for length in ragged]
        if max(lengths) <= max(trial.size.length, 3 * size + 2):
            yield _compared(trial, "several queries", lengths, count)


def _compared(trial: LawTrial, case: str, lengths: list[int], num_queries: int = 1) -> Comparison:
    is_large = case == "large logits"
    factor = LARGE if is_large else 1.0
    sequences = draw_sequences(trial, f"{case} {lengths}", lengths, num_queries=num_queries, factor=factor)
    found = in_pages(trial, sequences, num_spare=0 if case == "a full pool" else 2, name=case).run(trial)
    signature = {"case": case, "length": lengths[0], "is_large": is_large}
    what = f"attention over pages differs from attention over the sequence ({case})"
    return compare_sequences(trial, what, found, sequences, signature=signature)


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    yield from signs_of_attention(trial, broken)
    size, cases = trial.subject.traits.page_size, {each.signature["case"] for each in broken}
    alone = {each.signature["length"] for each in broken if each.signature["case"] == "one sequence"}
    if alone and all(length % size == 0 for length in alone):
        yield Diagnosis("paged", "sequences that fill their last page are wrong")
    elif alone and min(alone) > size:
        yield Diagnosis("paged", f"pages after the first are wrong, from length {min(alone)} on")
    elif alone and all(length % size for length in alone):
        yield Diagnosis("paged", "sequences that do not fill their last page are wrong")
    elif cases == {"several queries"}:
        yield Diagnosis("paged", "several queries per sequence are wrong: their places or what they see")
    elif not alone:
        yield Diagnosis("paged", "sequences are wrong beside others: tables or lengths of another row")


def _sorted_pages(q: np.ndarray, keys: np.ndarray, values: np.ndarray, table: np.ndarray, n: np.ndarray) -> np.ndarray:
    return paged(q, keys, values, np.sort(table, axis=1), n)


LAW = Law(
    id="PAGED",
    statement="attention over pages equals float64 attention over each sequence, at page borders and in ragged batches",
    family="paged",
    rank=440,
    needs=("paged",),
    compare=_compare,
    signs=_signs,
    diagnosed_by="suspects",
    broken_example=lambda: paged_kernel(_sorted_pages),
    suspects=(
        "pages are read in another order than the table's",
        "the number of pages or tokens is off by one",
        "the table or length of another row is used",
    ),
    size=SIZE,
    grade="spec",
    reveals=(*BlindSpot,),
)
