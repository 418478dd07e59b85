"""Hugging Face in the zoo: whole models, and the attention of those whose parts are known."""

from collections.abc import Mapping
from typing import Any

from regard.conformance.adapters.loading import hf
from regard.conformance.adapters.zoo import ZooEntry

_WINDOWED = {"sliding_window": 4}
_ALL_WINDOWED = {"sliding_window": 4, "layer_types": ["sliding_attention", "sliding_attention"]}
_HEADS = {"head_dim": 8}
_ROPE = {"rope_type": "default", "rope_theta": 10_000.0}

# What changes in the tiny configuration, by class.
_MODELS: dict[str, dict[str, Any]] = {
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
    "DeepseekV2ForCausalLM": {
        "kv_lora_rank": 16,
        "q_lora_rank": 16,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8,
        "v_head_dim": 8,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "moe_intermediate_size": 16,
        "num_key_value_heads": 4,
    },
    "DeepseekV3ForCausalLM": {
        "kv_lora_rank": 16,
        "q_lora_rank": 16,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8,
        "v_head_dim": 8,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "moe_intermediate_size": 16,
        "num_key_value_heads": 4,
    },
    "MixtralForCausalLM": {"num_local_experts": 4},
    "GptOssForCausalLM": {**_HEADS, "num_local_experts": 4, "sliding_window": 4, "rope_parameters": _ROPE},
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
# Two codes in one class, and windows in some layers only.
_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "FalconForCausalLM rotary": ("FalconForCausalLM", {"alibi": False}),
    "FalconForCausalLM alibi": ("FalconForCausalLM", {"alibi": True}),
    "Gemma2ForCausalLM alternating": ("Gemma2ForCausalLM", {**_HEADS, **_WINDOWED, "query_pre_attn_scalar": 8}),
}
_ATTENTIONS = (
    "LlamaForCausalLM",
    "Qwen2ForCausalLM",
    "Olmo2ForCausalLM",
    "Qwen3ForCausalLM",
    "Glm4ForCausalLM",
    "GemmaForCausalLM",
    "MistralForCausalLM",
    "Starcoder2ForCausalLM",
    "Cohere2ForCausalLM",
    "Gemma2ForCausalLM",
    "Gemma3ForCausalLM",
    "GPTNeoXForCausalLM",
    "PhiForCausalLM",
    "Phi3ForCausalLM",
    "GPTJForCausalLM",
    "CodeGenForCausalLM",
    "GPT2LMHeadModel",
    "GPTBigCodeForCausalLM",
    "OPTForCausalLM",
    "BloomForCausalLM",
    "MptForCausalLM",
    "GptOssForCausalLM",
    "SmolLM3ForCausalLM",
    "StableLmForCausalLM",
    "GraniteForCausalLM",
    "BertModel",
    "RobertaModel",
)
_LEAKS = "positions that begin anew do not divide documents: this class makes its mask without them"
_FULL = "the full pass ignores sliding_window, which the cache keeps to"
_STRIDES = "a view is taken of states that need not be contiguous, which raises an error"
_KNOWN: dict[str, Mapping[str, str]] = {
    "hf:OPTForCausalLM": {"PACK": _LEAKS},
    "hf:OPTForCausalLM attention": {"PACK": _LEAKS},
    "hf:BioGptForCausalLM": {"PACK": _LEAKS},
    "hf:XGLMForCausalLM": {"PACK": _LEAKS},
    "hf:GptOssForCausalLM": {"PACK": _LEAKS},
    "hf:GptOssForCausalLM attention": {"PACK": _LEAKS},
    "hf:FalconForCausalLM rotary": {"PACK": _LEAKS},
    "hf:FalconForCausalLM alibi": {"PACK": _LEAKS},
    "hf:MoshiForCausalLM": {"CACHE": _FULL, "CACHEPAD": _FULL, "SUPPORT": _FULL},
    "hf:GPT2LMHeadModel attention": {"LAYOUT": _STRIDES},
    "hf:DeepseekV2ForCausalLM": {"LAYOUT": _STRIDES},
    "hf:MixtralForCausalLM": {"LAYOUT": _STRIDES},
}


def hugging_face_entries() -> list[ZooEntry]:
    """Models first, then attention modules."""
    models = {**{name: (name, config) for name, config in _MODELS.items()}, **_VARIANTS}
    whole = [_entry(f"hf:{label}", name, config, "model") for label, (name, config) in models.items()]
    return whole + [_entry(f"hf:{name} attention", name, _MODELS[name], "attention") for name in _ATTENTIONS]


def _entry(label: str, class_name: str, config: dict[str, Any], part: str) -> ZooEntry:
    return ZooEntry(
        name=label,
        package="torch+transformers",
        build=hf(class_name, part=part, **config),
        expect=_KNOWN.get(label, {}),
    )
