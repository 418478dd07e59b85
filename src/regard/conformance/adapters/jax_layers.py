"""JAX's own attention as a subject."""

from typing import Any

from regard.conformance.adapters.arrays import JaxArrays
from regard.conformance.adapters.cores import CoreLayer
from regard.conformance.subject import Spec


def jax_attention_layer(spec: Spec, *, name: str = "jax.nn.dot_product_attention") -> CoreLayer:
    """jax.nn.dot_product_attention, which has its heads behind the positions."""
    return CoreLayer(_attend, spec, name=name, arrays=JaxArrays(spec.dtype), takes=frozenset({"mask", "causal"}))


def _attend(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    import jax

    q, k, v = (each.swapaxes(1, 2) for each in (q, k, v))
    return jax.nn.dot_product_attention(q, k, v, mask=mask, is_causal=causal).swapaxes(1, 2)
