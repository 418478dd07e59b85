"""Named random streams: a new consumer of randomness never changes the draws of another."""

import numpy as np

from regard.core.errors import InputError


def stream(seed: int, *names: str | int) -> "np.random.Generator":
    """A generator that depends only on the seed and the names, independent of those with other names.

    >>> bool(stream(0, "law", 1).random() == stream(0, "law", 1).random())
    True
    >>> bool(stream(0, "law", 1).random() == stream(0, "law", 2).random())
    False
    """
    import hashlib

    if seed < 0:
        raise InputError(f"The seed {seed} is negative. Give a whole number, zero or more.")
    label = "\x1f".join(f"{type(name).__name__}:{name}" for name in names)
    words = np.frombuffer(hashlib.sha256(label.encode()).digest(), dtype=np.uint32)
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=tuple(int(word) for word in words))
    return np.random.Generator(np.random.SFC64(sequence))
