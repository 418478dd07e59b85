"""The rows of a cache can be reordered, and repeated, as beams are."""

from dataclasses import replace

import numpy as np

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class _ValuesNotReordered(ReferenceLayer):
    def reorder_cache(self, cache: KeyValueCache, order: np.ndarray) -> KeyValueCache:
        return replace(super().reorder_cache(cache, order), values=cache.values)


LAW = trace_law(
    "REORDER",
    "after the rows of a cache were reordered, outputs equal those of a full pass over the reordered tokens",
    CacheOperation.REORDER,
    lambda: _ValuesNotReordered(Spec(causal=True, positions="rotary"), name="values are not reordered"),
    rank=305,
)
