import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from regard.attention import Linear, attend, causal_mask, merge_heads, repeat_heads, split_heads
from regard.core.errors import InputError
from regard.positions import codes
from regard.training.model import Decoder, KVCache, ModelConfig, ModelInput
from regard.training.model.attention import SelfAttention

SMALL = {"vocab_size": 11, "max_length": 16, "width": 16, "num_layers": 2, "num_heads": 4, "hidden": 24}


def decoder(**settings) -> Decoder:
    torch.manual_seed(0)
    model = Decoder(ModelConfig(**{**SMALL, **settings})).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn_like(parameter))
    return model


def model_input(tokens, visible=None) -> ModelInput:
    length = tokens.shape[1]
    before = torch.full((*tokens.shape, 2), -1)
    before[:, 1:, 0], before[:, 2:, 1] = tokens[:, :-1], tokens[:, :-2]
    seen = torch.ones(len(tokens), length, length, dtype=torch.bool).tril_() if visible is None else visible
    places = torch.arange(length).expand(len(tokens), -1)
    return ModelInput(tokens=tokens, positions=places, visible=seen, before=before)


def read(model: Decoder, tokens, visible=None):
    return model(model_input(tokens, visible), dtype=torch.float64)


@pytest.fixture
def tokens():
    return torch.randint(0, 11, (2, 9), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("positions", sorted(codes()))
def test_every_position_code_works_and_tells_order_apart(positions, tokens):
    model = decoder(positions=positions)
    swapped = tokens.clone()
    swapped[:, [2, 5]] = tokens[:, [5, 2]]
    last, other = read(model, tokens)[:, -1], read(model, swapped)[:, -1]
    if positions == "none":
        one_layer = decoder(positions=positions, num_layers=1)
        assert torch.allclose(read(one_layer, tokens)[:, -1], read(one_layer, swapped)[:, -1])
    else:
        assert not torch.allclose(last, other, atol=1e-6)
        # A causal mask alone tells some order from the second layer on: the code must add to that.
        assert not torch.allclose(last, read(decoder(positions="none"), tokens)[:, -1], atol=1e-6)


@pytest.mark.parametrize("positions", sorted(codes()))
@pytest.mark.parametrize("settings", [{}, {"num_kv_heads": 2, "ngram_rows": 97}, {"num_feed_forwards": 1}])
def test_a_cache_gives_what_reading_at_once_gives(positions, settings, tokens):
    model = decoder(positions=positions, **settings)
    whole = read(model, tokens)
    cache = KVCache(model.config, batch=2, room=9, dtype=torch.float64)
    pieces = []
    for start, stop in ((0, 4), (4, 5), (5, 9)):
        places = torch.arange(start, stop).expand(2, -1)
        cache.append_positions(places, torch.ones_like(places, dtype=torch.bool))
        visible = (torch.arange(stop)[None, :] <= torch.arange(start, stop)[:, None]).expand(2, -1, -1)
        before = torch.stack([torch.nn.functional.pad(tokens, (n, 0), value=-1)[:, start:stop] for n in (1, 2)], -1)
        some = ModelInput(tokens=tokens[:, start:stop], positions=places, visible=visible, before=before)
        pieces.append(model(some, cache=cache, dtype=torch.float64))
    assert torch.allclose(torch.cat(pieces, dim=1), whole, rtol=0, atol=1e-12)


def test_hidden_tokens_change_nothing(tokens):
    model = decoder()
    visible = torch.ones(2, 9, 9, dtype=torch.bool).tril_()
    visible[:, 4:, 3] = False
    other = tokens.clone()
    other[:, 3] = (tokens[:, 3] + 1) % 11
    assert torch.equal(read(model, tokens, visible)[:, 4:], read(model, other, visible)[:, 4:])
    assert not torch.allclose(read(model, tokens)[:, 5:], read(model, other)[:, 5:])


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
def test_attention_is_the_reference(num_kv_heads):
    config = ModelConfig(**SMALL, num_kv_heads=num_kv_heads, qk_norm=False, is_lean=False, positions="none")
    layer = SelfAttention(config).double()
    x = torch.randn(2, 7, 16, dtype=torch.float64)
    visible = torch.ones(2, 7, 7, dtype=torch.bool).tril_()
    context = Decoder(config).attention_context(torch.arange(7)[None], torch.arange(7)[None], visible, torch.float64)
    matrices = layer.project.weight.detach().split([16, 4 * num_kv_heads, 4 * num_kv_heads])
    query, key, value = (Linear(weight=matrix.T.numpy())(x.numpy()) for matrix in matrices)
    keys, values = (repeat_heads(split_heads(each, num_kv_heads), 4) for each in (key, value))
    mixed = merge_heads(attend(split_heads(query, 4), keys, values, mask=causal_mask(7, 7)))
    expected = Linear(weight=layer.output.weight.detach().T.numpy())(mixed)
    assert np.allclose(layer(x, context).detach().numpy(), expected, rtol=0, atol=1e-12)
    assert torch.allclose(layer.weights(x, context).sum(-1), torch.ones(2, 4, 7, dtype=torch.float64))


@pytest.mark.parametrize("settings", [{"positions": "t5_buckets"}, {"positions": "rotary", "num_kv_heads": 2}])
def test_bfloat16_reads_nearly_as_float32_and_float32_is_kept(settings, tokens):
    found = {}
    for dtype in (torch.float32, torch.bfloat16):
        model = decoder(**settings).float()
        states = model(model_input(tokens), dtype=dtype)
        assert states.dtype is dtype
        model.logits(states).float().square().mean().backward()
        assert {p.dtype for p in model.parameters()} == {torch.float32}
        found[dtype] = [states.detach().float(), *(p.grad for p in model.parameters())]
    for exact, coarse in zip(*found.values(), strict=True):
        assert (coarse - exact).norm() < 0.05 * exact.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.no_grad()
def test_dropout_hides_keys_in_training_only(dtype, tokens):
    torch.manual_seed(0)
    layer = SelfAttention(ModelConfig(**SMALL, dropout=0.5, is_lean=False))
    context = decoder().attention_context(
        torch.arange(9)[None], torch.arange(9)[None], model_input(tokens).visible, dtype
    )
    x = torch.randn(2, 9, 16, generator=torch.Generator().manual_seed(0)).to(dtype)
    drawn = [layer.train()(x, context) for _ in range(2)]
    still = [layer.eval()(x, context) for _ in range(2)]
    assert not torch.equal(*drawn)
    assert torch.equal(*still)
    many = torch.stack([layer.train()(x, context).float() for _ in range(2000)]).mean(0)
    assert (many - still[0].float()).norm() < 0.1 * still[0].float().norm()


@pytest.mark.parametrize("activation", ["gelu", "relu", "relu2", "swiglu"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("is_lean", [True, False])
def test_all_parts_can_be_combined_and_learn(activation, norm, is_lean, tokens):
    torch.manual_seed(0)
    config = ModelConfig(**SMALL, activation=activation, norm=norm, is_lean=is_lean, is_tied=not is_lean)
    model = Decoder(config).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

    def loss():
        scores = model.logits(read(model, tokens)[:, :-1])
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())

    before = loss().item()
    for _ in range(20):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert loss().item() < 0.7 * before


@pytest.mark.parametrize("feed_forwards", [None, 0, 1])
def test_the_parameters_are_counted(feed_forwards):
    config = ModelConfig(**SMALL, ngram_rows=13, is_lean=True, num_feed_forwards=feed_forwards)
    assert config.num_parameters == sum(p.numel() for p in Decoder(config).parameters())


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"num_heads": 3}, "divide"),
        ({"num_kv_heads": 3}, "share"),
        ({"positions": "polar"}, "rotary"),
        ({"activation": "tanh"}, "swiglu"),
        ({"norm": "batch"}, "layer"),
        ({"num_layers": 0}, "at least 1"),
        ({"num_feed_forwards": 9}, "num_layers"),
        ({"dropout": 1.0}, "dropout"),
        ({"width": 12}, "pairs"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_built_is_refused_in_words(settings, word):
    with pytest.raises(InputError, match=word):
        ModelConfig(**{**SMALL, **settings})


def test_tokens_that_are_read_alike_lead_to_the_same_states():
    torch.manual_seed(0)
    model = Decoder(ModelConfig(**SMALL, ngram_rows=31), np.array([0, 1, 2, 3, 2, 5, 3, 7, 8, 9, 10])).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    first, alike, other = (read(model, torch.tensor([tokens])) for tokens in ([1, 2, 3], [1, 4, 6], [1, 5, 3]))
    assert torch.equal(first, alike)
    assert not torch.allclose(first, other)
