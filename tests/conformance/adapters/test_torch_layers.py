"""torch modules and functions: a correct layer passes every law, a broken one does not."""

import numpy as np
import pytest

from conformance.adapters.judged import broken, outcomes

torch = pytest.importorskip("torch")

from conformance.adapters.causal_self_attention import CausalSelfAttention  # noqa: E402
from regard.conformance.adapters import adapt  # noqa: E402
from regard.conformance.adapters.drawing import redrawn  # noqa: E402
from regard.conformance.adapters.torch_layers import TorchLayer  # noqa: E402
from regard.conformance.subject import Spec  # noqa: E402

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
    after = redrawn(module).state_dict()
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
