"""Decoders whose positions a cache has to remember: several axes, or frequencies that switch with the length."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from regard.conformance.adapters.functions import arrays_taken
from regard.conformance.adapters.layers import Layer
from regard.conformance.subject import Spec
from regard.core.errors import InputError

# Laws that are not about the switch use sequences of this length.
_SHORTEST_SWITCH = 12


@dataclass(frozen=True, kw_only=True)
class CachedDecoder:
    """A decoder to check: `regard.check(CachedDecoder(function=…, axes=3))`.

    Args:
        function: `function(x, positions=None, cache=None) -> (y, cache)`, in numpy, torch or jax.
        axes: the number of axes of a position.
        switch_length: the frequencies are others in sequences of more tokens than this.
        crossing: what happens to cached keys when a sequence grows beyond that.
        is_gradual: whether the frequencies go on changing with the length.
        is_in_place: whether the function may write into the cache that it is given.
        width: the width of x.
        dtype: the precision in which it runs.
        name: what reports call it, the function's name by default.
    """

    function: Callable[..., Any]
    axes: int = 1
    switch_length: int | None = None
    crossing: Literal["recompute", "keep"] | None = None
    is_gradual: bool = False
    is_in_place: bool = False
    width: int = 32
    dtype: str = "float32"
    name: str | None = None

    def __post_init__(self) -> None:
        if self.axes < 1:
            raise InputError(f"A position has {self.axes} axes. Give at least 1.")
        if self.switch_length is not None and self.switch_length < _SHORTEST_SWITCH:
            raise InputError(
                f"The switch is at {self.switch_length} tokens, too few to try anything else. "
                f"Build the decoder with a switch at {_SHORTEST_SWITCH} tokens or more."
            )


class DecoderLayer(Layer):
    """A decoder with its own cache as a layer."""

    def __init__(self, decoder: CachedDecoder, spec: Spec | None = None, *, name: str | None = None) -> None:
        self.decoder = decoder
        self.name = name or decoder.name or getattr(decoder.function, "__name__", type(decoder.function).__name__)
        self.spec = spec or Spec(
            width=decoder.width,
            num_heads=1,
            causal=True,
            max_positions=decoder.switch_length,
            position_axes=decoder.axes,
            switch_length=decoder.switch_length,
            crossing=decoder.crossing,
            is_gradual=decoder.is_gradual,
            dtype=decoder.dtype,
        )
        complaint = f"{self.name} does not take x [batch, length, {self.spec.width}] and return (y, cache)."
        self.arrays = arrays_taken(self.spec, lambda _, x: self.forward(x), complaint)
        special = {"axes": decoder.axes > 1, "switch": decoder.switch_length is not None}
        self.set_capabilities({"cache", *(one for one, is_there in special.items() if is_there)})
        if self.has("gradient") and self._gradient_error() is not None:
            self.capabilities -= {"gradient", "paths"}

    def forward(self, x: Any, **options: Any) -> Any:
        """The outputs of a whole sequence."""
        return self.decoder.function(x, **options)[0]

    def empty_cache(self, batch: int) -> Any:
        """No cache."""
        del batch

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """New tokens after those in the cache."""
        given = self._native_options(options)
        if cache is not None:
            given["cache"] = copy.deepcopy(cache) if self.decoder.is_in_place else cache
        with self.arrays.quietly():
            y, longer = self.decoder.function(self.native(x), **given)
        return self.numpy(y), longer
