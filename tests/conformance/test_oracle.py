"""The oracle against small cases by hand, against other code, and the laws that rest on it."""

import numpy as np
import pytest

from conformance.broken_attention import ROTARY, Sunk, broken
from regard.conformance.judging import judge
from regard.conformance.laws.grad import LAW as GRAD
from regard.conformance.laws.path import LAW as PATH
from regard.conformance.laws.prec import LAW as PREC
from regard.conformance.laws.rowsum import LAW as ROWSUM
from regard.conformance.laws.spec import LAW as SPEC
from regard.conformance.oracle import AttentionInputs, Oracle, undeclared
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Projections, Spec

LAYERS = (
    {"causal": True, "positions": "rotary"},
    {"causal": False, "positions": "none"},
    {"causal": True, "positions": "rotary", "rotary_layout": "interleaved", "rotary_width": 4, "num_kv_heads": 2},
    {"causal": True, "positions": "alibi", "num_kv_heads": 1},
    {"causal": True, "positions": "rotary", "window": 4, "rotary_base": 500.0},
    {"causal": False, "positions": "alibi", "window": 3, "num_heads": 6, "width": 48},
    {"causal": True, "positions": "none", "softcap": 3.0, "scale": 0.5},
    {"causal": True, "positions": "none", "num_heads": 1, "width": 16},
    {"causal": True, "positions": "rotary", "frequencies": (1.0, 0.1, 0.0025, 0.00025)},
    {"support": "j <= i or j < 4", "positions": "none"},
)
DTYPES = ("float32", "float64", "bfloat16", "float16")
SEEDS = range(8)


def oracle_of(layer: ReferenceLayer) -> Oracle:
    return Oracle(spec=layer.spec, parts=layer.projections())


def test_two_tokens_by_hand():
    """Identity projections, one head, unit scale: the second token gives the first σ(x₁·x₀ − x₁·x₁) of its weight."""
    one = np.eye(2)
    spec = Spec(width=2, num_heads=1, causal=True, positions="none", scale=1.0)
    x = np.array([[[1.0, 0.0], [1.0, 2.0]]])
    y = Oracle(spec=spec, parts=Projections(query=one, key=one, value=one, output=one))(x)
    share = 1 / (1 + np.exp(4.0))
    assert y[0] == pytest.approx(np.array([[1.0, 0.0], [1.0, 2 * (1 - share)]]))


def test_a_sink_takes_its_share():
    one = np.eye(2)
    spec = Spec(width=2, num_heads=1, causal=True, positions="none", sink=True)
    parts = Projections(query=0 * one, key=one, value=one, output=one, extra={"sinks": np.array([np.log(3.0)])})
    assert Oracle(spec=spec, parts=parts)(np.ones((1, 1, 2)))[0, 0] == pytest.approx([0.25, 0.25])


def test_biases_and_gains():
    one = np.eye(2)
    spec = Spec(width=2, num_heads=1, causal=True, positions="none")
    parts = Projections(
        query=one,
        key=one,
        value=one,
        output=one,
        value_bias=np.array([1.0, 0.0]),
        output_bias=np.array([0.0, 5.0]),
        extra={"query_norm": np.array([2.0, 2.0])},
    )
    oracle = Oracle(spec=spec, parts=parts)
    assert oracle(np.array([[[3.0, 4.0]]]))[0, 0] == pytest.approx([4.0, 9.0])
    normed = oracle.heads(np.array([[[3.0, 4.0]]]), "query")
    assert normed[0, 0, 0] == pytest.approx(2 * np.array([3.0, 4.0]) / np.sqrt(12.5))


def test_a_gain_over_all_heads_comes_before_the_split():
    spec = Spec(width=4, num_heads=2, causal=True, positions="none")
    one = np.eye(4)
    parts = Projections(query=one, key=one, value=one, output=one, extra={"query_norm": np.ones(4)})
    heads = Oracle(spec=spec, parts=parts).heads(np.array([[[2.0, 0.0, 0.0, 0.0]]]), "query")
    assert heads[0, :, 0].ravel() == pytest.approx([2.0, 0.0, 0.0, 0.0])


def test_tokens_that_see_nothing_are_nan():
    layer = ReferenceLayer(Spec(causal=True, positions="none"))
    mask = np.array([[False, True, True]])
    y = oracle_of(layer)(np.ones((1, 3, 32)), mask)
    assert np.isnan(y[0, 0]).all()
    assert np.isfinite(y[0, 1:]).all()


