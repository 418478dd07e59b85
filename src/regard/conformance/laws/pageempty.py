"""A sequence without tokens disturbs no other."""

import numpy as np

from regard.conformance.kernel_cases import draw_sequence, draw_sequences, unless_it_raises
from regard.conformance.law import Comparisons, Law, LawTrial, distance
from regard.conformance.laws._paged import SIZE, in_pages, ragged_lengths
from regard.conformance.reference_kernels import paged, paged_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """An empty sequence before, between and after others; its own output is judged only if a policy is declared."""
    policy = trial.spec.empty
    sequences = draw_sequences(trial, "beside empty", ragged_lengths(trial), num_queries=1)
    empty = draw_sequence(trial, "empty", 1, 0)
    alone = np.stack(in_pages(trial, sequences).run(trial))
    other = draw_sequences(trial, "other", ragged_lengths(trial), num_queries=1)
    control = distance(np.stack(in_pages(trial, other).run(trial)), alone)
    for row in sorted({0, len(sequences) // 2, len(sequences)}):
        batch = in_pages(trial, [*sequences[:row], empty, *sequences[row:]])
        found = np.stack(
            unless_it_raises(lambda batch=batch: batch.run(trial), "an empty sequence", is_declared=policy is not None)
        )
        what, place = "outputs change beside an empty sequence", {"lengths": batch.lengths.tolist()}
        yield trial.compared(what, np.delete(found, row, axis=0), alone, control=control, place=place)
        if policy == "zero":
            what, zero = "the output of an empty sequence is not zero", np.zeros_like(found[row])
            yield trial.compared(what, found[row], zero, 0.0, place=place)


def _drops_empty(q: np.ndarray, keys: np.ndarray, values: np.ndarray, table: np.ndarray, n: np.ndarray) -> np.ndarray:
    real = n > 0
    out = np.zeros_like(q)
    out[: real.sum()] = paged(q[real], keys, values, table[real], n[real])
    return out


LAW = Law(
    id="PAGEEMPTY",
    statement="a sequence without tokens changes no other output, and gets what the spec declares",
    family="paged",
    rank=445,
    needs=("paged",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: paged_kernel(_drops_empty),
    suspects=("rows after an empty sequence are shifted", "an empty sequence gets NaN or reads a page"),
    size=SIZE,
)
