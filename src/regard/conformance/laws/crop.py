"""A cropped cache is that of the tokens that are left."""

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class _OneTokenTooMany(ReferenceLayer):
    def crop_cache(self, cache: KeyValueCache, length: int) -> KeyValueCache:
        return super().crop_cache(cache, length + 1)


LAW = trace_law(
    "CROP",
    "after a cache was cropped, outputs equal those of a full pass over the tokens that are left",
    CacheOperation.CROP,
    lambda: _OneTokenTooMany(Spec(causal=True, positions="rotary"), name="crop keeps a token too many"),
    rank=302,
)
