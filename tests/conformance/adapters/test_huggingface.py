"""Hugging Face models and their attention: specs from configurations, laws on three families."""

import numpy as np
import pytest

from conformance.adapters.judged import broken, outcomes
from regard.conformance.adapters import adapt, hf
from regard.conformance.adapters.huggingface import build_model
from regard.core.errors import InputError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.mark.parametrize(
    ("name", "config", "declared"),
    [
        ("LlamaForCausalLM", {}, {"causal": True, "positions": "rotary", "num_kv_heads": 2, "window": None}),
        ("MistralForCausalLM", {"sliding_window": 4}, {"causal": True, "positions": "rotary", "window": 4}),
        ("PhiForCausalLM", {"partial_rotary_factor": 0.5}, {"rotary_width": 4, "positions": "rotary"}),
        ("GPT2LMHeadModel", {}, {"causal": True, "positions": "learned", "max_positions": 128}),
        ("BloomForCausalLM", {}, {"causal": True, "positions": "alibi"}),
        ("BertModel", {}, {"causal": False, "positions": "learned"}),
        ("Gemma2ForCausalLM", {"head_dim": 8, "sliding_window": 4}, {"window": None, "depth": 2}),
    ],
)
def test_the_configuration_says_what_the_spec_is(name: str, config: dict, declared: dict):
    spec = hf(name, **config)().spec
    assert {key: getattr(spec, key) for key in declared} == declared


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "GPT2LMHeadModel", "BloomForCausalLM"])
def test_whole_models_obey_the_laws(name: str):
    assert broken(hf(name)()) == {}


@pytest.mark.parametrize(("name", "config"), [("LlamaForCausalLM", {}), ("MistralForCausalLM", {"sliding_window": 4})])
def test_their_attention_alone_is_that_of_the_oracle(name: str, config: dict):
    subject = hf(name, part="attention", **config)()
    assert subject.has("weights", "core", "cache", "mask", "positions")
    assert broken(subject) == {}
    assert outcomes(subject, "SPEC") == {"SPEC": "holds"}


def test_a_wrong_spec_is_refuted():
    from dataclasses import replace

    subject = hf("LlamaForCausalLM", part="attention")()
    wrong = adapt(subject, replace(subject.spec, rotary_base=500.0))
    assert "SPEC" in broken(wrong, "SPEC")


def test_roberta_counts_from_two():
    subject = hf("RobertaModel")()
    x = np.random.default_rng(0).standard_normal((1, 6, 32)).astype(np.float32)
    np.testing.assert_allclose(subject.call(x, positions=np.arange(6)[None]), subject.call(x), atol=1e-5)


def test_steps_leave_the_cache_as_it_was():
    subject = hf("LlamaForCausalLM")()
    x = np.random.default_rng(0).standard_normal((1, 4, 32)).astype(np.float32)
    _, cache = subject.step(x[:, :3], subject.empty_cache(1))
    first, second = (subject.step(x[:, 3:], cache)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, subject.call(x)[:, 3:], atol=1e-4)


def test_a_model_by_hand_is_adapted_too():
    subject = adapt(build_model("LlamaForCausalLM"))
    assert subject.has("cache", "mask", "positions")
    assert set(subject.paths()) == {"with gradients", "eager"}


def test_a_model_has_the_same_weights_every_time():
    first, second = (build_model("GptOssForCausalLM", num_local_experts=2).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("name", ["DeepseekV3ForCausalLM", "GPTJForCausalLM", "GPTNeoForCausalLM", "BartForCausalLM"])
def test_classes_that_want_another_tiny_config_get_one(name):
    subject = adapt(hf(name))
    assert subject.has("cache", "mask")
    assert outcomes(subject, "CAUSAL", "CACHE") == dict.fromkeys(("CACHE", "CAUSAL"), "holds")


@pytest.mark.parametrize("name", ["FalconH1ForCausalLM", "xLSTMForCausalLM"])
def test_a_layer_that_carries_a_state_is_not_refuted_for_it(name):
    subject = adapt(hf(name))
    assert subject.spec.positions is None
    found = outcomes(subject, "CONST", "GAP", "SUPPORT", "CAUSAL")
    assert found == {"CAUSAL": "holds", "CONST": "skipped", "GAP": "skipped", "SUPPORT": "skipped"}


def test_an_encoder_for_text_generation_decodes():
    subject = adapt(hf("CamembertForCausalLM"))
    assert outcomes(subject, "CAUSAL", "CACHE") == dict.fromkeys(("CACHE", "CAUSAL"), "holds")


def test_a_class_that_needs_token_ids_is_one_line():
    with pytest.raises(InputError, match="neither builds nor runs on embeddings"):
        adapt(hf("CpmAntForCausalLM"))


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("GraniteMoeSharedForCausalLM", "holds"), ("GraniteMoeForCausalLM", "holds"), ("GptOssForCausalLM", "refuted")],
)
def test_documents_are_packed_without_a_cache(name, outcome):
    # GPT-OSS makes its masks without positions: docs/zoo.md has it without Regard.
    assert outcomes(adapt(hf(name)), "PACK") == {"PACK": outcome}
