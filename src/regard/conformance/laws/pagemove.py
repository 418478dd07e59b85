"""Where pages lie in the pool does not matter."""

from dataclasses import replace

import numpy as np

from regard.conformance.kernel_cases import draw_sequences
from regard.conformance.law import Comparisons, Law, LawTrial, distance
from regard.conformance.laws._paged import SIZE, in_pages, ragged_lengths
from regard.conformance.reference_kernels import paged, paged_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """Pages in random and in reversed order; the positive control moves pages and leaves the table."""
    batch = in_pages(trial, draw_sequences(trial, "moved", ragged_lengths(trial), num_queries=1))
    before = np.stack(batch.run(trial))
    num_pages = len(batch.key_pages)
    for order in (trial.rng("order").permutation(num_pages), np.arange(num_pages)[::-1]):
        moved = batch.moved(order)
        stale = np.stack(replace(moved, block_table=batch.block_table).run(trial))
        yield trial.compared(
            "outputs change when pages and the table's entries move together",
            np.stack(moved.run(trial)),
            before,
            control=distance(stale, before) if (moved.block_table != batch.block_table).any() else None,
            place={"lengths": batch.lengths.tolist()},
        )


def _consecutive(q: np.ndarray, keys: np.ndarray, values: np.ndarray, table: np.ndarray, n: np.ndarray) -> np.ndarray:
    return paged(q, keys, values, (table[:, :1] + np.arange(table.shape[1])) % len(keys), n)


LAW = Law(
    id="PAGEMOVE",
    statement="moving pages inside the pool together with their entries in the table changes nothing",
    family="paged",
    rank=410,
    needs=("paged",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: paged_kernel(_consecutive),
    suspects=(
        "only some entries of the table are used: pages are taken to be consecutive",
        "entries of the table are not used as page numbers",
    ),
    size=SIZE,
)
