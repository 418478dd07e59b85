"""The spec that a Hugging Face configuration implies; only what is certain."""

from dataclasses import replace
from typing import Any

from regard.conformance.subject import Spec

# A configuration that builds in a tenth of a second; names that a class does not know are left out of it.
TINY: dict[str, Any] = {
    "vocab_size": 99,
    "vocab_size_per_layer_input": 99,
    "encoder_hash_byte_group_vocab": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "embedding_size": 32,
    "rotary_dim": 4,
    "attention_types": [[["global", "local"], 1]],
    "num_kv_shared_layers": 0,
    "mamba_d_ssm": 64,
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
    "mamba_d_state": 16,
    "mamba_n_groups": 1,
    "mamba_expand": 2,
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "attn_layer_indices": [1],
    "full_attn_idxs": [1],
}
# Parts that are large unless a configuration says otherwise: experts, states, latents, and heads with a width of their
# own. A class that does not build with these values has its defaults.
SMALL: dict[str, Any] = {
    "head_dim": 8,
    "d_head": 8,
    "global_head_dim": 8,
    # Embeddings for each layer are made from token ids.
    "hidden_size_per_layer_input": 0,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "n_groups": 2,
    "topk_group": 1,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "moe_shared_expert_intermediate_size": 32,
    "intermediate_size_mlp": 64,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_head_dim": 8,
    "linear_num_heads": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "ssm_state_size": 16,
    "mamba_num_heads": 4,
    "mamba_head_dim": 16,
    "mamba_chunk_size": 16,
    "chunk_size": 16,
}
# What else to try until a class builds and runs: some want as many key-value heads as heads, or both kinds of layer.
VARIANTS: tuple[dict[str, Any], ...] = (
    {"num_key_value_heads": 2},
    {"num_key_value_heads": 4},
    {"num_key_value_heads": 4, "head_dim": 8},
    {"num_heads": 4, "head_dim": 16, "n_groups": 1},
    {
        "num_key_value_heads": 4,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 1,
        "topk_group": 1,
        "n_shared_experts": 1,
        "moe_intermediate_size": 32,
    },
    {"num_key_value_heads": 2, "layer_types": ["linear_attention", "full_attention"]},
    {"num_key_value_heads": 4, "layer_types": ["linear_attention", "full_attention"]},
    {"num_key_value_heads": 2, "layer_types": ["conv", "full_attention"]},
    {"num_key_value_heads": 2, "num_hidden_layers": 4},
    {
        "num_key_value_heads": 4,
        "num_hidden_layers": 3,
        "layer_types": ["linear_attention", "linear_attention", "hybrid"],
    },
    {"num_key_value_heads": 2, "input_embedding_size": 32, "default_language": "en_XX"},
)
# Parts of the names of modules and kinds of layers that carry a state from token to token.
_RECURRENT = """
    mamba deltanet recurrent linear_attention linearattention rwkv shortconv lightning lstm
""".split()
_POSITIONS = {
    **dict.fromkeys(("gpt2", "gpt_bigcode", "opt", "bart", "bert", "roberta", "xlm-roberta", "electra"), "learned"),
    **dict.fromkeys(("data2vec-text", "xlm-roberta-xl", "xmod", "roberta-prelayernorm"), "learned"),
    **dict.fromkeys(("gpt_neo", "biogpt", "albert", "camembert", "distilbert", "ernie"), "learned"),
    **dict.fromkeys(("bloom", "mpt"), "alibi"),
    **dict.fromkeys(("t5", "umt5", "mt5", "xlnet"), "relative"),
    **dict.fromkeys(("gptj", "codegen", "roformer"), "rotary"),
    "xglm": "sinusoidal",
}
# How the classes whose matrices we read pair the coordinates that they rotate.
_HALF_SPLIT = """
    llama qwen2 qwen3 olmo olmo2 gemma gemma2 gemma3_text mistral mixtral starcoder2 gpt_neox phi phi3
    stablelm smollm3 granite gpt_oss
""".split()
_INTERLEAVED = ("gptj", "cohere", "cohere2", "glm", "glm4")
# RoBERTa and its kin keep the first positions of their table for padding.
_SHIFTED = "roberta xlm-roberta camembert data2vec-text xlm-roberta-xl xmod roberta-prelayernorm".split()
# The parameter by which logits grow with the position.
_BY_POSITION = "llama_4_scaling_beta"
_ALWAYS_SLIDING = ("mistral", "starcoder2", "mixtral", "phi3", "moshi")
_ENCODERS = """
    bert roberta xlm-roberta electra modernbert deberta-v2 deberta roformer t5 umt5 mt5 fnet albert camembert
    distilbert ernie nomic_bert eurobert gte data2vec-text xlm-roberta-xl xmod roberta-prelayernorm
""".split()


