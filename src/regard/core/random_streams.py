"""Random streams by name, so that a new user of randomness never changes another's draws."""

import numpy as np

from regard.core.errors import InputError


def stream(seed: int, *names: str | int) -> "np.random.Generator":
    """A generator that depends on the seed and the names only, independent of every other name's.

    >>> bool(stream(0, "law", 1).random() == stream(0, "law", 1).random())
    True
    >>> bool(stream(0, "law", 1).random() == stream(0, "law", 2).random())
    False
    """
    import hashlib

    if seed < 0:
        raise InputError(f"The seed {seed} is negative. Give a whole number from zero up.")
    label = "\x1f".join(f"{type(name).__name__}:{name}" for name in names)
    words = np.frombuffer(hashlib.sha256(label.encode()).digest(), dtype=np.uint32)
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=tuple(int(word) for word in words))
    return np.random.Generator(np.random.SFC64(sequence))
