"""What laws feed to a layer, and where its outputs differ: changed inputs, masks, and sequences cut into chunks."""

import itertools
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, InputSize, LawTrial, distance
from regard.conformance.subject import Subject

# Where in a row the hidden tokens are.
SIDES = ("right", "left", "middle")
# Position codes of which only distances matter, so that a sequence may start at any position.
RELATIVE = ("none", "rotary", "alibi", "relative")

_UNEVEN_CHUNKS = ((5, 4, 3), (7, 1, 1, 3))
# Beyond this length, decoding token by token costs more than it shows: only the last tokens then come one by one.
_LONG = 32
_SINGLES = 8


def token_gaps(left: np.ndarray, right: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """[batch, position]: the largest difference at each token, zero where the mask is False, infinite for NaN.

    >>> token_gaps(np.array([[[1.0], [2.0]]]), np.array([[[1.0], [5.0]]]))
    array([[0., 3.]])
    """
    if left.shape != right.shape:
        return np.full(left.shape[:2], np.inf)
    gaps = np.abs(left.astype(np.float64) - right.astype(np.float64)).max(axis=-1, initial=0.0)
    gaps = np.where(np.isnan(gaps), np.inf, gaps)
    return gaps if mask is None else np.where(mask, gaps, 0.0)


def worst_token(gaps: np.ndarray) -> dict[str, int]:
    """Row and output of the largest gap."""
    row, output = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    return {"row": int(row), "output": int(output)}


def mask_hiding(batch: int, length: int, side: str) -> np.ndarray:
    """[batch, position], True for a real token: two tokens of the first row are hidden, one more in each further row.

    In rows of more than 31 tokens there are more of them, so that the rows of a large batch end in different blocks.
    At least two tokens of every row stay, so the length must be at least three.

    >>> mask_hiding(2, 6, "middle").astype(int)
    array([[1, 0, 0, 1, 1, 1],
           [1, 0, 0, 0, 1, 1]])
    """
    assert length >= 3, length
    mask = np.ones((batch, length), dtype=bool)
    for row in range(batch):
        count = 1 + (1 + row) * max(length // 16, 1) % (length - 2)
        start = {"right": length - count, "left": 0, "middle": 1 if length < _LONG else length // 3}[side]
        mask[row, start : start + count] = False
    return mask


def real_positions(mask: np.ndarray) -> np.ndarray:
    """Positions from zero that count only the real tokens.

    >>> real_positions(np.array([[False, False, True, True]]))
    array([[0, 0, 0, 1]])
    """
    return np.maximum(np.cumsum(mask, axis=1) - 1, 0)


def uneven_lengths(size: InputSize) -> np.ndarray:
    """[batch]: how many tokens each row has, at most one less than there is room for.

    In long inputs they differ by more than a token, so that rows end in different blocks.
    """
    step = max(size.length // 8, 1) if size.block is not None else 1
    return size.length - 1 - np.arange(size.batch) * step % (size.length - 1)


def ones_mask(subject: Subject, x: np.ndarray) -> dict[str, Any]:
    """The option of a mask that hides nothing, for layers that take a mask.

    Without a mask, some layers take gaps in the positions for the borders of packed documents.
    """
    return {"mask": np.ones(x.shape[:2], dtype=bool)} if subject.has("mask") else {}


def chunkings(size: InputSize) -> tuple[tuple[int, ...], ...]:
    """Ways to cut a sequence: token by token, all but the last, and unevenly (repeated for long sequences).

    Large inputs are cut token by token around borders of blocks, block by block, and into two long chunks.

    >>> chunkings(InputSize(length=4))
    ((1, 1, 1, 1), (3, 1))
    >>> chunkings(InputSize(length=12))[2:]
    ((5, 4, 3), (7, 1, 1, 3))
    >>> chunkings(InputSize(length=40, block=16))
    ((14, 1, 1, 1, 1, 12, 1, 1, 1, 1, 6), (16, 16, 8), (13, 27))
    """
    length = size.length
    if length < 2:
        return ()
    if size.block is not None and length > size.block:
        return _around(size), _repeated((size.block,), length), (length // 3, length - length // 3)
    singles = (1,) * length if length <= _LONG else (length - _SINGLES, *(1,) * _SINGLES)
    cuts = [singles, (length - 1, 1), *(_repeated(pattern, length) for pattern in _UNEVEN_CHUNKS)]
    return tuple(dict.fromkeys(cut for cut in cuts if len(cut) > 1))


def _around(size: InputSize) -> tuple[int, ...]:
    cuts = {cut for border in size.borders() for cut in range(border - 2, border + 3)}
    edges = [0, *sorted(cut for cut in cuts if 0 < cut < size.length), size.length]
    return tuple(end - start for start, end in itertools.pairwise(edges))


def _repeated(pattern: tuple[int, ...], length: int) -> tuple[int, ...]:
    chunks: list[int] = []
    while sum(chunks) < length:
        chunks.append(min(pattern[len(chunks) % len(pattern)], length - sum(chunks)))
    return tuple(chunks)


def decode(
    subject: Subject,
    x: np.ndarray,
    chunks: tuple[int, ...],
    *,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """The outputs of all chunks fed through a cache; every step gets the mask of past and new tokens."""
    cache, outputs, end = subject.empty_cache(x.shape[0]), [], 0
    for chunk in chunks:
        start, end = end, end + chunk
        options: dict[str, Any] = {}
        if mask is not None:
            options["mask"] = mask[:, :end]
        if positions is not None:
            options["positions"] = positions[:, start:end]
        y, cache = subject.step(x[:, start:end], cache, **options)
        outputs.append(y)
    return np.concatenate(outputs, axis=1)


def first_broken_token(gaps: np.ndarray, tolerance: float) -> int | None:
    """The first token at which a row exceeds the tolerance."""
    broken = np.flatnonzero(~(gaps.max(axis=0) <= tolerance))
    return int(broken[0]) if len(broken) else None


def chunks_in_words(chunks: tuple[int, ...]) -> str:
    """The chunks for a reader.

    >>> chunks_in_words((5, 4, 3)), chunks_in_words((1,) * 6)
    ('5+4+3', '1, 6 times')
    """
    if len(chunks) > 3 and len(set(chunks)) == 1:
        return f"{chunks[0]}, {len(chunks)} times"
    return "+".join(map(str, chunks))


def grid_positions(axes: int, batch: int, length: int) -> np.ndarray:
    """[axis, batch, length]: text, then a grid two tokens wide, which starts later in each row and ends the prompt.

    >>> grid_positions(3, 1, 6)[:, 0].tolist()
    [[0, 1, 1, 1, 1, 1], [0, 1, 1, 2, 2, 3], [0, 1, 2, 1, 2, 1]]
    """
    places = np.zeros((axes, batch, length), dtype=int)
    for row in range(batch):
        start = 1 + row % max(length - 2, 1)
        index = np.arange(length) - start
        for axis in range(axes):
            step = index // 2 if axis == axes - 2 else index % 2 if axis == axes - 1 else 0 * index
            places[axis, row] = np.where(index < 0, np.arange(length), start + step)
    return places


def compare_chunks(trial: LawTrial, what: str) -> Comparisons:
    """The sequence in chunks of several sizes, against the full pass; the past must move the last output."""
    x = trial.inputs()
    if x.shape[1] < 2:
        return
    y = trial.call(x)
    control = distance(trial.call(trial.bumped(x, slice(0, -1), by=2.0))[:, -1], y[:, -1])
    tolerance = trial.cache_tolerance(y)
    for chunks in chunkings(trial.size):
        gaps = token_gaps(decode(trial.subject, x, chunks), y)
        first = first_broken_token(gaps, tolerance)
        yield Comparison(
            what=what,
            error=float(gaps.max()),
            tolerance=tolerance,
            control=control,
            place={"chunks": chunks_in_words(chunks), **(worst_token(gaps) if first is None else {"token": first})},
            signature={"chunks": chunks, "first": first},
        )
