"""Reference layers with one wrong part, each under the description of the mutation that must explain it.

They are written on `ReferenceLayer`'s own parts in plain numpy, and share no code with the mutated oracles.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Projections, Spec

ROTARY = {"causal": True, "positions": "rotary"}
ALIBI = {"causal": True, "positions": "alibi"}
PLAIN = {"causal": False, "positions": "none"}
WINDOW = {"causal": True, "positions": "rotary", "window": 4}
GROUPED = {"causal": True, "positions": "rotary", "num_kv_heads": 2, "num_heads": 4}
CAPPED = {"causal": True, "positions": "none", "softcap": 1.5}

Build = Callable[[], ReferenceLayer]


def broken(spec: dict[str, Any], base: type[ReferenceLayer] = ReferenceLayer, **methods: Callable[..., Any]) -> Build:
    return lambda: type("Broken", (base,), methods)(Spec(**spec))


def seeing(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    def visible(self, query_places, num_keys, mask):
        return rule(query_places[:, None], np.arange(num_keys)[None, :])[None] & mask[:, None, :]

    return visible


def soft(z: np.ndarray, axis: int = -1) -> np.ndarray:
    powers = np.exp(z - z.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def sharing(rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda self, z, visible: rule(z, np.broadcast_to(visible, z.shape)).astype(self.dtype)


def hidden(z: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.where(seen, z, -1e30)


def first_only(axis: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def rule(z: np.ndarray, seen: np.ndarray) -> np.ndarray:
        first = np.arange(z.shape[axis]).reshape([-1 if each == axis else 1 for each in range(4)]) == 0
        return soft(hidden(z, seen | ~first))

    return rule


def column_soft(z: np.ndarray, seen: np.ndarray, axis: int) -> np.ndarray:
    return soft(hidden(z, seen), axis) * seen


MASKS = {
    "no causal mask": broken(ROTARY, visible=seeing(lambda q, k: q + k >= 0)),
    "an undeclared causal mask": broken(PLAIN, visible=seeing(lambda q, k: k <= q)),
    "the causal mask transposed": broken(ROTARY, visible=seeing(lambda q, k: k >= q)),
    "a causal mask that excludes the diagonal": broken(ROTARY, visible=seeing(lambda q, k: k < q)),
    "a causal mask that shows one key ahead": broken(ROTARY, visible=seeing(lambda q, k: k - 1 <= q)),
    "the causal mask inverted": broken(ROTARY, visible=seeing(lambda q, k: k > q)),
    "the mask in the first head only": broken(ROTARY, softmax=sharing(first_only(1))),
    "the mask in the first row of the batch only": broken(ROTARY, softmax=sharing(first_only(0))),
    "masked logits set to zero": broken(ROTARY, softmax=sharing(lambda z, seen: soft(z * seen))),
    "the mask added as zeros and ones": broken(ROTARY, softmax=sharing(lambda z, seen: soft(z + 1.0 * seen))),
    "the mask applied after the softmax": broken(ROTARY, softmax=sharing(lambda z, seen: soft(z) * seen)),
}

WINDOWS = {
    "one key too many (W+1)": broken(WINDOW, visible=seeing(lambda q, k: (k <= q) & (q - k <= 4))),
    "one key too few (W−1)": broken(WINDOW, visible=seeing(lambda q, k: (k <= q) & (q - k < 3))),
    "no window": broken(WINDOW, visible=seeing(lambda q, k: k <= q)),
    "a window of twice the size": broken({**WINDOW, "window": 3}, visible=seeing(lambda q, k: (k <= q) & (q - k < 6))),
    "a window of half the size": broken(WINDOW, visible=seeing(lambda q, k: (k <= q) & (q - k < 2))),
    "blocks of W instead of a sliding window": broken(
        WINDOW, visible=seeing(lambda q, k: (k <= q) & (q // 4 == k // 4))
    ),
    "the first W keys instead of the last": broken(WINDOW, visible=seeing(lambda q, k: (k <= q) & (k < 4))),
    "the keys outside the window instead of those inside": broken(
        {**WINDOW, "window": 2}, visible=seeing(lambda q, k: (k <= q) & (q - k >= 2))
    ),
}

SOFTMAX = {
    "softmax over the queries": broken(ROTARY, softmax=sharing(lambda z, seen: column_soft(z, seen, -2))),
    "softmax over the heads": broken(ROTARY, softmax=sharing(lambda z, seen: column_soft(z, seen, 1))),
    "softmax over the batch": broken(ROTARY, softmax=sharing(lambda z, seen: column_soft(z, seen, 0))),
    "no softmax: the logits themselves": broken(ROTARY, softmax=sharing(lambda z, seen: z * seen)),
    "unnormalized exponentials": broken(ROTARY, softmax=sharing(lambda z, seen: np.exp(z) * seen)),
    "a denominator larger by one": broken(
        ROTARY, softmax=sharing(lambda z, seen: np.exp(z) * seen / (1 + (np.exp(z) * seen).sum(-1, keepdims=True)))
    ),
    "powers of two instead of e": broken(
        ROTARY, softmax=sharing(lambda z, seen: 2**z * seen / (2**z * seen).sum(-1, keepdims=True))
    ),
    "a sigmoid instead of a softmax": broken(ROTARY, softmax=sharing(lambda z, seen: seen / (1 + np.exp(-z)))),
    "softmax twice": broken(ROTARY, softmax=sharing(lambda z, seen: soft(hidden(soft(hidden(z, seen)), seen)))),
    "uniform weights: the logits are lost": broken(
        ROTARY, softmax=sharing(lambda z, seen: seen / seen.sum(-1, keepdims=True))
    ),
}

SCALES = {
    "no scale": broken(ROTARY, scale=lambda self: 1.0),
    "1/d instead of 1/√d": broken(ROTARY, scale=lambda self: 1 / 8),
    "the scale applied twice": broken({**ROTARY, "scale": 0.5}, scale=lambda self: 0.25),
    "√d instead of 1/√d": broken(ROTARY, scale=lambda self: 8**0.5),
    "the scale on one side only, d^(−1/4)": broken(ROTARY, scale=lambda self: 8**-0.25),
    "the model's width instead of a head's": broken(ROTARY, scale=lambda self: 32**-0.5),
    "the number of heads instead of their width": broken(ROTARY, scale=lambda self: 4**-0.5),
    "the width of all key heads instead of one": broken(GROUPED, scale=lambda self: 16**-0.5),
    "half the head width": broken({**ROTARY, "num_heads": 2}, scale=lambda self: 8**-0.5),
    "twice the head width": broken({**ROTARY, "num_kv_heads": 1}, scale=lambda self: 16**-0.5),
    "1/√d where another scale is declared": broken({**ROTARY, "scale": 0.7}, scale=lambda self: 8**-0.5),
    "the opposite sign": broken(ROTARY, scale=lambda self: -(8**-0.5)),
    "the number of keys instead of the head width": broken(
        ROTARY, logits=lambda self, q, k: self.product(q, k.swapaxes(-1, -2)) / np.float32(k.shape[2] ** 0.5)
    ),
    "the scale applied after the softmax": broken(
        ROTARY, scale=lambda self: 1.0, softmax=sharing(lambda z, seen: soft(hidden(z, seen)) * 8**-0.5)
    ),
}


class Sunk(ReferenceLayer):
    """Has a sink in every head."""

    sinks = np.array([0.5, -0.3, 1.0, 0.1])

    def projections(self) -> Projections:
        return Projections(**self.matrices, extra={"sinks": self.sinks})

    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        top = np.maximum(z.max(axis=-1, keepdims=True), self.logit())
        powers = np.exp(z - top) * visible
        return (powers / (powers.sum(-1, keepdims=True) + np.exp(self.logit() - top))).astype(self.dtype)

    def logit(self) -> np.ndarray:
        return self.sinks.reshape(1, -1, 1, 1)


def dots(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return q @ k.swapaxes(-1, -2)


CAPS = {
    "no softcap": broken(CAPPED, logits=lambda self, q, k: dots(q, k) * 8**-0.5),
    "the softcap before the scale": broken(CAPPED, logits=lambda self, q, k: 8**-0.5 * 1.5 * np.tanh(dots(q, k) / 1.5)),
    "tanh without multiplying back by the cap": broken(
        CAPPED, logits=lambda self, q, k: np.tanh(dots(q, k) * 8**-0.5 / 1.5)
    ),
    "logits clipped instead of capped smoothly": broken(
        CAPPED, logits=lambda self, q, k: np.clip(dots(q, k) * 8**-0.5, -1.5, 1.5)
    ),
    "no sink": broken({**ROTARY, "sink": True}, Sunk, softmax=sharing(lambda z, seen: soft(hidden(z, seen)))),
    "a sink whose logit is zero": broken({**ROTARY, "sink": True}, Sunk, logit=lambda self: np.zeros((1, 1, 1, 1))),
}


def sloped(slopes: list[float] | np.ndarray) -> Build:
    return broken(ALIBI, slopes=lambda self: np.asarray(slopes))


def far(rule: Callable[[np.ndarray, np.ndarray], np.ndarray], spec: dict[str, Any] = ALIBI) -> Build:
    def bias(self, q, k):
        return (-self.slopes()[None, :, None, None] * rule(q[:, None, :, None], k[:, None, None, :])).astype(self.dtype)

    return broken(spec, bias=bias)


_H = np.arange(1, 5)
_OWN = np.array([1 / 4, 1 / 16, 1 / 64, 1 / 256])
ALIBIS = {
    "no ALiBi bias": broken(ALIBI, bias=lambda self, q, k: None),
    "slopes in the opposite order": sloped(_OWN[::-1]),
    "slopes off by one: 2^(−8h/H) from h = 0": sloped([1, 1 / 4, 1 / 16, 1 / 64]),
    "slopes off by one: 2^(−8h/H) from h = 2": sloped(_OWN / 4),
    "slopes 2^(−h)": sloped([1 / 2, 1 / 4, 1 / 8, 1 / 16]),
    "slopes 2^(−h/H): the 8 is missing": sloped(0.5 ** (_H / 4)),
    "slopes e^(−8h/H)": sloped(np.exp(-2.0 * _H)),
    "2^(−8h/H) where H is no power of two": broken(
        {**ALIBI, "num_heads": 6, "width": 48}, slopes=lambda self: 0.5 ** (8 * np.arange(1, 7) / 6)
    ),
    "the first head's slope for all": sloped([1 / 4] * 4),
    "a slope of one for all": sloped([1.0] * 4),
    "slopes of the opposite sign": sloped(-_OWN),
    "the bias scaled with the logits": sloped(_OWN * 8**-0.5),
    "squared distances": far(lambda q, k: (q - k) ** 2),
    "signed distances": far(lambda q, k: q - k, {**ALIBI, "causal": False}),
    "distances capped at one": far(lambda q, k: np.sign(np.abs(q - k))),
}

BROKEN: dict[str, Build] = {**MASKS, **WINDOWS, **SOFTMAX, **SCALES, **CAPS, **ALIBIS}
