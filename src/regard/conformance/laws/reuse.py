"""A cache that was reset is as good as new."""

from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class _PositionsGoOn(ReferenceLayer):
    def reset_cache(self, cache: KeyValueCache) -> KeyValueCache:
        return replace(cache, mask=np.zeros_like(cache.mask))

    def step(self, x: np.ndarray, cache: KeyValueCache, **options: Any) -> tuple[np.ndarray, KeyValueCache]:
        return super().step(x, replace(cache, mask=np.ones_like(cache.mask)), **options)


LAW = trace_law(
    "REUSE",
    "after a reset, outputs equal those of a full pass over the tokens appended since",
    CacheOperation.RESET,
    lambda: _PositionsGoOn(Spec(causal=True, positions="rotary"), name="a reset forgets nothing"),
    rank=307,
)
