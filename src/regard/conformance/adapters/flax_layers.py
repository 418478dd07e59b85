"""flax nnx.MultiHeadAttention as a subject."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import JaxArrays
from regard.conformance.adapters.layers import Layer
from regard.conformance.subject import Projections, Spec

_FLOATS = ("float16", "bfloat16", "float32", "float64")


class FlaxLayer(Layer):
    """nnx.MultiHeadAttention as self-attention; its mask is [batch, 1, query, key], True where a query may look."""

    def __init__(self, module: Any, spec: Spec | None = None, *, name: str | None = None) -> None:
        own = Spec(
            width=module.in_features,
            num_heads=module.num_heads,
            num_kv_heads=module.num_kv_heads,
            head_width=module.head_dim,
            causal=False,
            positions="none",
        )
        self.module, self.spec = module, spec or own
        self.name, self.arrays = name or "flax nnx.MultiHeadAttention", JaxArrays(self.spec.dtype)
        self.settled("mask", *([] if module.normalize_qk else ["weights"]))

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Without a cache and without dropout; causality by the flag."""
        seen = None if mask is None else mask[:, None, None, :]
        return self.module(x, mask=seen, is_causal=bool(self.spec.causal), decode=False, deterministic=True)

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """Causality by a mask instead of by the flag."""
        return {**super().paths(), **({"a causal mask": self._by_mask} if self.spec.causal else {})}

    def in_dtype(self, dtype: str) -> "FlaxLayer":
        """A copy with every number in another dtype."""
        import jax
        from flax import nnx

        other = copy.copy(self)
        other.arrays, other.spec = JaxArrays(dtype), replace(self.spec, dtype=dtype)
        with other.arrays.quietly():
            graph, state = nnx.split(self.module)
            cast = jax.tree.map(lambda leaf: leaf.astype(dtype) if str(leaf.dtype) in _FLOATS else leaf, state)
            other.module = nnx.merge(graph, cast)
        return other

    def projections(self) -> Projections:
        """The kernels, their heads put side by side."""
        own, width = self.module, self.spec.width
        return Projections(
            query=_numbers(own.query.kernel).reshape(width, -1),
            key=_numbers(own.key.kernel).reshape(width, -1),
            value=_numbers(own.value.kernel).reshape(width, -1),
            output=_numbers(own.out.kernel).reshape(self.spec.num_heads * self.spec.head_width, -1),
            query_bias=_numbers(own.query.bias).reshape(-1) if own.use_bias else None,
            key_bias=_numbers(own.key.bias).reshape(-1) if own.use_bias else None,
            value_bias=_numbers(own.value.bias).reshape(-1) if own.use_bias else None,
            output_bias=_numbers(own.out.bias) if own.use_bias else None,
        )

    def _seeing(self, x: Any, seen: Any) -> Any:
        return self.module(x, mask=seen, decode=False, deterministic=True)


def _numbers(parameter: Any) -> np.ndarray:
    return np.asarray(parameter[...]).astype(np.float64)
