"""How a layer responds to the order of its tokens: one formula for floats, balls and generic matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """The weights of a layer; `ones` is the column of as many ones as there are tokens, `scale` is 1/√d.

    Biases are rows. Any type with @, +, * and a transpose will do.
    """

    query: Any
    key: Any
    value: Any
    inner: Any
    inner_bias: Any
    outer: Any
    outer_bias: Any
    scale: Any
    ones: Any


def softmax(scores: Any) -> Any:
    """e^{s_ij} / Σ_l e^{s_il}: the softmax of each row."""
    if hasattr(scores, "apply"):
        return scores.apply("softmax")
    return _shares(scores, np.ones(scores.shape, dtype=bool))


def causal_softmax(scores: Any) -> Any:
    """e^{s_ij} / Σ_{l≤i} e^{s_il} for j ≤ i, otherwise 0: the softmax of each row over the tokens up to its own."""
    if hasattr(scores, "apply"):
        return scores.apply("causal softmax")
    return _shares(scores, np.tri(*scores.shape, dtype=bool))


def relu(x: Any) -> Any:
    """max(0, x), entry by entry."""
    if hasattr(x, "apply"):
        return x.apply("ReLU")
    # A ball around zero cannot be compared with zero, but has a maximum with it.
    return np.frompyfunc(lambda entry: entry.max(0), 1, 1)(x) if x.dtype == object else np.maximum(x, 0)


def layer(x: Any, weights: LayerWeights, *, share: Any = softmax) -> Any:
    """Z = ReLU(HW_1 + 1b_1)W_2 + 1b_2,  H = share(QKᵀ/√d)V,  Q = XW_Q, K = XW_K, V = XW_V.

    >>> one = np.ones((1, 1))
    >>> plain = LayerWeights(query=0 * one, key=one, value=one, inner=one, inner_bias=0 * one, outer=one,
    ...                      outer_bias=0 * one, scale=1.0, ones=np.ones((3, 1)))
    >>> layer(np.array([[1.0], [2.0], [6.0]]), plain, share=causal_softmax).ravel()
    array([1. , 1.5, 3. ])
    """
    queries, keys, values = x @ weights.query, x @ weights.key, x @ weights.value
    mixed = share((queries @ keys.T) * weights.scale) @ values
    inner = relu(mixed @ weights.inner + weights.ones @ weights.inner_bias)
    return inner @ weights.outer + weights.ones @ weights.outer_bias


def output_row(last: Any, x: Any, weights: LayerWeights) -> Any:
    """ReLU(hW_1 + b_1)W_2 + b_2,  h = softmax(x_T W_Q (XW_K)ᵀ/√d) XW_V: the output of a token that attends to all of X.

    It is the last row of `layer`, with or without a causal mask, because the mask hides nothing from the last token.
    """
    mixed = softmax((last @ weights.query @ (x @ weights.key).T) * weights.scale) @ (x @ weights.value)
    return relu(mixed @ weights.inner + weights.inner_bias) @ weights.outer + weights.outer_bias


def running_means(numbers: Sequence[Any]) -> list[Any]:
    """y_t = (x_1 + … + x_t)/t: a causal layer with d = 1, W_Q = 0, other weights 1, no biases, on positive numbers."""
    return [total / count for count, total in enumerate(accumulate(numbers), start=1)]


def mixture(own: Any, rest: Any, value: Any, other: Any) -> Any:
    """(Ev + Ru)/(E + R): a head's output for a value v of exponential E and others of sum R and mean value u."""
    return (own * value + rest * other) / (own + rest)


def swapped_code(growth: Any, tokens: Any) -> Any:
    """(E − 1/E)/(E + 1/E + T−2), E = e^{|δ|²/√d}: the output of a layer with Z = H for tokens δ, −δ, 0, …, 0, per δ.

    These are the tokens PX + Φ if X = −Φ and P swaps two positions whose codes differ by δ.
    """
    return (growth - 1 / growth) / (growth + 1 / growth + tokens - 2)


def _shares(scores: np.ndarray, visible: np.ndarray) -> np.ndarray:
    peak = 0 if scores.dtype == object else np.where(visible, scores, -np.inf).max(axis=-1, keepdims=True)
    mass = np.where(visible, np.exp(np.where(visible, scores - peak, 0 * scores)), 0)
    return mass / mass.sum(axis=-1, keepdims=True)
