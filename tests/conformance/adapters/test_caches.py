"""Caches of Hugging Face, and of modules that are told where new tokens start."""

import pytest

import regard
from regard.conformance.adapters import adapt
from regard.conformance.adapters.start_positions import StartPositionLayer

torch = pytest.importorskip("torch")
LAWS = "CROP,FORK,REJECT,REORDER,REUSE,TRACE"


class Buffered(torch.nn.Module):
    """Keeps keys and values in buffers; `start_pos` says how many of them there are."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (torch.nn.Linear(16, 16, bias=False) for _ in range(4))
        self.cache_k, self.cache_v = torch.zeros(32, 64, 16), torch.zeros(32, 64, 16)

    def forward(self, x, start_pos):
        batch, end = len(x), start_pos + x.shape[1]
        self.cache_k[:batch, start_pos:end], self.cache_v[:batch, start_pos:end] = self.key(x), self.value(x)
        k, v = self.cache_k[:batch, : self.seen(end)], self.cache_v[:batch, : self.seen(end)]
        visible = torch.ones(x.shape[1], k.shape[1]).tril(start_pos).bool()
        return self.out(torch.nn.functional.scaled_dot_product_attention(self.query(x), k, v, attn_mask=visible))

    def seen(self, end):
        return end


class ForgetsTheStart(Buffered):
    """Takes several tokens at once for the beginning of a sequence."""

    def forward(self, x, start_pos):
        return super().forward(x, start_pos if x.shape[1] == 1 else 0)


@pytest.mark.parametrize(("cache", "num_holding"), [("dynamic", 6), ("static", 4)])
def test_caches_of_hugging_face_break_nothing(cache, num_holding):
    pytest.importorskip("transformers")
    report = regard.check(regard.hf("LlamaForCausalLM", cache=cache), laws=LAWS, traces=4)
    assert report.ok
    assert report.counts["holds"] == num_holding


def test_windows_of_hugging_face_cannot_be_cropped():
    pytest.importorskip("transformers")
    report = regard.check(regard.hf("MistralForCausalLM", sliding_window=4), laws="CROP,EVICT,REORDER", traces=4)
    assert [verdict.outcome for verdict in report.verdicts] == ["skipped", "holds", "holds"]


@pytest.mark.parametrize(
    ("model", "settings"), [("MistralForCausalLM", {"sliding_window": 4}), ("Lfm2ForCausalLM", {})]
)
def test_tokens_are_rejected_from_windows_and_convolutions_that_record(model, settings):
    pytest.importorskip("transformers")
    target = regard.hf(model, cache="recording", **settings)
    assert regard.check(target, laws="REJECT", traces=4).verdicts[0].outcome == "holds"


def test_a_rollback_of_a_window_that_is_short_by_one_token_is_found(monkeypatch):
    cache_utils = pytest.importorskip("transformers.cache_utils")
    layer = cache_utils.DynamicSlidingWindowLayer
    crop = layer.crop

    def short(self, tokens_to_remove):
        crop(self, tokens_to_remove)
        if tokens_to_remove:
            self.keys, self.values = self.keys[:, :, 1:], self.values[:, :, 1:]

    monkeypatch.setattr(layer, "crop", short)
    target = regard.hf("MistralForCausalLM", cache="recording", sliding_window=4)
    assert regard.check(target, laws="REJECT", traces=4).verdicts[0].outcome == "refuted"


def test_a_cache_that_is_not_known_or_not_there_is_refused():
    pytest.importorskip("transformers")
    with pytest.raises(regard.InputError, match="dynamic, static, quantized, recording"):
        regard.hf("LlamaForCausalLM", cache="paged")
    with pytest.raises(regard.InputError, match="has no quantized cache"):
        regard.hf("MistralForCausalLM", sliding_window=4, cache="quantized")()


def test_a_start_position_makes_a_cache():
    spec = regard.Spec(width=16, num_heads=1, causal=True, positions="none")
    subject = adapt(Buffered(), spec)
    assert isinstance(subject, StartPositionLayer)
    assert subject.cache_limits.is_single
    report = regard.check(Buffered, spec, laws=f"CACHE,{LAWS}", traces=5)
    assert report.ok
    assert report.counts["holds"] == 5


def test_a_wrong_start_is_found():
    spec = regard.Spec(width=16, num_heads=1, causal=True, positions="none")
    report = regard.check(ForgetsTheStart, spec, laws="CACHE,CROP,TRACE")
    assert [failure.law for failure in report.failures] == ["CACHE", "TRACE"]
    assert report.failures[0].diagnosis[0].family == "cache"
