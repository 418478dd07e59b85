"""A fork of a cache and its origin go on independently."""

from typing import Any

import numpy as np

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class _SharedFork(ReferenceLayer):
    def step(self, x: np.ndarray, cache: KeyValueCache, **options: Any) -> tuple[np.ndarray, KeyValueCache]:
        y, longer = super().step(x, cache, **options)
        vars(cache).update(vars(longer))
        return y, cache


LAW = trace_law(
    "FORK",
    "after forks of a cache, outputs equal those of a full pass over the tokens of each branch",
    CacheOperation.FORK,
    lambda: _SharedFork(Spec(causal=True, positions="rotary"), name="fork shares its memory"),
    rank=301,
)
