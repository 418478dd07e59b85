"""Single-span corruption, as the course states it."""

import numpy as np

from regard.core.axes import Int
from regard.training.data.tokenizing import MASK

Tokens = Int[np.ndarray, " _"]


def corrupt(tokens: Tokens, rng: np.random.Generator, *, block: int) -> tuple[Tokens, Tokens]:
    """A text with one span taken out, and the span.

        prefix MASK suffix MASK masked

    The text is cut to a random length of 4 to ⌊7/8·block⌋ tokens; the span has a quarter of them on average and lies
    anywhere inside. What is read first ends with the second MASK; together they are at most `block` long, if that is
    16 or more.

    >>> read, masked = corrupt(np.arange(10, 18), np.random.default_rng(1), block=16)
    >>> read, masked
    (array([10, 11, 12, 13,  4, 17,  4]), array([14, 15, 16]))
    """
    longest = block * 7 // 8
    length = min(len(tokens), int(rng.integers(4, max(longest, 4) + 1)))
    kept = tokens[:length]
    size = int(rng.integers(1, max(length // 2, 1) + 1)) if length else 0
    start = int(rng.integers(0, length - size + 1))
    masked = kept[start : start + size]
    return np.concatenate([kept[:start], [MASK], kept[start + size :], [MASK]]), masked
