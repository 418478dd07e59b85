"""The layers as subjects: one interface for all of them, with the capabilities that each really has."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch import Tensor, nn

from regard.conformance.adapters.torch_parameters import parameter_gradients, parameters_of, set_parameters
from regard.conformance.subject import LayerParameter, Projections, Spec, Subject

__all__ = ["BLACK_BOX_LACKS", "LayerSubject", "as_array"]

BLACK_BOX_LACKS = frozenset({"weights", "core", "returned"})


def as_array(x: Tensor) -> np.ndarray:
    """A copy of the tensor's numbers."""
    x = x.detach().clone()
    return x.float().numpy().astype(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()


class LayerSubject(Subject):
    """A torch layer that gives (output, weights, cache). It does not reveal what it was built from."""

    def __init__(self, name: str, module: nn.Module, spec: Spec, reading: Callable[[nn.Module], Projections]) -> None:
        self.name, self.spec, self.module, self.reading = name, spec, module.eval(), reading

    path_names: tuple[str, ...] = ()

    def as_black_box(self) -> "LayerSubject":
        """The same layer without access to its inside."""
        other = copy.copy(self)
        other.capabilities = self.capabilities - BLACK_BOX_LACKS
        return other

    def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
        """The output."""
        with torch.no_grad():
            return self.numpy(self.call_native(self.native(x), **options))

    def in_dtype(self, dtype: str) -> "LayerSubject":
        """The same weights in another precision."""
        other = copy.copy(self)
        other.module = copy.deepcopy(self.module).to(getattr(torch, dtype))
        other.spec = replace(self.spec, dtype=dtype)
        return other

    def empty_cache(self, batch: int) -> Any:  # noqa: ARG002
        """Nothing seen yet, for any batch."""
        return None

    def step(self, x: np.ndarray, cache: Any, **options: Any) -> tuple[np.ndarray, Any]:
        """New tokens after those in the cache."""
        with torch.no_grad():
            output, _, cache = self.module(self.native(x), cache=cache, **self._given(options))
        return self.numpy(output), cache

    def projections(self) -> Projections:
        """The weights, read from the module's parameters alone."""
        return self.reading(self.module)

    def core(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, **options: Any) -> np.ndarray:
        """Attention itself; a mask of keys [batch, key] or of pairs [batch, (head,) query, key]."""
        given = self._given(options)
        given.setdefault("causal", bool(self.spec.causal))
        if "mask" in given:
            mask = given["mask"]
            given["mask"] = {2: lambda: mask[:, None, None, :], 3: lambda: mask[:, None]}.get(mask.ndim, lambda: mask)()
        core: Any = self.module.core
        with torch.no_grad():
            return self.numpy(core(self.native(q), self.native(k), self.native(v), **given))

    def call_with_weights(self, x: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """The output and the weights, by the path that returns weights."""
        with torch.no_grad():
            output, weights, _ = self.module(self.native(x), path="eager", **self._given(options))
        return self.numpy(output), self.numpy(weights)

    def gradient(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> np.ndarray:
        """By autograd."""
        leaf = self.native(x).requires_grad_()
        (self.call_native(leaf, **options) * self.native(direction)).sum().backward()
        assert leaf.grad is not None
        return self.numpy(leaf.grad)

    def parameters(self) -> dict[str, LayerParameter]:
        """Numbers by name, whatever they mean."""
        return parameters_of(self.module)

    def parameter_gradients(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> dict[str, np.ndarray]:
        """By autograd."""
        tokens = self.native(x)
        return parameter_gradients(
            self.module, self.parameters(), lambda: self.call_native(tokens, **options), self.native(direction)
        )

    def with_parameters(self, values: Mapping[str, np.ndarray]) -> "LayerSubject":
        """The same layer with other numbers."""
        other = copy.copy(self)
        other.module = copy.deepcopy(self.module)
        set_parameters(other.module, values)
        return other

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """The other implementations that the layer offers."""
        return {name: self._by(name) for name in self.path_names}

    def _by(self, path: str) -> Callable[..., np.ndarray]:
        def call(x: np.ndarray, **options: Any) -> np.ndarray:
            with torch.no_grad():
                return self.numpy(self.module(self.native(x), path=path, **self._given(options))[0])

        return call

    def native(self, x: np.ndarray) -> Tensor:
        """A tensor that shares no memory with x; bfloat16, which numpy lacks, goes through float32."""
        if x.dtype == ml_dtypes.bfloat16:
            return torch.tensor(x.astype(np.float32)).to(torch.bfloat16)
        return torch.tensor(x)

    def call_native(self, x: Tensor, **options: Any) -> Tensor:
        """The layer on a tensor."""
        return self.module(x, **self._given(options))[0]

    def numpy(self, x: Tensor) -> np.ndarray:
        """A copy as an array."""
        return as_array(x)

    def _given(self, options: Mapping[str, Any]) -> dict[str, Any]:
        arrays = {name: value for name, value in options.items() if value is not None}
        return {name: self.native(value) if isinstance(value, np.ndarray) else value for name, value in arrays.items()}
