"""Raw attention f(queries, keys, values) as subjects: fixed random projections around it make it a layer."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import Arrays
from regard.conformance.adapters.layers import Layer, padding_mask
from regard.conformance.adapters.probing import returned_or_error, sample
from regard.conformance.adapters.signatures import option_names, parameter_names
from regard.conformance.subject import Projections, Spec
from regard.core.errors import InputError


class CoreLayer(Layer):
    """y = W_o · attend(W_q x, W_k x, W_v x): what the spec says about causality and windows is asked of `attend`.

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
        self.settled(*({"mask"} & takes), "core", "weights")

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Attention between the projections."""
        seen = self._visible(x.shape[1], mask)
        return self._projected(x, lambda q, k, v: self.attend(q, k, v, **self._asked(seen, self._causal_by_flag())))

    def core(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, *, mask: np.ndarray | None = None, causal: bool = False
    ) -> np.ndarray:
        """Attention itself; the mask is [batch, query, key]."""
        if causal and "causal" not in self.takes:
            raise InputError(f"{self.name} has no causal flag. Give it a mask instead.")
        with self.arrays.quietly():
            seen = None if mask is None else self.native(mask[:, None])
            heads = tuple(map(self.native, (q, k, v)))
            attended = self._attended_causally if causal else self._attended
            return self.numpy(self.arrays.run(attended, heads, self._asked(seen, False)))

    def projections(self) -> Projections:
        """The matrices around it."""
        return Projections(**self.matrices)

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """Causality by a mask instead of by the flag, if it has both."""
        more = dict(super().paths()) if self.arrays.has_gradient else {}
        if self.spec.causal and self.takes >= {"mask", "causal"}:
            more["a mask instead of the causal flag"] = self._by_mask
        return more

    def _attended(self, heads: tuple[Any, Any, Any], **options: Any) -> Any:
        return self.attend(*heads, **options)

    def _attended_causally(self, heads: tuple[Any, Any, Any], **options: Any) -> Any:
        return self.attend(*heads, causal=True, **options)

    def _seeing(self, x: Any, seen: Any) -> Any:
        return self._projected(x, lambda q, k, v: self.attend(q, k, v, **self._asked(seen, False)))

    def _projected(self, x: Any, attend: Callable[[Any, Any, Any], Any]) -> Any:
        shared = self.spec.num_kv_heads or 1
        q = self._heads(x, "query", self.spec.num_heads)
        mixed = attend(q, self._heads(x, "key", shared), self._heads(x, "value", shared))
        merged = mixed.swapaxes(1, 2).reshape(x.shape[0], x.shape[1], -1)
        return merged @ self.native(self.matrices["output"])

    def _heads(self, x: Any, part: str, num_heads: int) -> Any:
        flat = x @ self.native(self.matrices[part])
        return flat.reshape(x.shape[0], x.shape[1], num_heads, -1).swapaxes(1, 2)

    def _causal_by_flag(self) -> bool:
        return bool(self.spec.causal) and "causal" in self.takes

    def _visible(self, length: int, mask: Any) -> Any:
        """[batch, 1, query, key] for what no flag can say; None if there is nothing to say."""
        if "mask" not in self.takes:
            return None
        gaps = np.arange(length)[:, None] - np.arange(length)[None, :]
        seen = np.ones((length, length), dtype=bool)
        if self.spec.causal and "causal" not in self.takes:
            seen &= gaps >= 0
        if self.spec.window is not None:
            seen &= np.abs(gaps) < self.spec.window
        if mask is None:
            return None if seen.all() else self.native(seen[None, None])
        return mask[:, None, None, :] & self.native(seen[None, None])

    def _asked(self, seen: Any, causal: bool) -> dict[str, Any]:
        said = {} if seen is None else {"mask": padding_mask(seen, self.spec.mask, self)}
        return {**said, "causal": True} if causal else said


class RawFunction:
    """A function of somebody else's f(q, k, v, …) under our names, on as many axes as it takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.axes = function, 4
        self.names = option_names(parameter_names(function))
        self.takes = frozenset(self.names) & {"mask", "causal"}

    def __call__(self, q: Any, k: Any, v: Any, **options: Any) -> Any:
        """The output, the first of several."""
        given = {self.names[name]: value for name, value in options.items()}
        if self.axes == 4:
            return _first(self.function(q, k, v, **given))
        batch, heads, length, _ = q.shape
        flat = [each.reshape(batch * each.shape[1], *each.shape[2:]) for each in (q, k, v)]
        return _first(self.function(*flat)).reshape(batch, heads, length, -1)

    def fitted(self, spec: Spec, arrays: Arrays) -> "RawFunction":
        """The function with the number of axes that it takes: [batch, head, position, width], or heads in the batch."""
        shape = (2, spec.num_heads, 5, spec.head_width)
        shared = (2, spec.num_kv_heads or 1, 5, spec.head_width)
        inputs = [arrays.array(sample(*each).astype(np.float32)) for each in (shape, shared, shared)]
        errors = []
        for axes in (4, 3):
            self.axes = axes
            self.takes = self.takes if axes == 4 else frozenset()
            found, error = returned_or_error(lambda: self(*inputs))
            if error is None and tuple(found.shape) == shape:
                return self
            errors.append(str(error) if error else f"the output has the shape {tuple(found.shape)}")
        raise InputError(
            f"{getattr(self.function, '__name__', 'The function')} was called with queries, keys and values of the "
            f"shape [batch, head, position, width] = {shape} and gave none back: {errors[0].splitlines()[0]}. "
            "Wrap it in a function that takes that shape."
        )


def _first(found: Any) -> Any:
    return found[0] if isinstance(found, tuple | list) else found
