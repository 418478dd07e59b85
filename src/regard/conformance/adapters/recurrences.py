"""Recurrences as subjects: a function of inputs and a state, and its chunked and packed forms."""

import copy
import functools
import importlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from regard.conformance.adapters.arrays import Arrays
from regard.conformance.adapters.functions import arrays_taken
from regard.conformance.adapters.layers import Layer, parameter_names
from regard.conformance.recurrence import TAPS, Recurrence, input_width, recurrent_inputs
from regard.conformance.subject import Spec

Form = Literal["recurrent", "chunked"]


class RecurrenceLayer(Layer):
    """A recurrence as a layer on its inputs side by side; its state is what laws call a cache."""

    has_state = True

    def __init__(self, recurrence: Recurrence, spec: Spec | None = None, *, name: str | None = None) -> None:
        self.recurrence = recurrence
        self.name = name or recurrence.name or getattr(recurrence.function, "__name__", "recurrence")
        kind = recurrence.kind
        self.spec = spec or Spec(
            width=recurrence.width if kind is None else input_width(kind),
            num_heads=1,
            causal=True,
            window=TAPS if kind == "short_conv" else None,
            recurrence=kind,
            chunk_size=recurrence.chunk_size,
            scale=recurrence.scale,
            dtype=recurrence.dtype,
        )
        what = kind or f"one x [batch, length, {self.spec.width}]"
        complaint = f"{self.name} does not take the inputs of {what} and return (y, state); see docs/recurrences.md."
        self.arrays = arrays_taken(self.spec, self._outputs, complaint)
        self._bound: dict[Any, Callable[..., Any]] = {}
        if recurrence.reset is not None:
            self.reset_cache = recurrence.reset
        given = {"chunked": recurrence.chunked, "packed": recurrence.packed, "reset": recurrence.reset}
        named = {"mask"} & set(parameter_names(recurrence.function))
        self.set_capabilities({"state", *named, *(form for form, function in given.items() if function is not None)})
        if self.has("gradient") and self._gradient_error() is not None:
            self.capabilities -= {"gradient", "paths"}

    def forward(self, x: Any, *, form: Form = "recurrent", cuts: Sequence[int] = (), **options: Any) -> Any:
        """The outputs of a whole sequence, computed in one call or, with cuts, in several that pass the state on."""
        edges, state, outputs = [0, *cuts, x.shape[1]], None, []
        for start, end in itertools.pairwise(edges):
            given = {name: value[:, start:end] for name, value in options.items()}
            y, state = self._advance(x[:, start:end], state, form=form, **given)
            outputs.append(y)
        return outputs[0] if len(outputs) == 1 else _joined(self.arrays, outputs)

    def call_native(self, x: Any, **options: Any) -> Any:
        """The outputs as the framework's array."""
        function, given = self._without_names(options)
        with self.arrays.quietly():
            return self.arrays.run(function, x, self._native_options(given))

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        """By the framework's own means, also through a state that is passed on."""
        function, given = self._without_names(options)
        return self.arrays.gradient(function, x, direction, self._native_options(given))

    def empty_cache(self, batch: int) -> Any:
        """No state."""
        del batch

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """The outputs of new tokens and the state after them, in one of the forms, or of documents of these lengths."""
        state = copy.deepcopy(cache) if self.recurrence.is_in_place else cache
        with self.arrays.quietly():
            y, state = self._advance(self.native(x), state, **self._native_options(options))
        return self.numpy(y), state

    def _advance(
        self, x: Any, state: Any, *, form: Form = "recurrent", lengths: Sequence[int] | None = None, **options: Any
    ) -> tuple[Any, Any]:
        inputs = self._inputs(x)
        given = options if state is None else {**options, "state": state}
        function = self.recurrence.chunked if form == "chunked" else self.recurrence.function
        if lengths is not None:
            function = self.recurrence.packed
            inputs.append(self.arrays.array(np.cumsum([0, *lengths])))
        assert function is not None, "a form is among the capabilities only if it is given"
        y, state = function(*inputs, **given)
        return y.reshape(*x.shape[:2], -1), state

    def _inputs(self, x: Any) -> list[Any]:
        kind = self.recurrence.kind
        return [x] if kind is None else recurrent_inputs(kind, x, self.arrays.array, self.arrays.module)

    def _without_names(self, options: dict[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The function with the options bound that are no arrays, the same object each time, and the others."""
        named = {name: value for name, value in options.items() if name in ("form", "cuts")}
        key = tuple(sorted((name, str(value)) for name, value in named.items()))
        function = self._bound.setdefault(key, functools.partial(self.forward, **named)) if named else self.forward
        return function, {name: value for name, value in options.items() if name not in named}

    def _outputs(self, arrays: Arrays, x: Any) -> Any:
        self.arrays = arrays
        with arrays.quietly():
            return self._advance(x, None)[0]


def _joined(arrays: Arrays, parts: list[Any]) -> Any:
    functions = importlib.import_module(arrays.module)
    return (functions.cat if hasattr(functions, "cat") else functions.concatenate)(parts, 1)
