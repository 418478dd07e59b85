"""Functions as subjects: layers f(x), and bare attention f(queries, keys, values) between fixed random projections."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import Arrays, JaxArrays, NumpyArrays, TorchArrays
from regard.conformance.adapters.layers import (
    Layer,
    first_output,
    is_bare_attention,
    option_names,
    parameter_names,
    returned_or_error,
    sample,
)
from regard.conformance.subject import Projections, Spec, Subject, random_matrices
from regard.conformance.verdict import error_line
from regard.core.errors import InputError

_FRAMEWORKS: Mapping[str, type[Arrays]] = {"numpy": NumpyArrays, "torch": TorchArrays, "jax": JaxArrays}


class _CannotCall(Exception):
    """Raised if a function does not map a framework's arrays to arrays of the same shape."""


def function_subject(
    function: Callable[..., Any], spec: Spec, name: str, frameworks: Mapping[str, type[Arrays]] = _FRAMEWORKS
) -> Subject:
    """A function of numpy's arrays if it takes and returns those, else of a framework that is imported."""
    is_bare = is_bare_attention(parameter_names(function))
    make = _bare_attention if is_bare else FunctionLayer
    errors = []
    for package, kind in frameworks.items():
        if package in sys.modules:
            try:
                return make(function, spec, name=name, arrays=kind(spec.dtype, spec.device))
            except _CannotCall as error:
                errors.append(f"{package}: {error}")
    shape = "[batch, head, position, width]" if is_bare else f"[batch, position, {spec.width}]"
    raise InputError(
        f"{name} does not take an array {shape} and return one. {'; '.join(errors)}. "
        "Declare its width in the spec, or wrap it in a function that does."
    )


def _takes_parts(function: Callable[..., Any], inputs: list[Any], parts: list[Any]) -> bool:
    """False if the function takes these inputs, True if it takes only parts of them; raises _CannotCall if neither."""
    problems = []
    for given in (inputs, parts):
        found, error = returned_or_error(lambda given=given: first_output(function(*given)))
        shape, wanted = getattr(found, "shape", ()), given[0].shape
        if isinstance(found, type(given[0])) and (shape == wanted or (len(given) == 1 and shape[:-1] == wanted[:-1])):
            return given is parts
        returned = f"it returns {type(found).__name__} {tuple(shape) or ''} for {tuple(wanted)}"
        problems.append(returned if error is None else error_line(error))
    raise _CannotCall(problems[0])


class FunctionLayer(Layer):
    """A function f(x) of one framework; what it calls its mask and positions is read off its signature."""

    def __init__(self, function: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays) -> None:
        self.function, self.spec, self.name, self.arrays = function, spec, name, arrays
        self.names = option_names(parameter_names(function))
        x = arrays.array(sample(2, 5, spec.width))
        # A function of one sequence is called row by row.
        self.takes_rows = _takes_parts(function, [x], [x[0]])
        self.set_capabilities(set() if self.takes_rows else self.accepted_options(self.names))

    def forward(self, x: Any, **options: Any) -> Any:
        """The function's output, the first of several."""
        if self.takes_rows:
            return self.arrays.stack([first_output(self.function(row)) for row in x])
        return first_output(self.function(x, **self.renamed(options, self.names)))


def _bare_attention(function: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays) -> "CoreLayer":
    """Attention f(q, k, v, …) as a layer; the heads may be part of the batch, and then it takes no options."""
    names, shared = option_names(parameter_names(function)), spec.num_kv_heads or 1
    inputs = [arrays.array(sample(2, heads, 5, spec.head_width)) for heads in (spec.num_heads, shared, shared)]

    def flat(heads: Any) -> Any:
        return heads.reshape(heads.shape[0] * heads.shape[1], *heads.shape[2:])

    def attend(q: Any, k: Any, v: Any, **options: Any) -> Any:
        return first_output(function(q, k, v, **{names[option]: value for option, value in options.items()}))

    def attend_flat(q: Any, k: Any, v: Any) -> Any:
        return first_output(function(flat(q), flat(k), flat(v))).reshape(*q.shape[:3], -1)

    if _takes_parts(function, inputs, [flat(each) for each in inputs]):
        return CoreLayer(attend_flat, spec, name=name, arrays=arrays, takes=frozenset())
    return CoreLayer(attend, spec, name=name, arrays=arrays, takes=frozenset(names) & {"mask", "causal"})


