"""keras MultiHeadAttention and GroupQueryAttention as subjects, on the torch or the JAX backend."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import Arrays, JaxArrays, TorchArrays
from regard.conformance.adapters.layers import Layer
from regard.conformance.subject import Projections, Spec
from regard.core.errors import InputError


class KerasLayer(Layer):
    """A keras attention layer as self-attention; its mask is [batch, query, key], True where a query may look."""

    def __init__(self, layer: Any, spec: Spec | None = None, *, name: str | None = None) -> None:
        self.spec = spec or Spec(causal=False, positions="none")
        self.layer, self.name, self.arrays = layer, name or f"keras {type(layer).__name__}", _arrays(self.spec)
        if not layer.built:
            shape = (2, 5, self.spec.width)
            layer.build(shape, shape)
        self.settled("mask", "returned", "weights")

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Without dropout; causality by the flag."""
        return self._attended(x, mask)

    def call_with_weights(self, x: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The output and every head's weights."""
        with self.arrays.quietly():
            given = None if mask is None else self.native(mask)
            y, weights = self._attended(self.native(x), given, return_attention_scores=True)
        return self.numpy(y), self.numpy(weights)

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """With weights."""
        return {**super().paths(), "with weights": lambda x, mask=None: self.call_with_weights(x, mask=mask)[0]}

    def projections(self) -> Projections:
        """The kernels, their heads put side by side."""
        named = {"query": "query_dense", "key": "key_dense", "value": "value_dense", "output": "output_dense"}
        parts = {part: getattr(self.layer, f"_{name}") for part, name in named.items()}
        kernels = {part: self._numbers(dense.kernel) for part, dense in parts.items()}
        width = self.spec.width
        matrices: dict[str, Any] = {part: each.reshape(width, -1) for part, each in kernels.items() if part != "output"}
        biases: dict[str, Any] = {
            f"{part}_bias": None if dense.bias is None else self._numbers(dense.bias).reshape(-1)
            for part, dense in parts.items()
        }
        return Projections(**matrices, output=kernels["output"].reshape(-1, kernels["output"].shape[-1]), **biases)

    def _attended(self, x: Any, mask: Any, **options: Any) -> Any:
        seen = None if mask is None else mask[:, None, :].repeat(*self._repeats(x.shape[1]))
        return self.layer(x, x, attention_mask=seen, use_causal_mask=bool(self.spec.causal), training=False, **options)

    def _repeats(self, length: int) -> tuple[int, ...]:
        return (1, length, 1) if isinstance(self.arrays, TorchArrays) else (length, 1)

    def _numbers(self, variable: Any) -> np.ndarray:
        return self.numpy(variable.value).astype(np.float64)


def _arrays(spec: Spec) -> Arrays:
    import keras

    backend = keras.backend.backend()
    if backend not in ("torch", "jax"):
        raise InputError(f"keras runs on {backend} here, which Regard cannot call. Set KERAS_BACKEND=torch or jax.")
    return TorchArrays(spec.dtype, spec.device) if backend == "torch" else JaxArrays(spec.dtype)
