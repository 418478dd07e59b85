"""A causal attention layer with one slip: the mask lets every token see the next one."""

import numpy as np

WIDTH, HEADS = 32, 4
RNG = np.random.default_rng(0)
QUERY, KEY, VALUE, OUTPUT = (RNG.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH) for _ in range(4))


def layer(x: np.ndarray) -> np.ndarray:
    """[batch, position, width] → the same; nothing should look ahead."""
    batch, length, _ = x.shape

    def heads(matrix: np.ndarray) -> np.ndarray:
        return (x @ matrix.astype(x.dtype)).reshape(batch, length, HEADS, -1).swapaxes(1, 2)

    q, k, v = heads(QUERY), heads(KEY), heads(VALUE)
    logits = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(x.dtype)
    seen = np.tril(np.ones((length, length), dtype=bool), k=1)  # the slip: k=0 is the diagonal
    visible = np.where(seen, logits, -np.inf)
    powers = np.exp(visible - visible.max(axis=-1, keepdims=True))
    mixed = (powers / powers.sum(axis=-1, keepdims=True)) @ v
    return mixed.swapaxes(1, 2).reshape(batch, length, WIDTH) @ OUTPUT.astype(x.dtype)
