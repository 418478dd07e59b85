"""Sequences put into pages, for the laws of paged kernels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.conformance.kernel_cases import TokenSequence
from regard.conformance.law import InputSize, LawTrial

SIZE = InputSize(batch=4, length=70)


@dataclass(frozen=True, kw_only=True, eq=False)
class PagedBatch:
    """The arguments of a paged kernel; `spare` are the pages that no sequence uses."""

    q: np.ndarray
    key_pages: np.ndarray
    value_pages: np.ndarray
    block_table: np.ndarray
    lengths: np.ndarray
    spare: np.ndarray

    def run(self, trial: LawTrial) -> list[np.ndarray]:
        """The outputs [query, head, width] of each sequence."""
        pools = self.key_pages.copy(), self.value_pages.copy()
        out = trial.subject.run_kernel("attend", self.q, *pools, self.block_table, self.lengths)[0]
        return list(out) if out.shape == self.q.shape else [out] * len(self.q)

    def moved(self, order: np.ndarray) -> "PagedBatch":
        """Page i put where page order[i] was, and the table changed with it."""
        back = np.argsort(order)
        pools = {"key_pages": self.key_pages[back], "value_pages": self.value_pages[back]}
        return replace(self, **pools, block_table=order[self.block_table].astype(np.int32))


def in_pages(trial: LawTrial, sequences: Sequence[TokenSequence], *, num_spare: int = 2, name: str = "") -> PagedBatch:
    """Sequences in pages that are scattered over the pool; without spare pages, no entry of the table is unused."""
    page_size, num_kv_heads, width = trial.subject.traits.page_size, trial.spec.num_kv_heads or 1, trial.spec.head_width
    counts = [-(-each.num_keys // page_size) for each in sequences]
    order = trial.rng(f"pages {name}").permutation(sum(counts) + num_spare)
    spare, used = order[:num_spare], order[num_spare:]
    pools = np.zeros((2, len(order), page_size, num_kv_heads, width), dtype=trial.dtype)
    table = np.full((len(sequences), max(counts) + min(num_spare, 1)), spare[0] if num_spare else 0, dtype=np.int32)
    for row, (sequence, count) in enumerate(zip(sequences, counts, strict=True)):
        own, used = used[:count], used[count:]
        table[row, :count] = own
        for pool, tokens in zip(pools, (sequence.k, sequence.v), strict=True):
            filled = np.zeros((count * page_size, *pool.shape[2:]), dtype=trial.dtype)
            filled[: len(tokens)] = tokens
            pool[own] = filled.reshape(count, *pool.shape[1:])
    return PagedBatch(
        q=np.stack([each.q for each in sequences]),
        key_pages=pools[0],
        value_pages=pools[1],
        block_table=table,
        lengths=np.array([each.num_keys for each in sequences], dtype=np.int32),
        spare=spare,
    )


def border_lengths(trial: LawTrial) -> list[int]:
    """Lengths around the borders of pages, and the longest."""
    size = trial.subject.traits.page_size
    longest = trial.size.length if trial.size.length < SIZE.length else max(SIZE.length, 3 * size + 2)
    wanted = {1, size - 1, size, size + 1, 2 * size - 1, 2 * size, 2 * size + 1, 3 * size, longest}
    return sorted(length for length in wanted if 1 <= length <= longest)


def ragged_lengths(trial: LawTrial) -> list[int]:
    """Very different lengths, one per row of the batch."""
    borders = border_lengths(trial)
    mixed = [length for pair in zip(reversed(borders), borders, strict=True) for length in pair]
    return [mixed[row % len(mixed)] for row in range(trial.size.batch)]
