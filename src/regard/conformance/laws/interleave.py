"""Sequences that take turns do not affect each other."""

from typing import Any

import numpy as np

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class _OneBuffer(ReferenceLayer):
    last: KeyValueCache | None = None

    def step(self, x: np.ndarray, cache: KeyValueCache, **options: Any) -> tuple[np.ndarray, KeyValueCache]:
        kept = cache if self.last is None or not cache.keys.shape[2] else self.last
        y, self.last = super().step(x, kept, **options)
        return y, self.last


LAW = trace_law(
    "INTERLEAVE",
    "while other sequences take turns, outputs equal those of a full pass over the sequence's own tokens",
    CacheOperation.START,
    lambda: _OneBuffer(Spec(causal=True, positions="rotary"), name="all sequences use one buffer"),
    rank=309,
)