class CoreLayer(Layer):
    """y = W_o · attend(W_q x, W_k x, W_v x): `attend` is asked for the causality and the window of the spec.

    `attend(q, k, v, mask=…, causal=…)` works on [batch, head, position, width] of the framework; the mask is
    [batch, 1, query, key], True where a query may look. `takes` says which of the two options it has.
    """

    def __init__(
        self, attend: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays, takes: frozenset[str]
    ) -> None:
        self.attend, self.spec, self.name, self.arrays, self.takes = attend, spec, name, arrays, takes
        self.matrices = random_matrices(spec, np.dtype(np.float32))
        self.set_capabilities({"core", "weights"} | ({"mask"} & takes))

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Attention between the projections."""
        options = self.options_for(x.shape[1], mask)
        return self.project(x, lambda q, k, v: self.attend(q, k, v, **options))

    def core(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, mask: np.ndarray | None = None, causal: bool = False
    ) -> np.ndarray:
        """Attention itself; the mask is [batch, query, key]."""
        if causal and "causal" not in self.takes:
            raise InputError(f"{self.name} has no causal flag. Give it a mask instead.")
        with self.arrays.quietly():
            visible = None if mask is None else self.native(mask[:, None])
            heads = tuple(map(self.native, (q, k, v)))
            attend = self._attend_causally if causal else self._attend
            return self.numpy(self.arrays.run(attend, heads, self._mask_option(visible)))

    def projections(self) -> Projections:
        """The matrices around it."""
        return Projections(**self.matrices)

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """Causality by a mask instead of by the flag, if it has both."""
        paths = dict(super().paths()) if self.arrays.has_gradient else {}
        if self.spec.causal and self.takes >= {"mask", "causal"}:
            paths["a mask instead of the causal flag"] = self._causal_by_mask
        return paths

    def project(self, x: Any, attend: Callable[[Any, Any, Any], Any]) -> Any:
        """`attend` on the heads of x, and its output projected back."""
        shared = self.spec.num_kv_heads or 1
        q = self._heads(x, "query", self.spec.num_heads)
        mixed = attend(q, self._heads(x, "key", shared), self._heads(x, "value", shared))
        merged = mixed.swapaxes(1, 2).reshape(x.shape[0], x.shape[1], -1)
        return merged @ self.native(self.matrices["output"])

    def options_for(self, length: int, mask: Any) -> dict[str, Any]:
        """The mask and the causal flag for `attend`; the mask says what no flag can say."""
        is_causal_by_flag = bool(self.spec.causal) and "causal" in self.takes
        options = self._mask_option(self._visible(length, mask))
        return {**options, "causal": True} if is_causal_by_flag else options

    # Methods and not lambdas, since a framework compiles a function once and finds it again by its identity.
    def _attend(self, heads: tuple[Any, Any, Any], **options: Any) -> Any:
        return self.attend(*heads, **options)

    def _attend_causally(self, heads: tuple[Any, Any, Any], **options: Any) -> Any:
        return self.attend(*heads, causal=True, **options)

    def _forward_with_mask(self, x: Any, visible: Any) -> Any:
        return self.project(x, lambda q, k, v: self.attend(q, k, v, **self._mask_option(visible)))

    def _heads(self, x: Any, part: str, num_heads: int) -> Any:
        flat = x @ self.native(self.matrices[part])
        return flat.reshape(x.shape[0], x.shape[1], num_heads, -1).swapaxes(1, 2)

    def _visible(self, length: int, mask: Any) -> Any:
        """[batch, 1, query, key], True where a query may look; None if a mask has nothing to say."""
        if "mask" not in self.takes:
            return None
        gaps = np.arange(length)[:, None] - np.arange(length)[None, :]
        visible = np.ones((length, length), dtype=bool)
        if self.spec.causal and "causal" not in self.takes:
            visible &= gaps >= 0
        if self.spec.window is not None:
            visible &= np.abs(gaps) < self.spec.window
        if mask is None:
            return None if visible.all() else self.native(visible[None, None])
        return mask[:, None, None, :] & self.native(visible[None, None])

    def _mask_option(self, visible: Any) -> dict[str, Any]:
        return {} if visible is None else {"mask": self.padding_mask(visible)}
