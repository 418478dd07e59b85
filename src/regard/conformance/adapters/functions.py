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
from regard.conformance.law import dtype_of
from regard.conformance.subject import Projections, Spec, Subject
from regard.core.errors import InputError


def function_subject(function: Callable[..., Any], spec: Spec, name: str) -> Subject:
    """A function of numpy's arrays if it takes and returns those, else of a framework that is imported."""
    is_bare = is_bare_attention(parameter_names(function))
    kinds: dict[str, type[Arrays]] = {"numpy": NumpyArrays, "torch": TorchArrays, "jax": JaxArrays}
    errors: dict[str, str] = {}
    for package, kind in kinds.items():
        if package in sys.modules:
            error = _error_in(function, spec, kind(spec.dtype, spec.device), is_bare=is_bare)
            if error is not None:
                errors[package] = error
            elif is_bare:
                return bare_function_subject(function, spec, name, kind)
            else:
                return FunctionLayer(function, spec, name=name, arrays=kind(spec.dtype, spec.device))
    shape = "[batch, head, position, width]" if is_bare else f"[batch, position, {spec.width}]"
    raise InputError(
        f"{name} does not take an array {shape} and return one. "
        f"{'; '.join(f'{package}: {error}' for package, error in errors.items())}. "
        "Declare its width in the spec, or wrap it in a function that does."
    )


def bare_function_subject(
    function: Callable[..., Any], spec: Spec, name: str, kind: Callable[..., Arrays]
) -> "CoreLayer":
    """Attention f(q, k, v, …) as a layer."""
    arrays = kind(spec.dtype, spec.device)
    attend = BareFunction(function, spec, arrays)
    return CoreLayer(attend, spec, name=name, arrays=arrays, takes=attend.takes)


def _error_in(function: Callable[..., Any], spec: Spec, arrays: Arrays, *, is_bare: bool) -> str | None:
    """None if the function takes and returns the framework's arrays, else what went wrong."""
    if is_bare:
        num_heads = (spec.num_heads, spec.num_kv_heads or 1, spec.num_kv_heads or 1)
        shapes = [(2, heads, 5, spec.head_width) for heads in num_heads]
    else:
        shapes = [(2, 5, spec.width)]
    inputs = [arrays.array(sample(*shape).astype(dtype_of(spec.dtype))) for shape in shapes]
    for given in (inputs, [_without_batch(each) for each in inputs]):
        found, error = returned_or_error(lambda given=given: function(*given))
        found = found[0] if isinstance(found, tuple | list) else found
        if error is None and isinstance(found, type(inputs[0])) and found.shape[:-1] == given[0].shape[:-1]:
            return None
    return str(error).strip().splitlines()[0] if error is not None else f"it returns {type(found).__name__}"


def _without_batch(x: Any) -> Any:
    return x[0] if x.ndim == 3 else x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


class FunctionLayer(Layer):
    """A function f(x) of one framework; what it calls its mask and positions is read off its signature."""

    def __init__(self, function: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays) -> None:
        self.function, self.spec, self.name, self.arrays = function, spec, name, arrays
        self.names = option_names(parameter_names(function))
        self.takes_rows = False
        if not self.accepts():
            self.takes_rows = True  # a function of one sequence is called row by row
            self.takes_rows = self.accepts()
        self.set_capabilities(set() if self.takes_rows else self.accepted_options(self.names))

    def forward(self, x: Any, **options: Any) -> Any:
        """The function's output, the first of several."""
        if self.takes_rows:
            return _stacked([first_output(self.function(row)) for row in x], x)
        if "mask" in options:
            options["mask"] = self.padding_mask(options["mask"])
        return first_output(self.function(x, **{self.names[name]: value for name, value in options.items()}))


def _stacked(rows: list[Any], like: Any) -> Any:
    if isinstance(like, np.ndarray):
        return np.stack(rows)
    if type(like).__module__.partition(".")[0] == "torch":
        import torch

        return torch.stack(rows)
    import jax.numpy as jnp

    return jnp.stack(rows)


class CoreLayer(Layer):
    """y = W_o · attend(W_q x, W_k x, W_v x): `attend` is asked for the causality and the window of the spec.

    `attend(q, k, v, mask=…, causal=…)` works on [batch, head, position, width] of the framework; the mask is
    [batch, 1, query, key], True where a query may look. `takes` says which of the two options it has.
    """

    def __init__(
        self, attend: Callable[..., Any], spec: Spec, *, name: str, arrays: Arrays, takes: frozenset[str]
    ) -> None:
        self.attend, self.spec, self.name, self.arrays, self.takes = attend, spec, name, arrays, takes
        rng = np.random.default_rng(0)
        own, shared = spec.num_heads * spec.head_width, (spec.num_kv_heads or 1) * spec.head_width
        shapes = {
            "query": (spec.width, own),
            "key": (spec.width, shared),
            "value": (spec.width, shared),
            "output": (own, spec.width),
        }
        drawn = {part: rng.standard_normal(shape) / np.sqrt(shape[0]) for part, shape in shapes.items()}
        self.matrices = {part: matrix.astype(np.float32) for part, matrix in drawn.items()}
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


class BareFunction:
    """Somebody's f(q, k, v, …) with our names for its options, on as many axes as it takes.

    The axes are [batch, head, position, width], or the heads are part of the batch.
    """

    def __init__(self, function: Callable[..., Any], spec: Spec, arrays: Arrays) -> None:
        self.function, self.axes = function, 4
        self.names = option_names(parameter_names(function))
        self.takes = frozenset(self.names) & {"mask", "causal"}
        shape = (2, spec.num_heads, 5, spec.head_width)
        shared = (2, spec.num_kv_heads or 1, 5, spec.head_width)
        inputs = [arrays.array(sample(*each).astype(np.float32)) for each in (shape, shared, shared)]
        errors = []
        for self.axes in (4, 3):
            self.takes = self.takes if self.axes == 4 else frozenset()
            found, error = returned_or_error(lambda: self(*inputs))
            if error is None and tuple(found.shape) == shape:
                return
            errors.append(str(error) if error else f"the output has the shape {tuple(found.shape)}")
        raise InputError(
            f"{getattr(function, '__name__', 'The function')} was called with queries, keys and values of the "
            f"shape [batch, head, position, width] = {shape} and did not return that shape: "
            f"{errors[0].splitlines()[0]}. Wrap it in a function that takes that shape."
        )

    def __call__(self, q: Any, k: Any, v: Any, **options: Any) -> Any:
        """The output, the first of several."""
        if self.axes == 4:
            given = {self.names[name]: value for name, value in options.items()}
            return first_output(self.function(q, k, v, **given))
        batch, heads, length, _ = q.shape
        flat = [each.reshape(batch * each.shape[1], *each.shape[2:]) for each in (q, k, v)]
        return first_output(self.function(*flat)).reshape(batch, heads, length, -1)
