"""A sequence fed through a cache, piece by piece."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from regard.conformance.subject import Subject

_UNEVEN = ((5, 4, 3), (7, 1, 1, 3))
# Beyond this, one token at a time costs more than it shows: the last tokens then come one by one.
_LONG = 32
_SINGLES = 8


def chunkings(length: int) -> tuple[tuple[int, ...], ...]:
    """Ways to cut a sequence: one by one, all but the last, and unevenly; those of a long one go round again.

    >>> chunkings(4)
    ((1, 1, 1, 1), (3, 1))
    >>> chunkings(12)[2:]
    ((5, 4, 3), (7, 1, 1, 3))
    """
    if length < 2:
        return ()
    singles = (1,) * length if length <= _LONG else (length - _SINGLES, *(1,) * _SINGLES)
    cuts = [singles, (length - 1, 1), *(_cut(pattern, length) for pattern in _UNEVEN)]
    return tuple(dict.fromkeys(cut for cut in cuts if len(cut) > 1))


def _cut(pattern: tuple[int, ...], length: int) -> tuple[int, ...]:
    chunks: list[int] = []
    while sum(chunks) < length:
        chunks.append(min(pattern[len(chunks) % len(pattern)], length - sum(chunks)))
    return tuple(chunks)


def stepped(
    subject: Subject,
    x: np.ndarray,
    chunks: tuple[int, ...],
    *,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """The outputs of all chunks, one after the other; every step is told the mask of past and new tokens."""
    cache, outputs = subject.empty_cache(x.shape[0]), []
    for start, end in _spans(chunks):
        options: dict[str, Any] = {}
        if mask is not None:
            options["mask"] = mask[:, :end]
        if positions is not None:
            options["positions"] = positions[:, start:end]
        y, cache = subject.step(x[:, start:end], cache, **options)
        outputs.append(y)
    return np.concatenate(outputs, axis=1)


def _spans(chunks: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    end = 0
    for chunk in chunks:
        start, end = end, end + chunk
        yield start, end


def first_broken(gaps: np.ndarray, tolerance: float, chunks: tuple[int, ...]) -> dict[str, Any]:
    """Which token is the first to be off, in which chunk, and how far every token is: what a diagnosis asks for.

    `alone` says that every token that is off came in a chunk of one, `within` that one is off beside its own chunk's
    first, which is not.
    """
    worst = gaps.max(axis=0)
    off = np.flatnonzero(~(worst <= tolerance))
    chunk_of = np.repeat(np.arange(len(chunks)), chunks)
    starts = np.cumsum((0, *chunks[:-1]))
    return {
        "chunks": chunks,
        "gaps": worst.tolist(),
        "first": int(off[0]) if len(off) else None,
        "first_chunk": int(chunk_of[off[0]]) if len(off) else None,
        "off": off.tolist(),
        "alone": bool(len(off)) and all(chunks[chunk_of[token]] == 1 for token in off),
        "within": any(worst[starts[chunk_of[token]]] <= tolerance for token in off),
    }


def told(chunks: tuple[int, ...]) -> str:
    """The chunks for a reader.

    >>> told((5, 4, 3)), told((1,) * 6)
    ('5+4+3', '1, 6 times')
    """
    if len(chunks) > 3 and len(set(chunks)) == 1:
        return f"{chunks[0]}, {len(chunks)} times"
    return "+".join(map(str, chunks))
