"""Unused memory does not matter to paged attention."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regard.conformance.kernel_cases import draw_sequences, junk_values
from regard.conformance.law import Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.laws._paged import SIZE, PagedBatch, in_pages, ragged_lengths
from regard.conformance.reference_kernels import attend_tokens, paged_kernel

_TAIL = Diagnosis("paged", "slots after a sequence's last token are read")
_FREE = Diagnosis("paged", "pages after a sequence's last page are read")
_NAN = Diagnosis("paged", "unused values get the weight zero, and zero times NaN is NaN")


def _compare(trial: LawTrial) -> Comparisons:
    """Large numbers, then NaN, after the last tokens and in free pages; the control puts them where tokens are."""
    batch = in_pages(trial, draw_sequences(trial, "junk", ragged_lengths(trial), num_queries=1))
    before = np.stack(batch.run(trial))
    for kind, value in junk_values(trial):
        for where, slots, bug in _places(batch, trial.subject.traits.page_size):
            if not slots.any():
                continue
            found = np.stack(_filled(batch, slots, value).run(trial))
            spread = np.stack(_filled(batch, np.ones_like(slots), 2.0).run(trial))
            yield trial.compared(
                f"{kind} in {where} change outputs",
                found,
                before,
                control=distance(spread, before),
                place={"lengths": batch.lengths.tolist()},
                suggests=(_NAN if np.isnan(value) and np.isnan(found).any() else bug,),
            )


def _places(batch: PagedBatch, page_size: int) -> Iterator[tuple[str, np.ndarray, Diagnosis]]:
    """Masks [page, slot] of unused memory."""
    free = np.zeros(batch.key_pages.shape[:2], dtype=bool)
    free[batch.spare] = True
    tail = np.zeros_like(free)
    for pages, length in zip(batch.block_table, batch.lengths, strict=True):
        if length % page_size:
            tail[pages[length // page_size], length % page_size :] = True
    yield "slots after the last token", tail, _TAIL
    yield "free pages", free, _FREE


def _filled(batch: PagedBatch, slots: np.ndarray, value: float) -> PagedBatch:
    pools = {name: getattr(batch, name).copy() for name in ("key_pages", "value_pages")}
    for pool in pools.values():
        pool[slots] = value
    return replace(batch, **pools)


def _reads_whole_pages(
    q: np.ndarray, keys: np.ndarray, values: np.ndarray, table: np.ndarray, n: np.ndarray
) -> np.ndarray:
    """Rounds each length up to whole pages."""
    size = keys.shape[1]
    pages = (own[: -(-int(length) // size)] for own, length in zip(table, n, strict=True))
    gathered = ((keys[own].reshape(-1, *keys.shape[2:]), values[own].reshape(-1, *values.shape[2:])) for own in pages)
    return np.stack([attend_tokens(queries, k, v) for queries, (k, v) in zip(q, gathered, strict=True)])


LAW = Law(
    id="PAGEJUNK",
    statement="free pages, slots after the last token and unused entries of the table do not matter",
    family="paged",
    rank=430,
    needs=("paged",),
    compare=_compare,
    diagnosed_by="suspects",
    broken_example=lambda: paged_kernel(_reads_whole_pages),
    suspects=("unused memory is read", "whole pages are read instead of the sequence's length"),
    size=SIZE,
)
