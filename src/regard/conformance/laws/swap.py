"""A cache that was swapped out and in is the same."""

from typing import Any

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class _LastTokenNotSaved(ReferenceLayer):
    def swap_out(self, cache: KeyValueCache) -> Any:
        return super().swap_out(self.crop_cache(cache, cache.keys.shape[2] - 1))


LAW = trace_law(
    "SWAP",
    "after a cache was swapped out and in, outputs equal those of a full pass over its tokens",
    CacheOperation.SWAP,
    lambda: _LastTokenNotSaved(Spec(causal=True, positions="rotary"), name="the last token is not swapped out"),
    rank=306,
)
