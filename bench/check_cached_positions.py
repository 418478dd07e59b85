"""`regard check` on Hugging Face models whose caches have to remember positions: M-RoPE, LongRoPE and dynamic NTK.

Each is a tiny model with random weights. The wrapper of M-RoPE keeps the next position beside the cache, since these
models place tokens after a prompt of embeddings only as they are told.
"""

from collections.abc import Mapping
from typing import Any

import torch
import transformers

from regard import CachedDecoder, check
from regard.conformance.adapters.huggingface import build_model, quiet_transformers
from regard.conformance.adapters.torch_layers import redraw_weights

_SWITCH = 16
_PAIRS = 4
_LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10_000.0,
    "short_factor": [1.0] * _PAIRS,
    "long_factor": [2.0, 3.0, 4.0, 5.0],
    "original_max_position_embeddings": _SWITCH,
}
# Phi-3 has the trained length in its configuration too, which prevails.
_LENGTHS = {"max_position_embeddings": 64, "original_max_position_embeddings": _SWITCH}
_DYNAMIC = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 2.0}
# What fails, and why that is so.
KNOWN: Mapping[str, Mapping[str, str]] = {
    "LongRoPE across the switch (Phi-3)": {
        "SWITCH": "a forward pass keeps cached keys; only generate() drops the cache at the switch and starts again"
    },
    "dynamic NTK (Llama)": {
        "SWITCH": "the frequencies of the longest sequence so far stay until one fits the trained length again"
    },
}


class _Model:
    """A causal language model from embeddings, with its cache."""

    def __init__(self, class_name: str, **config: Any) -> None:
        self.model = build_model(class_name, **config).eval()
        redraw_weights(self.model)

    def __call__(self, x: torch.Tensor, cache: Any = None) -> tuple[torch.Tensor, Any]:
        cache = transformers.DynamicCache(config=self.model.config) if cache is None else cache
        with quiet_transformers():
            return self.model(inputs_embeds=x, past_key_values=cache, use_cache=True).logits, cache


class _TextOfVision:
    """The text model of Qwen2-VL, whose positions have three axes."""

    def __init__(self) -> None:
        rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 1, 1]}
        config = transformers.Qwen2VLTextConfig(
            vocab_size=99,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=64,
            rope_parameters=rope,
        )
        self.model = transformers.Qwen2VLTextModel._from_config(config).eval()
        redraw_weights(self.model)

    def __call__(self, x: torch.Tensor, positions: Any = None, cache: Any = None) -> tuple[torch.Tensor, Any]:
        held, following = (transformers.DynamicCache(), 0) if cache is None else cache
        if positions is None:
            count = torch.arange(x.shape[1]).expand(x.shape[0], -1) + torch.as_tensor(following).reshape(-1, 1)
            positions = count.expand(3, -1, -1)
        with quiet_transformers():
            y = self.model(inputs_embeds=x, position_ids=positions, past_key_values=held, use_cache=True)
        return y.last_hidden_state, (held, positions.amax(dim=(0, 2)) + 1)


def decoders() -> dict[str, CachedDecoder]:
    """By name."""
    switch = {"switch_length": _SWITCH, "is_in_place": True}
    phi = _Model("Phi3ForCausalLM", rope_parameters=_LONGROPE, **_LENGTHS)
    llama = _Model("LlamaForCausalLM", rope_parameters=_DYNAMIC, max_position_embeddings=_SWITCH)
    return {
        "M-RoPE (Qwen2-VL text)": CachedDecoder(function=_TextOfVision(), axes=3, is_in_place=True),
        "LongRoPE (Phi-3)": CachedDecoder(function=phi, **switch),
        "LongRoPE across the switch (Phi-3)": CachedDecoder(function=phi, crossing="recompute", **switch),
        "dynamic NTK (Llama)": CachedDecoder(function=llama, is_gradual=True, **switch),
    }


def main() -> None:
    """Prints the counts and every failure, expected or not."""
    for name, decoder in decoders().items():
        report = check(decoder, expect=KNOWN.get(name), name=name)
        print(f"- {name}: {report.counts}")
        for verdict in report.verdicts:
            if verdict.outcome not in ("holds", "skipped"):
                print(f"  - {verdict.law} {verdict.outcome}: {verdict.counterexample} ({verdict.reason})")


if __name__ == "__main__":
    main()
