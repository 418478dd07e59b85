"""Reference layers with wrong padding, positions or caches, each under the mutation that must explain it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.broken_attention import ROTARY, WINDOW, Build, broken, seeing
from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer


def reading(rule: Callable[[np.ndarray], np.ndarray], spec: dict[str, Any] = ROTARY) -> Build:
    return broken(spec, read_mask=lambda self, mask: rule(mask))


def fed(positions: Callable[[np.ndarray], np.ndarray]) -> Build:
    """Positions that are given are read otherwise."""

    def attend(self, x, cache, **options):
        if options.get("positions") is not None:
            options["positions"] = positions(options["positions"])
        return ReferenceLayer._attend(self, x, cache, **options)

    return broken(ROTARY, _attend=attend)


def stepping(change: Callable[[Any, KeyValueCache], KeyValueCache]) -> Build:
    """The cache is changed before every step."""

    def step(self, x, cache, **options):
        return ReferenceLayer.step(self, x, change(self, cache), **options)

    return broken(ROTARY, step=step)


def again(self, cache: KeyValueCache) -> KeyValueCache:
    return KeyValueCache(
        keys=self.rotate(cache.keys, cache.positions), values=cache.values, mask=cache.mask, positions=cache.positions
    )


def only(start: int | None, stop: int | None) -> Callable[[Any, KeyValueCache], KeyValueCache]:
    def change(self, cache: KeyValueCache) -> KeyValueCache:
        kept = slice(start, stop)
        return KeyValueCache(
            keys=cache.keys[:, :, kept],
            values=cache.values[:, :, kept],
            mask=cache.mask[:, kept],
            positions=cache.positions[:, kept],
        )

    return change


def counted(rule: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda self, mask, length: rule(np.arange(mask.shape[1]))[None, -length:].repeat(len(mask), axis=0)


def top_left(self, query_places, num_keys, mask):
    return seeing(lambda q, k: k <= q)(self, query_places - query_places[0], num_keys, mask)


def open_chunks(self, query_places, num_keys, mask):
    is_first = query_places[0] == 0
    return seeing(lambda q, k: (k <= q) if is_first else (k >= 0))(self, query_places, num_keys, mask)


BROKEN: dict[str, Build] = {
    "the mask ignored": reading(np.ones_like),
    "the mask inverted": reading(np.logical_not),
    "the first row's mask for all": reading(lambda mask: mask[:1].repeat(len(mask), axis=0)),
    "the mask one key off": reading(lambda mask: np.roll(mask, 1, axis=1)),
    "the mask reversed": reading(lambda mask: mask[:, ::-1]),
    "the given positions ignored": fed(lambda places: np.arange(places.shape[1])[None].repeat(len(places), axis=0)),
    "the first row's positions for all": fed(lambda places: places[:1].repeat(len(places), axis=0)),
    "new tokens one position too far": broken(
        ROTARY,
        default_positions=lambda self, mask, length: (counted(lambda t: t + (t > 0) * (length == 1)))(
            self, mask, length
        ),
    ),
    "each new token at position zero": broken(
        ROTARY,
        default_positions=lambda self, mask, length: (counted(lambda t: t * (mask.shape[1] == length)))(
            self, mask, length
        ),
    ),
    "cached keys rotated again at every step": stepping(again),
    "only the new token visible: the cache is not used": stepping(only(0, 0)),
    "a mask aligned top-left": broken(
        ROTARY,
        visible=lambda self, q, n, mask: (
            top_left(self, q, n, mask) if len(q) > 1 else ReferenceLayer.visible(self, q, n, mask)
        ),
    ),
    "only the first key visible: the mask is aligned top-left": broken(ROTARY, visible=top_left),
    "no window with a cache": broken(
        WINDOW,
        visible=lambda self, q, n, mask: (
            ReferenceLayer.visible(self, q, n, mask) if len(q) == n else seeing(lambda i, j: j <= i)(self, q, n, mask)
        ),
    ),
    "no causal mask among new tokens": broken(ROTARY, visible=open_chunks),
}
