"""Sequences may share pages."""

from dataclasses import replace

import numpy as np

from regard.conformance.kernel_cases import draw_sequence
from regard.conformance.law import Comparisons, Law, LawTrial, distance
from regard.conformance.laws._paged import SIZE, PagedBatch, in_pages
from regard.conformance.reference_kernels import paged, paged_kernel


def _compare(trial: LawTrial) -> Comparisons:
    """Rows with a common prefix of full pages, in pages of their own and in shared ones, with different tails."""
    size, rows = trial.subject.traits.page_size, trial.size.batch
    for num_shared in (1, 2):
        prefix = num_shared * size
        if rows < 2 or prefix >= max(trial.size.length, 2 * size + 2):
            continue
        first = draw_sequence(trial, "shared prefix", 1, prefix)
        sequences = []
        for row in range(rows):
            tail = draw_sequence(trial, f"tail {num_shared} {row}", 1, row + 1)
            parts = {part: np.concatenate([getattr(first, part), getattr(tail, part)]) for part in "kv"}
            sequences.append(replace(tail, **parts))
        own = in_pages(trial, sequences, name=f"shared {num_shared}")
        shared = own.block_table.copy()
        shared[:, :num_shared] = shared[0, :num_shared]
        before = np.stack(own.run(trial))
        yield trial.compared(
            "outputs change when sequences share the pages of a common prefix",
            np.stack(replace(own, block_table=shared).run(trial)),
            before,
            control=distance(np.stack(_with_other_prefix(own).run(trial)), before),
            place={"rows": rows, "shared pages": num_shared},
        )


def _with_other_prefix(batch: PagedBatch) -> PagedBatch:
    values = batch.value_pages.copy()
    values[batch.block_table[:, 0]] += 1
    return replace(batch, value_pages=values)


def _one_owner(q: np.ndarray, keys: np.ndarray, values: np.ndarray, table: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Each page belongs to the last row that names it."""
    own = np.unique(table[::-1], return_index=True)[1]
    kept = np.zeros(table.size, dtype=bool)
    kept[own] = True
    rows = kept.reshape(table.shape)[::-1]
    return paged(q, keys, values, np.where(rows, table, table[:, -1:]), n)


LAW = Law(
    id="PAGESHARE",
    statement="sequences that share the pages of a common prefix get what they get with pages of their own",
    family="paged",
    rank=420,
    needs=("paged",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: paged_kernel(_one_owner),
    suspects=("a page is taken to belong to one sequence only", "pages are changed while they are read"),
    size=SIZE,
)
