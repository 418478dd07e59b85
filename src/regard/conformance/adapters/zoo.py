"""The zoo: public implementations of attention, each with a builder, a spec and its known failures.

Every known failure is reproduced without Regard in docs/zoo.md.
"""

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from regard.conformance.adapters.other_libraries import (
    FlaxLayer,
    KerasLayer,
    RotaryEmbeddingLayer,
    XTransformersLayer,
    jax_layer,
)
from regard.conformance.adapters.targets import adapt, hf, load
from regard.conformance.subject import Spec, Subject


@dataclass(frozen=True, kw_only=True)
class ZooEntry:
    """One public implementation; nothing is imported before `build` is called."""

    name: str
    packages: tuple[str, ...]
    build: Callable[[], Subject]
    expect: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_installed(self) -> bool:
        """True if its packages can be found."""
        return all(importlib.util.find_spec(name) is not None for name in self.packages)

    def subject(self) -> Subject:
        """The implementation, built, under its name in the zoo."""
        subject = self.build()
        subject.name = self.name
        return subject


def zoo() -> dict[str, ZooEntry]:
    """All entries by name, installed or not."""
    entries = [*_library_entries(), *_hugging_face_entries()]
    return {entry.name: entry for entry in entries}


_NAN_ROWS = "a fully masked row is NaN (pytorch#103749)"
_LEAKS = "restarting positions do not separate documents: this class builds its mask without them"
_NO_WINDOW = "the full pass ignores sliding_window, which the cache respects"
_STRIDES = "it calls view() on states that may not be contiguous, which raises an error"
_KNOWN_FAILURES: Mapping[str, Mapping[str, str]] = {
    "torch:MultiheadAttention": {"EMPTY": _NAN_ROWS},
    "torch:MultiheadAttention causal": {"EMPTY": _NAN_ROWS},
    "torch:TransformerEncoderLayer": {"EMPTY": _NAN_ROWS},
    "hf:OPTForCausalLM": {"PACK": _LEAKS},
    "hf:OPTForCausalLM attention": {"PACK": _LEAKS},
    "hf:BioGptForCausalLM": {"PACK": _LEAKS},
    "hf:XGLMForCausalLM": {"PACK": _LEAKS},
    "hf:GptOssForCausalLM": {"PACK": _LEAKS},
    "hf:GptOssForCausalLM attention": {"PACK": _LEAKS},
    "hf:FalconForCausalLM rotary": {"PACK": _LEAKS},
    "hf:FalconForCausalLM alibi": {"PACK": _LEAKS},
    "hf:MoshiForCausalLM": {"CACHE": _NO_WINDOW, "CACHEPAD": _NO_WINDOW, "SUPPORT": _NO_WINDOW},
    "hf:GPT2LMHeadModel attention": {"LAYOUT": _STRIDES},
    "hf:DeepseekV2ForCausalLM": {"LAYOUT": _STRIDES},
    "hf:MixtralForCausalLM": {"LAYOUT": _STRIDES},
}

