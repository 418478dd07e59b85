"""Layers x → y of any framework as subjects."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import Arrays
from regard.conformance.adapters.probing import is_smooth_in_float64, returned_or_error, sample
from regard.conformance.adapters.signatures import option_names, parameter_names
from regard.conformance.subject import Spec, Subject


class Layer(Subject):
    """A layer on the framework's own arrays. A subclass overrides `forward`; everything else follows from it.

    `forward` takes `mask` and `positions` as the framework's arrays if they are among the `capabilities`; the mask is
    True for real tokens.
    """

    arrays: Arrays

    def forward(self, x: Any, **options: Any) -> Any:
        """The output for the framework's array."""
        raise NotImplementedError("A layer needs `forward(x)`.")

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The output as numpy's array."""
        return self.numpy(self.call_native(self.native(x), **options))

    def call_native(self, x: Any, **options: Any) -> Any:
        """The output as the framework's array."""
        with self.arrays.quietly():
            return self.arrays.run(self.forward, x, self._given(options))

    def native(self, x: np.ndarray) -> Any:
        """The framework's array."""
        return self.arrays.array(np.asarray(x))

    def numpy(self, x: Any) -> np.ndarray:
        """numpy's array."""
        return self.arrays.numpy(x)

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        """By the framework's own means."""
        return self.arrays.gradient(self.forward, x, direction, self._given(options))

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """The layer with gradients recorded: much code takes another way then."""
        return {"with gradients": self._with_gradients} if self.arrays.records else {}

    def in_dtype(self, dtype: str) -> "Layer":
        """The same layer in another dtype."""
        other = copy.copy(self)
        other.arrays = type(self.arrays)(dtype, self.spec.device)
        other.spec = replace(self.spec, dtype=dtype)
        return other

    def settled(self, *more: str) -> "Layer":
        """The layer with what it was found to be capable of, once it is ready to be called."""
        found = {"native", *more}
        if self.arrays.has_gradient:
            found.add("gradient")
        if self.paths():
            found.add("paths")
        if is_smooth_in_float64(lambda: self.in_dtype("float64").call, self.spec.width):
            found.add("float64")
        self.capabilities = frozenset(found)
        return self

    def _with_gradients(self, x: np.ndarray, **options: Any) -> np.ndarray:
        kept: list[Any] = []

        def watched(leaf: Any, **given: Any) -> Any:
            kept.append(self.forward(leaf, **given))
            return kept[-1]

        self.arrays.gradient(watched, x, np.zeros_like(self.call(x, **options)), self._given(options))
        return self.numpy(kept[-1])

    def _by_mask(self, x: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """Causality by a mask [batch, 1, query, key] instead of by a flag."""
        length = x.shape[1]
        seen = np.tril(np.ones((x.shape[0], 1, length, length), dtype=bool))
        seen &= True if mask is None else mask[:, None, None, :]
        with self.arrays.quietly():
            return self.numpy(self.arrays.run(self._seeing, self.native(x), {"seen": self.native(seen)}))

    def _seeing(self, x: Any, seen: Any) -> Any:
        """The output where every query sees what the mask says; for layers that have such a path."""
        raise NotImplementedError

    def _given(self, options: Mapping[str, Any]) -> dict[str, Any]:
        known = {name: value for name, value in options.items() if value is not None}
        return {name: self.native(value) if isinstance(value, np.ndarray) else value for name, value in known.items()}


class FunctionLayer(Layer):
    """A function f(x) of one framework; what it calls its mask and positions is read off its signature."""

    def __init__(self, function: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays) -> None:
        self.function, self.spec, self.name, self.arrays = function, spec, name, arrays
        self.names = option_names(parameter_names(function))
        self.takes_rows = False

    def forward(self, x: Any, **options: Any) -> Any:
        """The function's output, the first of several."""
        given = {self.names[name]: value for name, value in self._in_its_words(options).items()}
        if self.takes_rows:
            return _stacked([_first(self.function(row)) for row in x], x)
        return _first(self.function(x, **given))

    def probed(self) -> "FunctionLayer":
        """The layer with the capabilities that it shows; a function of one sequence is called row by row."""
        x = sample(2, 5, self.spec.width).astype(np.float32)
        _, error = returned_or_error(lambda: self.call(x))
        if error is not None:
            self.takes_rows = True
            _, alone = returned_or_error(lambda: self.call(x))
            self.takes_rows = alone is None
        tried = {"mask": np.ones((2, 5), dtype=bool), "positions": np.arange(5)[None].repeat(2, axis=0)}
        wanted = {} if self.takes_rows else {name: each for name, each in tried.items() if name in self.names}
        works = [name for name, each in wanted.items() if returned_or_error(_calling(self, x, name, each))[1] is None]
        self.settled(*works)
        return self

    def _in_its_words(self, options: Mapping[str, Any]) -> dict[str, Any]:
        said = dict(options)
        if "mask" in said:
            said["mask"] = padding_mask(said["mask"], self.spec.mask, self)
        return said


def _calling(layer: Layer, x: np.ndarray, name: str, value: np.ndarray) -> Callable[[], Any]:
    return lambda: layer.call(x, **{name: value})


def padding_mask(mask: Any, convention: str, layer: Layer) -> Any:
    """A mask that is True for real tokens, in the convention that the layer wants."""
    if convention == "keep":
        return mask
    if convention == "drop":
        return ~mask
    hidden = np.where(layer.numpy(mask), 0.0, -np.inf)
    return layer.native(hidden if hidden.ndim > 2 else hidden[:, None, None, :])


def _first(found: Any) -> Any:
    """The output itself, where a layer returns its weights or its cache beside it."""
    if isinstance(found, tuple | list):
        return found[0]
    for name in ("logits", "last_hidden_state"):
        if getattr(found, name, None) is not None:
            return getattr(found, name)
    return found


def _stacked(rows: list[Any], like: Any) -> Any:
    if isinstance(like, np.ndarray):
        return np.stack(rows)
    module = type(like).__module__.partition(".")[0]
    if module == "torch":
        import torch

        return torch.stack(rows)
    import jax.numpy as jnp

    return jnp.stack(rows)
