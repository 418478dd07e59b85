"""A prefix that is found again is the one that was looked up."""

import numpy as np

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec, Subject
from regard.conformance.trace_laws import trace_law
from regard.conformance.traces import CacheOperation


class PrefixLayer(ReferenceLayer):
    """A layer that remembers the caches of all prefixes of its session by their tokens."""

    capabilities = ReferenceLayer.capabilities | {"prefix"}

    def new_session(self) -> Subject:
        """A layer that remembers nothing."""
        return type(self)(self.spec, name=self.name, seed=self.seed)

    def prefix_cache(self, x: np.ndarray) -> tuple[int, KeyValueCache]:
        """The longest prefix with a known key."""
        self.known: dict[bytes, KeyValueCache] = getattr(self, "known", {})
        lengths = [length for length in range(x.shape[1], 0, -1) if self.key(x, length) in self.known]
        cache = self.known[self.key(x, lengths[0])] if lengths else self.empty_cache(len(x))
        whole = self.step(x, self.empty_cache(len(x)))[1]
        for length in range(1, x.shape[1] + 1):
            self.known.setdefault(self.key(x, length), self.crop_cache(whole, length))
        return (lengths[0] if lengths else 0), cache

    def key(self, x: np.ndarray, length: int) -> bytes:
        """By what a prefix is found."""
        return x[:, :length].tobytes()


class _OnlyTheLength(PrefixLayer):
    def key(self, x: np.ndarray, length: int) -> bytes:
        return super().key(np.zeros_like(x), length)


LAW = trace_law(
    "PREFIXHIT",
    "after a prefix was found again, outputs equal those of a full pass over all tokens",
    CacheOperation.PREFIX,
    lambda: _OnlyTheLength(Spec(causal=True, positions="rotary"), name="prefixes are found by their length"),
    rank=308,
)
