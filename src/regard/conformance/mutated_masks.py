"""Bugs of masks, windows and softmax."""

from collections.abc import Callable

import numpy as np

from regard.attention import masked_softmax
from regard.conformance.mutation import Mutation, declared_as, staged
from regard.conformance.oracle import Asked, Oracle, share, visible
from regard.conformance.subject import Spec


def _ordered(words: str, rule: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Mutation:
    """Visibility by another rule of query and key indices than the causal one; padding stays hidden."""

    def seen(oracle: Oracle, asked: Asked) -> np.ndarray:
        del oracle
        queries, keys = asked.places[:, None], np.arange(asked.mask.shape[1])[None, :]
        return rule(queries, keys)[None] & asked.mask[:, None, :]

    return staged("mask", words, applies=lambda spec: bool(spec.causal) and spec.window is None, visible=seen)


def _windowed(rule: Callable[[np.ndarray, np.ndarray, int], np.ndarray]) -> Callable[[Oracle, Asked], np.ndarray]:
    """Visibility by another rule of query, key and window; causality and padding stay."""

    def seen(oracle: Oracle, asked: Asked) -> np.ndarray:
        queries, keys = asked.places[:, None], np.arange(asked.mask.shape[1])[None, :]
        return rule(queries, keys, oracle.spec.window or 1)[None] & visible(oracle.changed(window=None), asked)

    return seen


def _only_first(axis: int) -> Callable[[Oracle, np.ndarray, np.ndarray], np.ndarray]:
    """The mask acts on the first head, or on the first row, only."""

    def shares(oracle: Oracle, logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
        kept = np.broadcast_to(seen, logits.shape).copy()
        kept[(slice(None),) * axis + (slice(1, None),)] = True
        return share(oracle, logits, kept)

    return shares


def _softmax(
    rule: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Callable[[Oracle, np.ndarray, np.ndarray], np.ndarray]:
    """Weights by another rule of logits and visibility."""

    def shares(oracle: Oracle, logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
        del oracle
        return rule(logits, np.broadcast_to(seen, logits.shape))

    return shares


def _everywhere(logits: np.ndarray) -> np.ndarray:
    return masked_softmax(logits, np.ones(logits.shape, dtype=bool), empty="nan")


def _along(logits: np.ndarray, seen: np.ndarray, axis: int) -> np.ndarray:
    """Softmax over another axis, the mask in it; lines that see nothing are zero."""
    moved = masked_softmax(np.moveaxis(logits, axis, -1), np.moveaxis(seen, axis, -1), empty="zero")
    return np.moveaxis(moved, -1, axis)


def _powers(logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.where(seen, np.exp(logits), 0.0)


def _one_more(logits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    powers = _powers(logits, seen)
    return powers / (1 + powers.sum(axis=-1, keepdims=True))


def _hides(spec: Spec) -> bool:
    return bool(spec.causal) or spec.window is not None


def _has_window(spec: Spec) -> bool:
    return spec.window is not None


_MASKS = (
    declared_as("mask", "no causal mask", lambda spec: {"causal": False} if spec.causal else None),
    declared_as("mask", "a causal mask that is not declared", lambda spec: None if spec.causal else {"causal": True}),
    _ordered("the causal mask transposed", lambda q, k: k >= q),
    _ordered("a causal mask that excludes the diagonal", lambda q, k: k < q),
    _ordered("a causal mask that shows one key ahead", lambda q, k: k <= q + 1),
    _ordered("the causal mask inverted", lambda q, k: k > q),
    staged("mask", "the mask in the first head only", applies=_hides, share=_only_first(1)),
    staged("mask", "the mask in the first row of the batch only", applies=_hides, share=_only_first(0)),
    staged(
        "mask",
        "masked logits set to zero",
        applies=_hides,
        share=_softmax(lambda z, seen: _everywhere(np.where(seen, z, 0.0))),
    ),
    staged(
        "mask",
        "the mask added as zeros and ones",
        applies=_hides,
        share=_softmax(lambda z, seen: _everywhere(z + seen)),
    ),
    staged(
        "mask",
        "the mask applied after the softmax",
        applies=_hides,
        share=_softmax(lambda z, seen: np.where(seen, _everywhere(z), 0.0)),
    ),
)

_WINDOWS = (
    declared_as("window", "one key too many (W+1)", lambda spec: {"window": spec.window + 1} if spec.window else None),
    declared_as(
        "window",
        "one key too few (W−1)",
        lambda spec: {"window": spec.window - 1} if spec.window and spec.window > 1 else None,
    ),
    declared_as("window", "no window", lambda spec: {"window": None} if spec.window else None),
    declared_as(
        "window", "a window of twice the size", lambda spec: {"window": 2 * spec.window} if spec.window else None
    ),
    declared_as(
        "window",
        "a window of half the size",
        lambda spec: {"window": max(spec.window // 2, 1)} if spec.window else None,
    ),
    staged(
        "window",
        "blocks of W instead of a sliding window",
        applies=_has_window,
        visible=_windowed(lambda q, k, w: q // w == k // w),
    ),
    staged(
        "window",
        "the first W keys instead of the last",
        applies=_has_window,
        visible=_windowed(lambda q, k, w: (k < w) | (q < 0)),
    ),
    staged(
        "window",
        "the keys outside the window instead of those inside",
        applies=_has_window,
        visible=_windowed(lambda q, k, w: np.abs(q - k) >= w),
    ),
)

_SOFTMAX = (
    staged("softmax", "softmax over the queries", share=_softmax(lambda z, seen: _along(z, seen, -2))),
    staged("softmax", "softmax over the heads", share=_softmax(lambda z, seen: _along(z, seen, 1))),
    staged("softmax", "softmax over the batch", share=_softmax(lambda z, seen: _along(z, seen, 0))),
    staged("softmax", "no softmax: the logits themselves", share=_softmax(lambda z, seen: np.where(seen, z, 0.0))),
    staged("softmax", "exponentials that are not normalised", share=_softmax(_powers)),
    staged("softmax", "one more in the denominator", applies=lambda spec: not spec.sink, share=_softmax(_one_more)),
    staged(
        "softmax",
        "powers of two instead of e",
        share=_softmax(lambda z, seen: masked_softmax(z * np.log(2.0), seen, empty="nan")),
    ),
    staged(
        "softmax",
        "a sigmoid instead of a softmax",
        share=_softmax(lambda z, seen: np.where(seen, 1 / (1 + np.exp(-z)), 0.0)),
    ),
    staged(
        "softmax",
        "softmax twice",
        share=_softmax(lambda z, seen: masked_softmax(_along(z, seen, -1), seen, empty="nan")),
    ),
    staged(
        "softmax",
        "uniform weights: the logits are lost",
        share=_softmax(lambda z, seen: masked_softmax(np.zeros_like(z), seen, empty="nan")),
    ),
)

MUTATIONS: tuple[Mutation, ...] = (*_MASKS, *_WINDOWS, *_SOFTMAX)