# Hugging Face: what changes in the tiny configuration, by class.
_WINDOWED = {"sliding_window": 4}
_ALL_WINDOWED = {"sliding_window": 4, "layer_types": ["sliding_attention", "sliding_attention"]}
_HEADS = {"head_dim": 8}
_ROPE = {"rope_type": "default", "rope_theta": 10_000.0}
_LATENT = {"kv_lora_rank": 16, "q_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8}
_EXPERTS = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 16}
_MODELS: Mapping[str, dict[str, Any]] = {
    "LlamaForCausalLM": {},
    "Qwen2ForCausalLM": {},
    "Olmo2ForCausalLM": {},
    "Qwen3ForCausalLM": _HEADS,
    "Glm4ForCausalLM": _HEADS,
    "GemmaForCausalLM": _HEADS,
    "MistralForCausalLM": _WINDOWED,
    "Starcoder2ForCausalLM": _WINDOWED,
    "Cohere2ForCausalLM": _WINDOWED,
    "Gemma2ForCausalLM": {**_HEADS, **_ALL_WINDOWED, "query_pre_attn_scalar": 8},
    "Gemma3ForCausalLM": {**_HEADS, **_ALL_WINDOWED, "query_pre_attn_scalar": 8},
    "GPTNeoXForCausalLM": {},
    "PhiForCausalLM": {"partial_rotary_factor": 0.5},
    "Phi3ForCausalLM": {},
    "GPTJForCausalLM": {"rotary_dim": 4},
    "CodeGenForCausalLM": {"rotary_dim": 4},
    "GPT2LMHeadModel": {},
    "GPTBigCodeForCausalLM": {},
    "OPTForCausalLM": {"ffn_dim": 64, "word_embed_proj_dim": 32},
    "BloomForCausalLM": {},
    "MptForCausalLM": {},
    "DeepseekV2ForCausalLM": {**_LATENT, **_EXPERTS, "num_key_value_heads": 4},
    "DeepseekV3ForCausalLM": {**_LATENT, **_EXPERTS, "num_key_value_heads": 4},
    "MixtralForCausalLM": {"num_local_experts": 4},
    "GptOssForCausalLM": {**_HEADS, **_WINDOWED, "num_local_experts": 4, "rope_parameters": _ROPE},
    "Llama4ForCausalLM": {
        **_HEADS,
        "attention_chunk_size": 64,
        "num_local_experts": 2,
        "intermediate_size_mlp": 64,
        "interleave_moe_layer_step": 1,
    },
    "SmolLM3ForCausalLM": {},
    "StableLmForCausalLM": {},
    "GraniteForCausalLM": {},
    "GPTNeoForCausalLM": {"num_layers": 2, "attention_types": [[["global", "local"], 1]], "window_size": 4},
    "BioGptForCausalLM": {},
    "XGLMForCausalLM": {"d_model": 32, "ffn_dim": 64, "attention_heads": 4, "num_layers": 2},
    "BartForCausalLM": {
        "d_model": 32,
        "decoder_layers": 2,
        "encoder_layers": 2,
        "decoder_attention_heads": 4,
        "encoder_attention_heads": 4,
        "decoder_ffn_dim": 64,
        "encoder_ffn_dim": 64,
    },
    "RoFormerModel": {"embedding_size": 32},
    "BertModel": {},
    "RobertaModel": {},
    "ModernBertModel": {"global_attn_every_n_layers": 2, "local_attention": 8},
    "DebertaV2Model": {},
    "T5EncoderModel": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2},
    "XLNetModel": {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64},
    "MoshiForCausalLM": {"sliding_window": 4, "ffn_dim": 64},
    "FNetModel": {},
}
# Two position codes in one class, and windows in some layers only.
_VARIANTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "FalconForCausalLM rotary": ("FalconForCausalLM", {"alibi": False}),
    "FalconForCausalLM alibi": ("FalconForCausalLM", {"alibi": True}),
    "Gemma2ForCausalLM alternating": ("Gemma2ForCausalLM", {**_HEADS, **_WINDOWED, "query_pre_attn_scalar": 8}),
}
# The models whose attention is not checked by itself.
_WHOLE_ONLY = """
    DeepseekV2ForCausalLM DeepseekV3ForCausalLM MixtralForCausalLM Llama4ForCausalLM GPTNeoForCausalLM BioGptForCausalLM
    XGLMForCausalLM BartForCausalLM RoFormerModel ModernBertModel DebertaV2Model T5EncoderModel XLNetModel
    MoshiForCausalLM FNetModel
""".split()


def _hugging_face_entries() -> list[ZooEntry]:
    """Models first, then attention modules."""
    builders = {f"hf:{name}": hf(name, **config) for name, config in _MODELS.items()}
    builders |= {f"hf:{label}": hf(name, **config) for label, (name, config) in _VARIANTS.items()}
    alone = {name: config for name, config in _MODELS.items() if name not in _WHOLE_ONLY}
    builders |= {f"hf:{name} attention": hf(name, part="attention", **config) for name, config in alone.items()}
    return [
        ZooEntry(name=name, packages=("torch", "transformers"), build=build, expect=_KNOWN_FAILURES.get(name, {}))
        for name, build in builders.items()
    ]


# The other libraries: each entry is a function or a layer in one of the ways in which it is commonly used.
_PLAIN = Spec(causal=False, positions="none")
_CAUSAL = Spec(causal=True, positions="none")
_GROUPED = Spec(causal=True, positions="none", num_kv_heads=2)
_FUNCTION = Spec(causal=False, positions="none", empty="zero")
_GROUPED_FUNCTION = Spec(causal=True, positions="none", num_kv_heads=2, align="top-left", empty="zero")
_ROTATED = Spec(causal=True, positions="rotary", rotary_layout="interleaved")
_PARTLY_ROTATED = Spec(causal=True, positions="rotary", rotary_layout="interleaved", rotary_width=4)
_ENCODER = Spec(causal=False, positions="none", depth=2)
_DECODER = Spec(causal=True, positions="none", depth=2)


