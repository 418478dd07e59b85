"""Attention of other libraries as subjects: JAX, flax, keras, rotary-embedding-torch and x-transformers."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from regard.conformance.adapters.arrays import Arrays, JaxArrays, TorchArrays
from regard.conformance.adapters.functions import CoreLayer
from regard.conformance.adapters.layers import Layer
from regard.conformance.adapters.torch_layers import TorchLayer, sdpa
from regard.conformance.subject import Projections, Spec
from regard.core.errors import InputError

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def jax_layer(spec: Spec, *, name: str = "jax.nn.dot_product_attention") -> CoreLayer:
    """jax.nn.dot_product_attention, which has its heads behind the positions."""

    def attend(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
        import jax

        q, k, v = (each.swapaxes(1, 2) for each in (q, k, v))
        return jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=causal).swapaxes(1, 2)

    return CoreLayer(attend, spec, name=name, arrays=JaxArrays(spec.dtype), takes=frozenset({"mask", "causal"}))


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
        self.set_capabilities({"mask"} if module.normalize_qk else {"mask", "weights"})

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Without a cache and without dropout; causality by the flag."""
        visible = None if mask is None else mask[:, None, None, :]
        return self.module(x, mask=visible, is_causal=bool(self.spec.causal), decode=False, deterministic=True)

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """Causality by a mask instead of by the flag."""
        return {**super().paths(), **({"a causal mask": self._causal_by_mask} if self.spec.causal else {})}

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
        names = {"query": "query", "key": "key", "value": "value", "output": "out"}
        parts = {part: getattr(self.module, name) for part, name in names.items()}
        has_bias = self.module.use_bias
        return _side_by_side(
            {part: (dense.kernel[...], dense.bias[...] if has_bias else None) for part, dense in parts.items()}
        )

    def _forward_with_mask(self, x: Any, visible: Any) -> Any:
        return self.module(x, mask=visible, decode=False, deterministic=True)


class KerasLayer(Layer):
    """keras MultiHeadAttention or GroupQueryAttention as self-attention, on the torch or the JAX backend.

    Its mask is [batch, query, key], True where a query may look.
    """

    def __init__(self, layer: Any, spec: Spec | None = None, *, name: str | None = None) -> None:
        self.spec = spec or Spec(causal=False, positions="none")
        self.layer, self.name, self.arrays = layer, name or f"keras {type(layer).__name__}", _keras_arrays(self.spec)
        if not layer.built:
            shape = (2, 5, self.spec.width)
            layer.build(shape, shape)
        self.set_capabilities({"mask", "returned", "weights"})

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Without dropout; causality by the flag."""
        return self._call_layer(x, mask)

    def call_with_weights(self, x: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The output and every head's weights."""
        with self.arrays.quietly():
            given = None if mask is None else self.native(mask)
            y, weights = self._call_layer(self.native(x), given, return_attention_scores=True)
        return self.numpy(y), self.numpy(weights)

    def paths(self) -> Mapping[str, Callable[..., np.ndarray]]:
        """With weights."""
        return {**super().paths(), "with weights": lambda x, mask=None: self.call_with_weights(x, mask=mask)[0]}

    def projections(self) -> Projections:
        """The kernels, their heads put side by side."""
        parts = {part: getattr(self.layer, f"_{part}_dense") for part in ("query", "key", "value", "output")}
        biases = {part: None if dense.bias is None else self.numpy(dense.bias.value) for part, dense in parts.items()}
        return _side_by_side({part: (self.numpy(dense.kernel.value), biases[part]) for part, dense in parts.items()})

    def _call_layer(self, x: Any, mask: Any, **options: Any) -> Any:
        repeats = (1, x.shape[1], 1) if isinstance(self.arrays, TorchArrays) else (x.shape[1], 1)
        visible = None if mask is None else mask[:, None, :].repeat(*repeats)
        causal = bool(self.spec.causal)
        return self.layer(x, x, attention_mask=visible, use_causal_mask=causal, training=False, **options)


def _keras_arrays(spec: Spec) -> Arrays:
    import keras

    backend = keras.backend.backend()
    if backend not in ("torch", "jax"):
        raise InputError(f"keras runs on {backend} here, which Regard cannot call. Set KERAS_BACKEND=torch or jax.")
    return TorchArrays(spec.dtype, spec.device) if backend == "torch" else JaxArrays(spec.dtype)


def _side_by_side(kernels: Mapping[str, tuple[Any, Any]]) -> Projections:
    """Kernels [width, head, head_width] and [head, head_width, width], with their biases, as matrices."""
    pairs = {}
    for part, (kernel, bias) in kernels.items():
        wide = np.asarray(kernel, dtype=np.float64)
        matrix = wide.reshape(-1, wide.shape[-1]) if part == "output" else wide.reshape(wide.shape[0], -1)
        pairs[part] = (matrix, None if bias is None else np.asarray(bias, dtype=np.float64).reshape(-1))
    return Projections.from_pairs(pairs)


class RotaryEmbeddingLayer(CoreLayer):
    """torch's attention, with queries and keys rotated by rotary_embedding_torch.RotaryEmbedding."""

    def __init__(self, spec: Spec, *, name: str = "rotary_embedding_torch.RotaryEmbedding") -> None:
        arrays, takes = TorchArrays(spec.dtype, spec.device), frozenset({"mask", "causal"})
        super().__init__(sdpa, spec, name=name, arrays=arrays, takes=takes)
        self.capabilities = self.capabilities - {"paths", "core"}  # the rotation is part of `forward` only

    def forward(self, x: Any, mask: Any = None) -> Any:
        """The package itself counts the positions."""
        from rotary_embedding_torch import RotaryEmbedding

        width = self.spec.rotary_width or self.spec.head_width
        rotate = RotaryEmbedding(dim=width, theta=int(self.spec.rotary_base)).to(x.device).rotate_queries_or_keys
        options = self.options_for(x.shape[1], mask)
        return self.project(x, lambda q, k, v: self.attend(rotate(q), rotate(k), v, **options))


class XTransformersLayer(TorchLayer):
    """x-transformers' Encoder or Decoder on embeddings."""

    def forward(self, x: Any, mask: Any = None) -> Any:
        """Its mask is True for real tokens too."""
        return self.module(x, mask=mask)

    def own_capabilities(self) -> set[str]:
        """A mask; a cache for decoders, which they return as intermediates."""
        return {"mask", "cache"} if self.spec.causal else {"mask"}

    def empty_cache(self, batch: int) -> Any:
        """None; the module makes it."""
        del batch

    def step(self, x: np.ndarray, cache: Any, mask: np.ndarray | None = None) -> tuple[np.ndarray, Any]:
        """The module wants every token again and computes only the last one."""
        import torch

        seen, kept = (None, None) if cache is None else cache
        given = None if mask is None else self.native(mask)
        with self.arrays.quietly():
            rows = []
            for token in range(x.shape[1]):
                new = self.native(x[:, token : token + 1])
                seen = new if seen is None else torch.cat([seen, new], dim=1)
                real = None if given is None else given[:, : seen.shape[1]]
                y, kept = self.module(seen, mask=real, cache=copy.copy(kept), return_hiddens=True)
                rows.append(y[:, -1:])
        return self.numpy(torch.cat(rows, dim=1)), (seen, kept)
