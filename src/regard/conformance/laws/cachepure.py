"""Using a cache does not use it up."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.probes import bumped
from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec, Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """What is done with a cache does not show in what is done with it again, or with those that came of it.

    Another prefix must move the output, or there is nothing in the cache to spoil.
    """
    x = trial.inputs()
    if x.shape[1] < 3:
        return
    y = _next(trial, x, _after(trial, x))
    control = distance(_next(trial, x, _after(trial, bumped(trial, x, slice(0, -2), by=2.0))), y)
    for use, (ours, theirs) in _uses(trial, x, y):
        yield Comparison(
            what=f"{use} gives another output",
            error=distance(ours, theirs),
            tolerance=trial.tolerance(theirs),
            control=control,
            place={"prefix": x.shape[1] - 2},
            signature={"use": use},
        )


def _uses(trial: LawTrial, x: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Every use of a cache, what came of it and what must come of it; y is the output after a first use."""
    yield "a second use of a cache", (_used_twice(trial, x), y)
    yield "a cache from which another branch was begun", _branched(trial, x)
    reorder, crop = (getattr(trial.subject, hook, None) for hook in ("reorder_cache", "crop_cache"))
    if reorder is not None and x.shape[0] > 1:
        order = np.arange(x.shape[0])[::-1].copy()
        yield "a cache with its rows reordered", (_next(trial, x[order], reorder(_after(trial, x), order)), y[order])
    if crop is not None:
        _, longer = trial.subject.step(x[:, -2:-1], _after(trial, x))
        yield "a cache cropped to what it was", (_next(trial, x, crop(longer, x.shape[1] - 2)), y)


def _after(trial: LawTrial, x: np.ndarray) -> Any:
    """A new cache of all tokens but the last two."""
    return trial.subject.step(x[:, :-2], trial.subject.empty_cache(x.shape[0]))[1]


def _next(trial: LawTrial, x: np.ndarray, cache: Any) -> np.ndarray:
    """The output at the last token but one."""
    return trial.subject.step(x[:, -2:-1], cache)[0]


def _used_twice(trial: LawTrial, x: np.ndarray) -> np.ndarray:
    """The output for a token after the same cache has taken that token once already."""
    cache = _after(trial, x)
    _next(trial, x, cache)
    return _next(trial, x, cache)


def _branched(trial: LawTrial, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last output on one branch, with and without another branch begun from the same cache in between."""
    other, last, cache = trial.inputs("other branch"), x[:, -1:], _after(trial, x)
    _, longer = trial.subject.step(x[:, -2:-1], cache)
    _next(trial, other, cache)
    ours = trial.subject.step(last, longer)[0]
    _, alone = trial.subject.step(x[:, -2:-1], _after(trial, x))
    return ours, trial.subject.step(last, alone)[0]


class _CacheUpdatedInPlace(ReferenceLayer):
    """Lengthens the very cache that it is given."""

    def step(
        self, x: np.ndarray, cache: KeyValueCache, mask: np.ndarray | None = None, positions: np.ndarray | None = None
    ) -> tuple[np.ndarray, KeyValueCache]:
        y, longer = super().step(x, cache, mask, positions)
        for part in ("keys", "values", "mask", "positions"):
            object.__setattr__(cache, part, getattr(longer, part))
        return y, cache


def _broken_example() -> Subject:
    return _CacheUpdatedInPlace(Spec(causal=True, positions="rotary"), name="cache updated in place")


LAW = Law(
    id="CACHEPURE",
    statement="a cache used twice gives the same outputs twice, and reordering or cropping it commutes with decoding",
    needs=("cache",),
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "the cache is updated in place",
        "branches share one buffer",
        "a part of the cache is not reordered with the rows",
        "a part of the cache is not cropped",
    ),
)