def is_recurrent(model: Any) -> bool:
    """True if some layer carries a state: then equal tokens give different outputs, and no position code is all."""
    config = model.config.get_text_config(decoder=True)
    kinds = [str(kind) for kind in _value(config, "layer_types") or ()]
    names = kinds + [type(module).__name__ for module in model.modules()]
    # Short convolutions are the sign of a state-space layer whose name does not say so.
    return "Conv1d" in names or any(part in name.lower() for name in names for part in _RECURRENT)


def has_kinds_of_layers(model: Any) -> bool:
    """True if the configuration names the kind of each layer, and not all of them carry a state alone."""
    kinds = _value(model.config.get_text_config(decoder=True), "layer_types")
    return kinds is None or bool(set(kinds) - {"linear_attention", "conv"})


def _value(config: Any, name: str) -> Any:
    """A value of the config, None where it has none or one per layer."""
    try:
        return getattr(config, name, None)
    except Exception:  # noqa: BLE001 - configs with a value per layer raise errors of their own
        return None


def model_spec(model: Any) -> Spec:
    """The spec of a whole model on embeddings."""
    config = model.config.get_text_config(decoder=True)
    heads = _value(config, "num_attention_heads") or 1
    kv_heads = _value(config, "num_key_value_heads")
    is_shared = getattr(config, "multi_query", False) and not getattr(config, "new_decoder_architecture", False)
    is_shared = is_shared and config.model_type in ("falcon", "gpt_bigcode")
    return Spec(
        width=config.hidden_size,
        num_heads=heads,
        num_kv_heads=1 if is_shared else kv_heads if kv_heads and heads % kv_heads == 0 else None,
        head_width=_value(config, "head_dim") or 0,
        depth=config.num_hidden_layers,
        causal=_is_causal(model, config),
        window=_window(config),
        positions=None if is_recurrent(model) or _is_switching(config) else _positions(config),
        max_positions=_num_positions(config),
        sink=any(name.endswith("sinks") for name, _ in model.named_parameters()),
        **_rotary(config),
    )


def attention_spec(model: Any, module: Any) -> Spec:
    """The spec of the model's first attention module by itself; positions added to embeddings are not its own."""
    whole = model_spec(model)
    config = model.config.get_text_config(decoder=True)
    positions = whole.positions if whole.positions in ("rotary", "alibi", "relative") else "none"
    # No base describes scaled frequencies, but it stays true that only distances count.
    positions = "relative" if positions == "rotary" and not _is_plain(config) else positions
    usual = whole.head_width**-0.5
    scale = getattr(module, "scaling", None)
    softcap = getattr(config, "attn_logit_softcapping", None)
    return replace(
        whole,
        depth=1,
        positions=positions,
        scale=float(scale) if isinstance(scale, float | int) and abs(scale - usual) > 1e-9 else None,
        softcap=float(softcap) if softcap else None,
        window=_first_window(config),
    )


def is_rotary_known(model: Any) -> bool:
    """True unless the model is rotary and its pairs are not known for certain, or scaling changes its frequencies."""
    config = model.config.get_text_config(decoder=True)
    if _positions(config) != "rotary":
        return True
    return _is_plain(config) and config.model_type in (*_HALF_SPLIT, *_INTERLEAVED)


def _is_plain(config: Any) -> bool:
    """True if no scaling changes the rotary frequencies."""
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [rope] if "rope_type" in rope else list(rope.values())
    return all(not isinstance(kind, dict) or kind.get("rope_type", "default") == "default" for kind in kinds)


