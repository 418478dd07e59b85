"""A cache that forgets its oldest tokens forgets those and no others."""

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class _EvictsTheNewest(ReferenceLayer):
    def evict_cache(self, cache: KeyValueCache, count: int) -> KeyValueCache:
        return self.crop_cache(cache, cache.keys.shape[2] - count)


LAW = trace_law(
    "EVICT",
    "after old tokens were evicted, outputs equal those of a full pass over the tokens that are left",
    CacheOperation.EVICT,
    lambda: _EvictsTheNewest(Spec(causal=True, positions="rotary"), name="the newest tokens are evicted"),
    rank=304,
)
