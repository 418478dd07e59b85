"""A cache can be used again."""

from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, NotTried, Spec, distance
from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer

_IN_PLACE = Diagnosis("in-place", "the cache is updated in place")
_NOT_REORDERED = Diagnosis("cache", "part of it is not reordered with the rows")
_NOT_CROPPED = Diagnosis("cache", "part of it is not cropped")


def _compare(trial: LawTrial) -> Comparisons:
    """Using a cache does not affect its next use, nor the caches made from it.

    Another prefix must move the output, or the cache holds nothing that could be spoiled.
    """
    if trial.subject.cache_limits.is_in_place:
        raise NotTried("steps change the cache that they are given; FORK tries copies")
    x = trial.inputs()
    if x.shape[1] < 3:
        return
    y = _next(trial, x, _after(trial, x))
    control = distance(_next(trial, x, _after(trial, trial.bumped(x, slice(0, -2), by=2.0))), y)

    def compared(use: str, outputs: tuple[np.ndarray, np.ndarray], bug: Diagnosis = _IN_PLACE) -> Comparison:
        shown = {"control": control, "place": {"prefix": x.shape[1] - 2}, "suggests": (bug,)}
        return trial.compared(f"{use} gives a different output", *outputs, **shown)

    cache = _after(trial, x)
    _next(trial, x, cache)
    yield compared("the second use of a cache", (_next(trial, x, cache), y))
    yield compared("a cache from which another branch was started", _branched(trial, x))
    if trial.subject.has("reorder") and x.shape[0] > 1:
        order = np.arange(x.shape[0])[::-1].copy()
        outputs = (_next(trial, x[order], trial.subject.reorder_cache(_after(trial, x), order)), y[order])
        yield compared("a cache with its rows reordered", outputs, _NOT_REORDERED)
    if trial.subject.has("crop"):
        _, longer = trial.subject.step(x[:, -2:-1], _after(trial, x))
        outputs = (_next(trial, x, trial.subject.crop_cache(longer, x.shape[1] - 2)), y)
        yield compared("a cache cropped to an earlier length", outputs, _NOT_CROPPED)


def _after(trial: LawTrial, x: np.ndarray) -> Any:
    """A new cache of all tokens but the last two."""
    return trial.subject.step(x[:, :-2], trial.subject.empty_cache(x.shape[0]))[1]


def _next(trial: LawTrial, x: np.ndarray, cache: Any) -> np.ndarray:
    """The output at the last token but one."""
    return trial.subject.step(x[:, -2:-1], cache)[0]


def _branched(trial: LawTrial, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last output on one branch, with and without another branch started from the same cache in between."""
    other, last, cache = trial.inputs("other branch"), x[:, -1:], _after(trial, x)
    _, longer = trial.subject.step(x[:, -2:-1], cache)
    _next(trial, other, cache)
    found = trial.subject.step(last, longer)[0]
    _, alone = trial.subject.step(x[:, -2:-1], _after(trial, x))
    return found, trial.subject.step(last, alone)[0]


class _CacheUpdatedInPlace(ReferenceLayer):
    def step(self, x: np.ndarray, cache: KeyValueCache, **options: Any) -> tuple[np.ndarray, KeyValueCache]:
        y, longer = super().step(x, cache, **options)
        vars(cache).update(vars(longer))
        return y, cache


LAW = Law(
    id="CACHEPURE",
    statement="a cache used twice gives the same outputs twice, and reordering or cropping it commutes with decoding",
    family="in-place",
    rank=31,
    needs=("cache",),
    compare=_compare,
    broken_example=lambda: _CacheUpdatedInPlace(Spec(causal=True, positions="rotary"), name="cache updated in place"),
    suspects=(_IN_PLACE, "branches share one buffer", _NOT_REORDERED, _NOT_CROPPED),
)