def counts_from_each_call(model: Any) -> bool:
    """True if positions that are not given start anew with each chunk of embeddings, whatever the cache holds."""
    return model.config.get_text_config(decoder=True).model_type in (*_SHIFTED, "bamba")


def _is_switching(config: Any) -> bool:
    """True if shifted positions are other positions: frequencies that depend on the length, or layers without a code.

    Some scale their logits by the position, and layers without rotary positions may do so.
    """
    rope = _value(config, "rope_parameters") or {}
    kinds = [rope] if "rope_type" in rope else list(rope.values())
    named = [kind for kind in kinds if isinstance(kind, dict)]
    is_scaled = any(kind.get("rope_type") in ("dynamic", "longrope") or _BY_POSITION in kind for kind in named)
    return is_scaled or any(kind is None for kind in kinds)


def is_routed(model: Any) -> bool:
    """True if tokens are routed to experts."""
    config = model.config.get_text_config(decoder=True)
    return any(getattr(config, name, None) for name in ("num_local_experts", "n_routed_experts", "num_experts"))


def _is_causal(model: Any, config: Any) -> bool | None:
    name = type(model).__name__
    if config.model_type in ("xlm", "flaubert"):
        return bool(config.causal)
    if config.model_type in ("prophetnet", "xlnet"):
        # One predicts several tokens ahead, and the other in an order that its caller gives: no causal mask.
        return None
    if config.model_type in _ENCODERS:
        return bool(getattr(config, "is_decoder", False)) and "Encoder" not in name
    return True if name.endswith(("ForCausalLM", "LMHeadModel")) else None


def _positions(config: Any) -> Any:
    if config.model_type == "falcon":
        return "alibi" if config.alibi else "rotary"
    if config.model_type in _POSITIONS:
        return _POSITIONS[config.model_type]
    return "rotary" if getattr(config, "rope_parameters", None) else None


def _num_positions(config: Any) -> int | None:
    """The length of a table of positions, or of sines and cosines, beyond which a position is an error; or of a chunk.

    Tokens of one chunk see each other as in any causal layer, so that nothing is declared about longer inputs.
    """
    has_rotary_table = config.model_type in ("gptj", "codegen", "roformer")
    if _positions(config) not in ("learned", "sinusoidal") and not has_rotary_table:
        return getattr(config, "attention_chunk_size", None)
    is_shifted = config.model_type in _SHIFTED
    return config.max_position_embeddings - (config.pad_token_id + 1 if is_shifted else 0)


def _rotary(config: Any) -> dict[str, Any]:
    """Base, width and layout; of models with one base per kind of layer, that of the first layer."""
    width = _value(config, "head_dim") or config.hidden_size // max(_value(config, "num_attention_heads") or 1, 1)
    layout = "interleaved" if config.model_type in _INTERLEAVED else "half-split"
    rope = getattr(config, "rope_parameters", None) or {}
    if rope and "rope_theta" not in rope:
        kinds = getattr(config, "layer_types", None) or list(rope)
        rope = rope.get(kinds[0]) or {}
    part = rope.get("partial_rotary_factor") or getattr(config, "partial_rotary_factor", None) or 1.0
    turned = getattr(config, "rotary_dim", None) or int(width * part)
    return {
        "rotary_base": float(rope.get("rope_theta") or 10_000.0),
        "rotary_width": turned if turned < width else None,
        "rotary_layout": layout,
    }


def _window(config: Any) -> int | None:
    """The window, if every layer has it."""
    kinds, window = getattr(config, "layer_types", None), getattr(config, "sliding_window", None)
    if not window:
        return None
    if kinds:
        return window if set(kinds) == {"sliding_attention"} and config.model_type not in _ENCODERS else None
    return window if config.model_type in _ALWAYS_SLIDING else None


def _first_window(config: Any) -> int | None:
    kinds, window = getattr(config, "layer_types", None), getattr(config, "sliding_window", None)
    if kinds and window and kinds[0] == "sliding_attention" and config.model_type not in _ENCODERS:
        return window
    return _window(config)
