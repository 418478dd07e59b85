"""A rejected draft leaves nothing behind."""

from dataclasses import replace

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class _ValuesOfTheDraft(ReferenceLayer):
    def reject_cache(self, cache: KeyValueCache, count: int) -> KeyValueCache:
        return replace(super().reject_cache(cache, count), values=cache.values[:, :, count:])


LAW = trace_law(
    "REJECT",
    "after drafts were rejected, outputs equal those of a full pass over the accepted tokens",
    CacheOperation.REJECT,
    lambda: _ValuesOfTheDraft(Spec(causal=True, positions="rotary"), name="the values of a rejected draft stay"),
    rank=303,
)
