"""The conventions of what torch offers."""

import numpy as np
import pytest

from conformance.adapters.judged import broken, outcomes

torch = pytest.importorskip("torch")

from regard.conformance.adapters import adapt, load  # noqa: E402
from regard.conformance.subject import Spec  # noqa: E402

_RAW = {"align": "top-left", "empty": "zero", "positions": "none"}


@pytest.mark.parametrize("is_causal", [False, True])
def test_multihead_attention_obeys_every_law_but_that_of_empty_rows(is_causal: bool):
    subject = adapt(load("torch:MultiheadAttention"), Spec(causal=is_causal, positions="none"))
    assert subject.has("mask", "weights", "returned", "paths", "gradient", "float64")
    assert set(broken(subject)) == {"EMPTY"}
    assert outcomes(subject, "SPEC", "ROWSUM", "PATH") == dict.fromkeys(("PATH", "ROWSUM", "SPEC"), "holds")


def test_multihead_attention_reads_true_as_padding():
    module = torch.nn.MultiheadAttention(32, 4, batch_first=True)
    subject = adapt(module, redraw=False)
    assert (subject.spec.width, subject.spec.num_heads, subject.spec.causal) == (32, 4, False)
    x = np.random.default_rng(0).standard_normal((1, 4, 32)).astype(np.float32)
    mask = np.array([[True, True, True, False]])
    with torch.no_grad():
        tensor = torch.tensor(x)
        theirs, _ = module.eval()(tensor, tensor, tensor, key_padding_mask=torch.tensor(~mask))
    np.testing.assert_allclose(subject.call(x, mask=mask), theirs.numpy(), atol=1e-6)


def test_positions_first_is_the_same_layer():
    last = torch.nn.MultiheadAttention(32, 4, batch_first=False)
    first = torch.nn.MultiheadAttention(32, 4, batch_first=True)
    first.load_state_dict(last.state_dict())
    x = np.random.default_rng(0).standard_normal((2, 5, 32)).astype(np.float32)
    np.testing.assert_allclose(adapt(last, redraw=False).call(x), adapt(first, redraw=False).call(x), atol=1e-6)


def test_a_zero_key_of_its_own_keeps_the_weights_from_the_oracle():
    assert not adapt(load("torch:MultiheadAttention", {"add_zero_attn": "true"})).has("weights")


@pytest.mark.parametrize("name", ["scaled_dot_product_attention", "flex_attention"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_raw_attention_obeys_every_law(name: str, is_causal: bool):
    kv_heads = 2 if is_causal else 4
    subject = adapt(load(f"torch:{name}"), Spec(causal=is_causal, num_kv_heads=kv_heads, **_RAW))
    assert broken(subject) == {}
    assert outcomes(subject, "SPEC", "ALIGN", "EMPTY") == dict.fromkeys(("ALIGN", "EMPTY", "SPEC"), "holds")


def test_the_other_alignment_is_refuted():
    spec = Spec(causal=True, positions="none", align="bottom-right")
    assert "ALIGN" in broken(adapt(load("torch:scaled_dot_product_attention"), spec), "ALIGN")


def test_an_encoder_takes_its_padding_mask():
    subject = adapt(load("torch:TransformerEncoder"), Spec(causal=False, positions="none", depth=2))
    assert broken(subject, "PAD", "JUNK", "ONES", "BATCH", "PERM") == {}
