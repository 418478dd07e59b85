"""What torch, JAX, flax, keras, rotary-embedding-torch and x-transformers offer, in the zoo."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from regard.conformance.adapters.loading import load
from regard.conformance.adapters.zoo import ZooEntry
from regard.conformance.subject import Spec, Subject

_PLAIN = Spec(causal=False, positions="none")
_CAUSAL = Spec(causal=True, positions="none")
_GROUPED = Spec(causal=True, positions="none", num_kv_heads=2)
_NAN = "a row that is masked as a whole is NaN (pytorch#103749)"
_KNOWN: dict[str, Mapping[str, str]] = {
    "torch:MultiheadAttention": {"EMPTY": _NAN},
    "torch:MultiheadAttention causal": {"EMPTY": _NAN},
    "torch:TransformerEncoderLayer": {"EMPTY": _NAN},
}


def other_entries() -> list[ZooEntry]:
    """One entry for every way in which a function or layer is commonly used."""
    return [
        *_torch_entries(),
        _entry("jax.nn.dot_product_attention", "jax", _jax, Spec(causal=False, positions="none")),
        _entry("jax.nn.dot_product_attention causal", "jax", _jax, _GROUPED),
        _entry("flax nnx.MultiHeadAttention", "flax", _flax, _PLAIN),
        _entry("flax nnx.MultiHeadAttention causal", "flax", _flax, _CAUSAL),
        _entry("flax nnx.MultiHeadAttention grouped", "flax", _flax, _GROUPED),
        _entry("keras MultiHeadAttention", "keras", _keras, _PLAIN),
        _entry("keras MultiHeadAttention causal", "keras", _keras, _CAUSAL),
        _entry("keras GroupQueryAttention causal", "keras", _keras, _GROUPED),
        _entry(
            "rotary_embedding_torch",
            "rotary_embedding_torch",
            _rotary,
            Spec(causal=True, positions="rotary", rotary_layout="interleaved"),
        ),
        _entry(
            "rotary_embedding_torch partial",
            "rotary_embedding_torch",
            _rotary,
            Spec(causal=True, positions="rotary", rotary_layout="interleaved", rotary_width=4),
        ),
        *_x_transformers_entries(),
    ]


def _torch_entries() -> list[ZooEntry]:
    sdpa, flex = "torch:scaled_dot_product_attention", "torch:flex_attention"
    grouped = Spec(causal=True, positions="none", num_kv_heads=2, align="top-left", empty="zero")
    encoder = Spec(causal=False, positions="none")
    return [
        _entry("torch:MultiheadAttention", "torch", _loaded("torch:MultiheadAttention"), _PLAIN),
        _entry("torch:MultiheadAttention causal", "torch", _loaded("torch:MultiheadAttention"), _CAUSAL),
        _entry("torch:TransformerEncoderLayer", "torch", _loaded("torch:TransformerEncoderLayer"), encoder),
        _entry(
            "torch:TransformerEncoder",
            "torch",
            _loaded("torch:TransformerEncoder"),
            Spec(causal=False, positions="none", depth=2),
        ),
        _entry(sdpa, "torch", _loaded(sdpa), Spec(causal=False, positions="none", empty="zero")),
        _entry(f"{sdpa} causal", "torch", _loaded(sdpa), grouped),
        _entry(flex, "torch", _loaded(flex), Spec(causal=False, positions="none", empty="zero")),
        _entry(f"{flex} causal", "torch", _loaded(flex), grouped),
    ]


def _x_transformers_entries() -> list[ZooEntry]:
    kinds: dict[str, tuple[dict[str, Any], Spec]] = {
        "Encoder": ({}, Spec(causal=False, positions="none", depth=2)),
        "Decoder": ({}, Spec(causal=True, positions="none", depth=2)),
        "Decoder rotary": ({"rotary_pos_emb": True}, Spec(causal=True, positions="rotary", depth=2)),
        "Decoder alibi": ({"alibi_pos_bias": True}, Spec(causal=True, positions="alibi", depth=2)),
        "Decoder relative": ({"rel_pos_bias": True}, Spec(causal=True, positions="relative", depth=2)),
        "Decoder grouped": ({"attn_kv_heads": 2}, Spec(causal=True, positions="none", depth=2, num_kv_heads=2)),
        "Decoder flash": ({"attn_flash": True}, Spec(causal=True, positions="none", depth=2)),
    }
    return [
        _entry(f"x-transformers {name}", "x_transformers", _x_transformers(name.split()[0], options), spec)
        for name, (options, spec) in kinds.items()
    ]


def _entry(name: str, package: str, build: Callable[[Spec], Subject], spec: Spec) -> ZooEntry:
    return ZooEntry(name=name, package=package, build=lambda: build(spec), spec=spec, expect=_KNOWN.get(name, {}))


def _loaded(text: str) -> Callable[[Spec], Subject]:
    def build(spec: Spec) -> Subject:
        from regard.conformance.adapters.adapting import adapt

        arguments = {"num_layers": spec.depth} if text.endswith("TransformerEncoder") else {}
        return adapt(load(text, arguments), spec)

    return build


def _jax(spec: Spec) -> Subject:
    from regard.conformance.adapters.jax_layers import jax_attention_layer

    return jax_attention_layer(spec)


def _flax(spec: Spec) -> Subject:
    from flax import nnx

    from regard.conformance.adapters.flax_layers import FlaxLayer

    made = nnx.MultiHeadAttention(spec.num_heads, spec.width, num_kv_heads=spec.num_kv_heads, rngs=nnx.Rngs(0))
    return FlaxLayer(made, spec)


def _keras(spec: Spec) -> Subject:
    if "keras" not in sys.modules:
        os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    from regard.conformance.adapters.keras_layers import KerasLayer

    keras.utils.set_random_seed(0)
    if spec.num_kv_heads != spec.num_heads:
        made = keras.layers.GroupQueryAttention(spec.head_width, spec.num_heads, spec.num_kv_heads)
    else:
        made = keras.layers.MultiHeadAttention(spec.num_heads, spec.head_width)
    return KerasLayer(made, spec)


def _rotary(spec: Spec) -> Subject:
    from regard.conformance.adapters.third_parties import rotary_embedding_layer

    return rotary_embedding_layer(spec)


def _x_transformers(kind: str, options: dict[str, Any]) -> Callable[[Spec], Subject]:
    def build(spec: Spec) -> Subject:
        import x_transformers

        from regard.conformance.adapters.third_parties import XDecoder

        made = getattr(x_transformers, kind)(
            dim=spec.width, depth=spec.depth, heads=spec.num_heads, attn_dim_head=spec.head_width, **options
        )
        return XDecoder(made, spec)

    return build
