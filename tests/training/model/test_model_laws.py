"""The decoder obeys the laws that `regard check` tries, in every position code."""

import copy

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import regard
from regard.conformance.adapters.torch_layers import TorchLayer
from regard.conformance.subject import Projections, Spec
from regard.training.model import Decoder, KVCache, ModelConfig

WIDTH, HEADS, KV_HEADS = 64, 4, 2


class WholeDecoder(TorchLayer):
    """The decoder on embeddings, with padding, positions and a cache."""

    def own_capabilities(self):
        return {"mask", "positions", "cache"}

    def forward(self, x, mask=None, positions=None):
        batch, length, _ = x.shape
        places = torch.arange(length).expand(batch, -1) if positions is None else positions
        visible = torch.ones(batch, length, length, dtype=torch.bool).tril_()
        return self.module.run(x, places, visible if mask is None else visible & mask[:, None, :])

    def empty_cache(self, batch):
        return None

    def step(self, x, cache, mask=None, positions=None):
        x, batch, length = self.native(x), x.shape[0], x.shape[1]
        # A copy, because our cache is written into in place, and laws begin several branches from one.
        held = copy.deepcopy(cache) or KVCache(self.module.config, batch=batch, room=64, dtype=x.dtype)
        start = held.positions.shape[1]
        places = torch.arange(start, start + length).expand(batch, -1) if positions is None else self.native(positions)
        real = torch.ones(batch, length, dtype=torch.bool) if mask is None else self.native(mask)[:, -length:]
        held.append_positions(places, real)
        visible = torch.arange(start + length)[None, :] <= torch.arange(start, start + length)[:, None]
        with torch.no_grad():
            y = self.module.run(x, places, visible & held.is_real[:, None, :], cache=held)
        return self.numpy(y), held


class OneAttention(TorchLayer):
    """The attention alone, whose matrices an oracle can use."""

    def own_capabilities(self):
        return {"mask", "positions", "weights"}

    def forward(self, x, mask=None, positions=None):
        batch, length, _ = x.shape
        places = torch.arange(length).expand(batch, -1) if positions is None else positions
        visible = torch.ones(batch, length, length, dtype=torch.bool).tril_()
        visible = visible if mask is None else visible & mask[:, None, :]
        context = self.module.attention_context(places, places, visible, x.dtype)
        return self.module.blocks[0].attention(x, context)

    def projections(self):
        layer = self.module.blocks[0].attention
        width = KV_HEADS * WIDTH // HEADS
        query, key, value = (m.detach().double().numpy().T for m in layer.project.weight.split([WIDTH, width, width]))
        return Projections(query=query, key=key, value=value, output=layer.output.weight.detach().double().numpy().T)


def built(positions: str, **more) -> Decoder:
    torch.manual_seed(0)
    config = ModelConfig(
        vocab_size=8,
        max_length=256,
        width=WIDTH,
        num_layers=1,
        num_heads=HEADS,
        num_kv_heads=KV_HEADS,
        hidden=48,
        positions=positions,
        **more,
    )
    model = Decoder(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "output" in name:
                parameter.copy_(0.3 * torch.randn_like(parameter))
    return model


def spec(positions: str, **more) -> Spec:
    return Spec(width=WIDTH, num_heads=HEADS, num_kv_heads=KV_HEADS, causal=True, positions=positions, **more)


@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal", "rotary", "alibi"])
def test_the_decoder_obeys_every_law_that_applies(positions):
    model = built(positions, rotary_base=10_000.0)
    report = regard.check(WholeDecoder(model, spec(positions, max_positions=256), redraw=False))
    assert [(failure.law, failure.error) for failure in report.failures] == []
    assert report.counts["holds"] >= 10


@pytest.mark.parametrize("positions", ["none", "rotary", "alibi"])
def test_its_attention_is_what_the_oracle_computes(positions):
    model = built(positions, rotary_base=10_000.0, qk_norm=False)
    layer = OneAttention(model, spec(positions, max_positions=256), redraw=False)
    report = regard.check(layer)
    assert [(failure.law, failure.error) for failure in report.failures] == []
    assert report.grade == "spec"


def test_a_decoder_that_leaks_is_caught():
    class Leaky(WholeDecoder):
        def forward(self, x, mask=None, positions=None):
            return super().forward(x, mask, positions) + 0.01 * x.mean(dim=1, keepdim=True)

    report = regard.check(Leaky(built("rotary"), spec("rotary", max_positions=256), redraw=False))
    assert "CAUSAL" in {failure.law for failure in report.failures}


def test_an_attention_with_another_scale_is_caught():

    model = built("none", qk_norm=False)
    model.blocks[0].attention.scale *= 1.1
    report = regard.check(OneAttention(model, spec("none"), redraw=False))
    assert report.failures
    assert np.isfinite(report.failures[0].error)