@pytest.mark.parametrize("spec", [s for s in LAYERS if "softcap" not in s and s["positions"] != "rotary"])
def test_the_oracle_is_torch_attention(spec):
    """Turns and softcaps, which torch's attention lacks, are tested with the reference."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    layer = ReferenceLayer(Spec(**spec, dtype="float64"))
    oracle, x = oracle_of(layer), np.random.default_rng(0).standard_normal((2, 9, layer.spec.width))
    inputs = AttentionInputs.of(x)
    q, k, v = (torch.tensor(oracle.heads(x, part)) for part in ("query", "key", "value"))
    seen = torch.tensor(oracle.visible(oracle, inputs))[:, None]
    bias = torch.zeros(1, 1, 9, 9, dtype=torch.float64).masked_fill(~seen, -torch.inf)
    added = oracle.bias(oracle, inputs)
    bias = bias if added is None else bias + torch.tensor(added)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=bias, scale=layer.scale(), enable_gqa=True
    )
    y = mixed.transpose(1, 2).reshape(2, 9, -1).numpy() @ layer.matrices["output"]
    assert oracle(x) == pytest.approx(y, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"positions": "none"}, "causal"),
        ({"causal": True}, "positions"),
        ({"causal": True, "positions": "learned"}, "table"),
        ({"causal": True, "positions": "none", "depth": 2}, "one attention layer"),
        ({"causal": True, "positions": "none", "sink": True}, "sink"),
    ],
)
def test_what_is_not_declared_is_said(spec, why):
    assert why in (undeclared(Spec(**spec), None) or "")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spec", LAYERS)
def test_reference_layers_are_as_declared(spec, dtype):
    """No false alarm in eight seeds of each layer and dtype; they spread over the seeds, as all law tests do."""
    for seed in SEEDS:
        layer = ReferenceLayer(Spec(**spec, dtype=dtype), seed=seed)
        for law in (SPEC, ROWSUM) if seed > 0 else (SPEC, ROWSUM, PREC):
            verdict = judge(law, layer, seed=seed)
            assert verdict.outcome == "holds", (law.id, seed, verdict.reason, verdict.error, verdict.tolerance)


def test_a_layer_without_weights_is_tried_by_its_core():
    layer = ReferenceLayer(Spec(causal=True, positions="rotary", num_kv_heads=2))
    layer.capabilities = frozenset({"core"})
    assert judge(SPEC, layer).outcome == "holds"
    layer.capabilities = frozenset()
    assert judge(SPEC, layer).outcome == "skipped"


def test_a_sink_that_is_declared_holds():
    layer = Sunk(Spec(causal=True, positions="rotary", sink=True))
    assert judge(SPEC, layer).outcome == "holds"
    assert judge(ROWSUM, layer).outcome == "holds"


def test_sums_in_half_precision_are_refuted():
    def softmax(self, z, visible):
        powers = np.exp(np.where(visible, z, -1e30) - z.max(axis=-1, keepdims=True)).astype(self.dtype)
        total = np.zeros(powers.shape[:-1], dtype=self.dtype)
        for key in range(powers.shape[-1]):
            total = (total + powers[..., key]).astype(self.dtype)
        return (powers / total[..., None]).astype(self.dtype)

    coarse = broken({"causal": True, "positions": "none", "dtype": "bfloat16"}, softmax=softmax)()
    assert judge(PREC, coarse).outcome == "refuted"


def test_weights_with_dropout_are_refuted():
    class Dropped(ReferenceLayer):
        def call_with_weights(self, x, **options):
            y, weights = super().call_with_weights(x, **options)
            return y, weights * (np.random.default_rng(3).random(weights.shape) > 0.2) / 0.8

    assert judge(ROWSUM, Dropped(Spec(**ROTARY))).outcome == "refuted"


class WithGradient(ReferenceLayer):
    """Differentiates itself by steps far smaller than the law's."""

    capabilities = ReferenceLayer.capabilities | {"gradient"}

    def gradient(self, x, direction, **options):
        found = np.zeros_like(x, dtype=np.float64)
        for index in np.ndindex(x.shape):
            bumped = x.astype(np.float64)
            bumped[index] += 1e-6
            lower = x.astype(np.float64)
            lower[index] -= 1e-6
            found[index] = np.sum(direction * (self.call(bumped, **options) - self.call(lower, **options))) / 2e-6
        return found


def test_a_right_gradient_holds():
    spec = Spec(width=8, num_heads=2, causal=True, positions="rotary", num_kv_heads=1)
    assert judge(GRAD, WithGradient(spec)).outcome == "holds"


def test_a_gradient_through_the_mask_is_refuted():
    class Leaking(WithGradient):
        def gradient(self, x, direction, **options):
            found = super().gradient(x, direction, **options)
            return found + 1e-7 * (direction == 0).any()

    verdict = judge(GRAD, Leaking(Spec(width=8, num_heads=2, causal=True, positions="none")))
    assert verdict.outcome == "refuted"
    assert "later" in (verdict.reason or "") or "masked" in (verdict.reason or "")


class TwoPaths(ReferenceLayer):
    """The other path adds its keys in the opposite order, which is lawful, or forgets causality, which is not."""

    capabilities = ReferenceLayer.capabilities | {"paths"}
    other = staticmethod(lambda layer: layer)

    def paths(self):
        return {"other": lambda x, **options: type(self).other(self).call(x, **options)}


def test_paths():
    assert judge(PATH, TwoPaths(Spec(**ROTARY))).outcome == "holds"

    class Forked(TwoPaths):
        other = staticmethod(lambda layer: ReferenceLayer(Spec(causal=False, positions="rotary"), seed=layer.seed))

    verdict = judge(PATH, Forked(Spec(**ROTARY)))
    assert verdict.outcome == "refuted"
    assert "other" in (verdict.counterexample or "")
