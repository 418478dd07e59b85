"""Layers to check, most of them broken; a module of its own, so that other processes can import it."""

import ctypes
import os
import time

import numpy as np


def _softmax(z):
    powers = np.exp(z - z.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _attend(x, hidden):
    rng = np.random.default_rng(0)
    query, key, value = (rng.standard_normal((x.shape[-1], x.shape[-1])).astype(x.dtype) / 6 for _ in range(3))
    z = (x @ query) @ (x @ key).swapaxes(-1, -2)
    return _softmax(np.where(hidden, np.finfo(x.dtype).min, z)) @ (x @ value)


def lawful(x):
    """Causal attention."""
    return _attend(x, np.triu(np.ones((x.shape[1],) * 2, dtype=bool), 1))


def leaky(x):
    """Causal attention that sees one token too many."""
    return _attend(x, np.triu(np.ones((x.shape[1],) * 2, dtype=bool), 2))


def build(kind="lawful"):
    """The layer of that name."""
    return globals()[kind]


def _when_tried(x):
    """True for the inputs of laws, not for those by which an adapter gets to know a layer."""
    return isinstance(x, np.ndarray) and x.ndim == 3 and x.shape[1] not in (5, 1)


def hangs(x):
    if x.shape[1] == 11:
        time.sleep(600)
    return lawful(x)


def exits(x):
    if _when_tried(x):
        os._exit(7)
    return lawful(x)


def segfaults(x):
    if _when_tried(x):
        ctypes.string_at(0)
    return lawful(x)


def eats_memory(x):
    return lawful(x) + (np.ones((40_000, 40_000)).sum() if _when_tried(x) else 0)


def is_nan(x):
    return lawful(x) * np.nan


def has_wrong_shape(x):
    return lawful(x)[:, :-1] if _when_tried(x) else lawful(x)


def raises(x):
    if _when_tried(x):
        raise KeyError("no such head")
    return lawful(x)


def talks(x):
    print("chatter that must not disturb anybody")  # noqa: T201
    return lawful(x)


def never_built():
    raise RuntimeError("no weights here")


def dies_while_built():
    os._exit(3)


def always_hangs(x):
    time.sleep(600)
    return x
