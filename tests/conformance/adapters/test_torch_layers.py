"""torch modules, torch functions and what torch itself offers: a correct layer passes, a broken one does not."""

import numpy as np
import pytest

from conformance.adapters.judged import broken, outcomes
from regard.conformance.adapters import adapt, load
from regard.conformance.adapters.torch_layers import TorchLayer, redraw_weights
from regard.conformance.subject import Spec

torch = pytest.importorskip("torch")

from conformance.adapters.causal_self_attention import CausalSelfAttention  # noqa: E402

_BARE = {"align": "top-left", "empty": "zero", "positions": "none"}
_SPEC = Spec(causal=True, positions="rotary", num_kv_heads=2)


def test_a_correct_layer_passes_every_law():
    subject = adapt(CausalSelfAttention(), _SPEC)
    assert subject.has("mask", "positions", "cache", "weights", "gradient", "paths", "native", "float64")
    found = outcomes(subject)
    assert {name for name, outcome in found.items() if outcome not in ("holds", "skipped")} == set()
    held = {name for name, outcome in found.items() if outcome == "holds"}
    assert {"CACHE", "CACHEPAD", "SPEC", "SHIFT", "GAP", "GRAD", "PREC"} <= held


def test_a_cache_that_forgets_where_it_is_gets_caught():
    class Forgetful(CausalSelfAttention):
        def forward(self, x, mask=None, positions=None, cache=None, use_cache=False):
            positions = torch.arange(x.shape[1]).expand(x.shape[:2]) if positions is None else positions
            return super().forward(x, mask, positions, cache, use_cache)

    assert "CACHE" in broken(adapt(Forgetful(), _SPEC), "CACHE")


def test_tiled_heads_are_seen_through_the_weights():
    class Tiled(CausalSelfAttention):
        def attend(self, q, k, v, mask):
            groups, self.num_kv_heads = self.num_heads // self.num_kv_heads, self.num_heads
            y = super().attend(q, k.repeat(1, groups, 1, 1), v.repeat(1, groups, 1, 1), mask)
            self.num_kv_heads = self.num_heads // groups
            return y

    assert set(broken(adapt(Tiled(), _SPEC), "SPEC", "CAUSAL", "SHIFT", "PAD")) == {"SPEC"}


def test_the_module_is_copied_and_its_weights_are_drawn_afresh():
    module = CausalSelfAttention()
    before = module.q_proj.weight.clone()
    subject = adapt(module, _SPEC)
    assert torch.equal(module.q_proj.weight, before)
    assert not np.allclose(subject.projections().query, before.detach().numpy().T)
    kept = adapt(module, _SPEC, redraw=False)
    assert np.allclose(kept.projections().query, before.detach().numpy().T)


def test_norms_tables_buffers_and_frozen_parameters_keep_their_values():
    module = torch.nn.Module()
    module.norm, module.linear = torch.nn.LayerNorm(4), torch.nn.Linear(4, 4)
    module.inv_freqs = torch.nn.Parameter(torch.ones(2, 2))
    module.frozen = torch.nn.Parameter(torch.ones(2, 2), requires_grad=False)
    module.register_buffer("table", torch.ones(2, 2))
    before = {name: value.clone() for name, value in module.state_dict().items()}
    redraw_weights(module)
    after = module.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"linear.weight", "linear.bias"}


def test_torch_functions_are_told_from_numpy_functions():
    def raw(q, k, v, mask=None, is_causal=False):
        return (
            torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            if mask is not None
            else (torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal))
        )

    subject = adapt(raw, Spec(causal=False, positions="none"))
    assert subject.has("core", "gradient", "mask")
    assert broken(subject) == {}


def test_a_module_that_hides_float32_inside_is_no_float64_layer():
    class Narrow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(32, 32)

        def forward(self, x):
            return self.linear(x.float().softmax(-1).to(x.dtype))

    assert not adapt(Narrow()).has("float64")


def test_an_odd_layer_takes_a_few_lines():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = CausalSelfAttention()

        def forward(self, pair):
            tokens, padding = pair
            return {"states": self.inner(tokens.transpose(0, 1), mask=None if padding is None else ~padding.T)}

    class OddLayer(TorchLayer):
        def forward(self, x, mask=None):
            padding = None if mask is None else ~mask.T
            return self.module((x.transpose(0, 1), padding))["states"]

    subject = OddLayer(Odd(), Spec(causal=True, positions="rotary", num_kv_heads=2))
    assert subject.has("mask", "gradient", "float64")
    assert broken(subject) == {}


def test_half_precision_goes_in_and_comes_out():
    subject = adapt(CausalSelfAttention(), Spec(causal=True, positions="rotary", num_kv_heads=2, dtype="bfloat16"))
    y = subject.call(np.ones((1, 3, 32)))
    assert y.dtype.name == "bfloat16"
    assert broken(subject, "DTYPE", "PREC", "DET", "CAUSAL") == {}


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
def test_bare_attention_obeys_every_law(name: str, is_causal: bool):
    kv_heads = 2 if is_causal else 4
    subject = adapt(load(f"torch:{name}"), Spec(causal=is_causal, num_kv_heads=kv_heads, **_BARE))
    assert broken(subject) == {}
    assert outcomes(subject, "SPEC", "ALIGN", "EMPTY") == dict.fromkeys(("ALIGN", "EMPTY", "SPEC"), "holds")


def test_the_other_alignment_is_refuted():
    spec = Spec(causal=True, positions="none", align="bottom-right")
    assert "ALIGN" in broken(adapt(load("torch:scaled_dot_product_attention"), spec), "ALIGN")


def test_an_encoder_takes_its_padding_mask():
    subject = adapt(load("torch:TransformerEncoder"), Spec(causal=False, positions="none", depth=2))
    assert broken(subject, "PAD", "JUNK", "ONES", "BATCH", "PERM") == {}
