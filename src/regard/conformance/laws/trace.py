"""Whatever was done with a cache, it is that of the tokens that are left."""

from typing import Any

import numpy as np

from regard.conformance.reference_layer import KeyValueCache, ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.trace_laws import trace_law

_PAGE = 16


class _LosesAToken(ReferenceLayer):
    def step(self, x: np.ndarray, cache: KeyValueCache, **options: Any) -> tuple[np.ndarray, KeyValueCache]:
        y, longer = super().step(x, cache, **options)
        length = longer.keys.shape[2]
        is_new_page = cache.keys.shape[2] < _PAGE < length
        return y, self.crop_cache(longer, length - 1) if is_new_page else longer


LAW = trace_law(
    "TRACE",
    "after any trace of operations on caches, outputs equal those of a full pass over the tokens that are left",
    None,
    lambda: _LosesAToken(Spec(causal=True, positions="rotary"), name="a token is lost at the border of a page"),
    rank=315,
)