def _library_entries() -> list[ZooEntry]:
    multihead, encoder = "torch:MultiheadAttention", "torch:TransformerEncoderLayer"
    sdpa, flex = "torch:scaled_dot_product_attention", "torch:flex_attention"
    return [
        _entry(multihead, "torch", _torch(multihead), _PLAIN),
        _entry(f"{multihead} causal", "torch", _torch(multihead), _CAUSAL),
        _entry(encoder, "torch", _torch(encoder), _PLAIN),
        _entry("torch:TransformerEncoder", "torch", _torch("torch:TransformerEncoder", num_layers=2), _ENCODER),
        _entry(sdpa, "torch", _torch(sdpa), _FUNCTION),
        _entry(f"{sdpa} causal", "torch", _torch(sdpa), _GROUPED_FUNCTION),
        _entry(flex, "torch", _torch(flex), _FUNCTION),
        _entry(f"{flex} causal", "torch", _torch(flex), _GROUPED_FUNCTION),
        _entry("jax.nn.dot_product_attention", "jax", jax_layer, _PLAIN),
        _entry("jax.nn.dot_product_attention causal", "jax", jax_layer, _GROUPED),
        _entry("flax nnx.MultiHeadAttention", "flax", _flax, _PLAIN),
        _entry("flax nnx.MultiHeadAttention causal", "flax", _flax, _CAUSAL),
        _entry("flax nnx.MultiHeadAttention grouped", "flax", _flax, _GROUPED),
        _entry("keras MultiHeadAttention", "keras", _keras, _PLAIN),
        _entry("keras MultiHeadAttention causal", "keras", _keras, _CAUSAL),
        _entry("keras GroupQueryAttention causal", "keras", _keras, _GROUPED),
        _entry("rotary_embedding_torch", "rotary_embedding_torch", RotaryEmbeddingLayer, _ROTATED),
        _entry("rotary_embedding_torch partial", "rotary_embedding_torch", RotaryEmbeddingLayer, _PARTLY_ROTATED),
        _x_transformers_entry("Encoder", _ENCODER),
        _x_transformers_entry("Decoder", _DECODER),
        _x_transformers_entry("Decoder rotary", replace(_DECODER, positions="rotary"), rotary_pos_emb=True),
        _x_transformers_entry("Decoder alibi", replace(_DECODER, positions="alibi"), alibi_pos_bias=True),
        _x_transformers_entry("Decoder relative", replace(_DECODER, positions="relative"), rel_pos_bias=True),
        _x_transformers_entry("Decoder grouped", replace(_DECODER, num_kv_heads=2), attn_kv_heads=2),
        _x_transformers_entry("Decoder flash", _DECODER, attn_flash=True),
    ]


def _entry(name: str, package: str, build: Callable[[Spec], Subject], spec: Spec) -> ZooEntry:
    known = _KNOWN_FAILURES.get(name, {})
    return ZooEntry(name=name, packages=(package,), build=lambda: build(spec), expect=known)


def _torch(target: str, **arguments: Any) -> Callable[[Spec], Subject]:
    return lambda spec: adapt(load(target, arguments), spec)


def _flax(spec: Spec) -> Subject:
    from flax import nnx

    made = nnx.MultiHeadAttention(spec.num_heads, spec.width, num_kv_heads=spec.num_kv_heads, rngs=nnx.Rngs(0))
    return FlaxLayer(made, spec)


def _keras(spec: Spec) -> Subject:
    if "keras" not in sys.modules:
        os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    keras.utils.set_random_seed(0)
    if spec.num_kv_heads != spec.num_heads:
        made = keras.layers.GroupQueryAttention(spec.head_width, spec.num_heads, spec.num_kv_heads)
    else:
        made = keras.layers.MultiHeadAttention(spec.num_heads, spec.head_width)
    return KerasLayer(made, spec)


def _x_transformers_entry(name: str, spec: Spec, **options: Any) -> ZooEntry:
    def build(spec: Spec) -> Subject:
        import x_transformers

        make = getattr(x_transformers, name.partition(" ")[0])
        heads = {"heads": spec.num_heads, "attn_dim_head": spec.head_width}
        return XTransformersLayer(make(dim=spec.width, depth=spec.depth, **heads, **options), spec)

    return _entry(f"x-transformers {name}", "x_transformers", build, spec)
