"""Layers in the ways in which people write them, each right or with one bug, and nothing or one line declared."""

import math

import pytest

from conformance.adapters.judged import broken, outcomes
from conformance.adapters.test_modules import Attention, checked, facts

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


class Llama(Attention):
    """As in Llama's own code: buffers for the cache, a start position, and a mask that the caller makes."""

    names = ("wq", "wk", "wv", "wo")
    is_causal_inside, is_tiled = False, False

    def __init__(self, most_rows=4):
        super().__init__(width=32, num_heads=4, kv_heads=2)
        self.cache_k, self.cache_v = (torch.zeros(most_rows, 64, 2, 8) for _ in range(2))

    def forward(self, x, start_pos: int, freqs_cis, mask):
        rows, length, _ = x.shape
        q, k, v = (self.heads(x, part).transpose(1, 2) for part in range(3))
        q, k = (torch.view_as_complex(each.unflatten(-1, (-1, 2))) * freqs_cis[:, None] for each in (q, k))
        q, k = (torch.view_as_real(each).flatten(-2) for each in (q, k))
        end = start_pos + length
        self.cache_k[:rows, start_pos:end], self.cache_v[:rows, start_pos:end] = k, v
        keys, values = (each[:rows, :end].transpose(1, 2) for each in (self.cache_k, self.cache_v))
        keys, values = (
            each.repeat(1, 2, 1, 1) if self.is_tiled else each.repeat_interleave(2, 1) for each in (keys, values)
        )
        logits = q.transpose(1, 2) @ keys.mT / math.sqrt(8)
        logits = logits if mask is None else logits + mask
        return self.wo((logits.softmax(-1) @ values).transpose(1, 2).flatten(2))


def test_a_decoder_is_given_the_causal_mask_that_its_callers_make():
    subject, findings = checked(Llama())
    assert subject.spec.causal
    assert any("nothing hides later tokens" in each.how for each in findings)
    assert (facts(findings)["batch"], facts(findings)["max_positions"]) == (4, 64)
    assert outcomes(subject, "CACHE", "CAUSAL", "SPEC") == dict.fromkeys(("CACHE", "CAUSAL", "SPEC"), "holds")
    tiled = Llama()
    tiled.is_tiled = True
    subject, _ = checked(tiled, causal=True, positions="rotary", rotary_layout="interleaved")
    assert set(broken(subject, "CAUSAL", "PREFIX", "SUPPORT", "CACHE", "SPEC")) == {"SPEC"}


class ByCaller(Attention):
    is_causal_inside = False

    def forward(self, x, attention_mask=None):
        mask = attention_mask
        return self.mixed(*(self.heads(x, part) for part in range(3)), mask=None if mask is None else mask == 0)


def test_a_mask_per_query_is_the_callers_and_one_per_token_is_not():
    subject, _ = checked(ByCaller(), causal=True, positions="none")
    assert not broken(subject, "CAUSAL", "PAD", "SPEC")

    class PerToken(Attention):
        is_causal_inside = False

        def forward(self, x, mask=None):
            seen = None if mask is None else mask[:, None, None]
            return self.mixed(*(self.heads(x, part) for part in range(3)), mask=seen)

    subject, _ = checked(PerToken(), causal=True, positions="none")
    assert "CAUSAL" in broken(subject, "CAUSAL")


class PastTensor(nn.Module):
    """GPT-2's cache, one tensor of keys and values."""

    def __init__(self, nx=32, n_ctx=256, n_head=4, starts_anew=False):
        super().__init__()
        self.register_buffer("bias", torch.tril(torch.ones(n_ctx, n_ctx, dtype=torch.bool)))
        self.n_head, self.starts_anew = n_head, starts_anew
        self.c_attn, self.c_proj = nn.Linear(nx, 3 * nx), nn.Linear(nx, nx)

    def forward(self, x, layer_past=None):
        q, k, v = self.c_attn(x).unflatten(-1, (3, self.n_head, -1)).permute(2, 0, 3, 1, 4)
        if layer_past is not None:
            k, v = torch.cat([layer_past[0], k], dim=-2), torch.cat([layer_past[1], v], dim=-2)
        first = 0 if self.starts_anew else k.shape[-2] - q.shape[-2]
        seen = self.bias[first : first + q.shape[-2], : k.shape[-2]]
        weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, -1e10).softmax(-1)
        return self.c_proj((weights @ v).transpose(1, 2).flatten(2)), torch.stack((k, v))


def test_a_cache_is_used_even_if_new_tokens_see_the_first_ones_alone():
    subject, findings = checked(PastTensor())
    assert facts(findings)["max_positions"] == 256
    assert not broken(subject, "CACHE", "PREC")
    assert "CACHE" in broken(checked(PastTensor(starts_anew=True))[0], "CACHE")


class Cache:
    """Keys and values so far."""

    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=2)
        return self.k, self.v


class WithObject(Attention):
    def forward(self, x, cache: Cache | None = None):
        q, k, v = (self.heads(x, part) for part in range(3))
        k, v = (k, v) if cache is None else cache.update(k, v)
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.o_proj(y.transpose(1, 2).flatten(2))


def test_a_cache_may_be_an_object_of_the_class_that_the_argument_names():
    subject, _ = checked(WithObject())
    assert outcomes(subject, "CACHE", "FORK", "CACHEPURE")["CACHE"] == "holds"


class Linear(nn.Module):
    """Linear attention, which adds a small number to its denominators."""

    def __init__(self, d_model=32, n_heads=4):
        super().__init__()
        self.n_heads = n_heads
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = (part(x).unflatten(-1, (self.n_heads, -1)) for part in (self.to_q, self.to_k, self.to_v))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        sums = torch.einsum("bthd,bthe->bthde", k, v).cumsum(1)
        total = torch.einsum("bthd,bthd->bth", q, k.cumsum(1)) + 1e-6
        return self.to_out((torch.einsum("bthd,bthde->bthe", q, sums) / total[..., None]).flatten(2))


def test_a_small_number_in_a_denominator_is_no_bug_where_nothing_says_softmax():
    assert broken(checked(Linear())[0]) == {}


class Windows(nn.Module):
    """Swin's attention within windows of four by four tokens, with a bias for each pair of places."""

    def __init__(self, dim=32, num_heads=4, side=4):
        super().__init__()
        self.dim, self.num_heads = dim, num_heads
        self.table = nn.Parameter(torch.zeros((2 * side - 1) ** 2, num_heads))
        place = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")).flatten(1)
        apart = place[:, :, None] - place[:, None] + side - 1
        self.register_buffer("index", apart[0] * (2 * side - 1) + apart[1])
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).unflatten(-1, (3, self.num_heads, -1)).permute(2, 0, 3, 1, 4)
        logits = q @ k.mT / q.shape[-1] ** 0.5 + self.table[self.index.view(-1)].view(length, length, -1).permute(
            2, 0, 1
        )
        if mask is not None:
            logits = logits.unflatten(0, (-1, len(mask))) + mask[:, None]
            logits = logits.flatten(0, 1)
        return self.proj((logits.softmax(-1) @ v).transpose(1, 2).reshape(rows, length, -1))


def test_a_bias_for_places_is_not_taken_for_one_of_distances():
    subject, _ = checked(Windows())
    assert (subject.spec.positions, subject.spec.max_positions) == (None, 16)
    assert broken(subject) == {}


class OverQueries(Attention):
    is_causal_inside = False

    def mixed(self, q, k, v, mask=None):
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-2)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


def test_an_undeclared_layer_that_is_exactly_the_oracle_with_a_bug_is_unusual():
    subject, findings = checked(OverQueries())
    assert broken(subject) == {}
    [found] = [each for each in findings if each.name == "oracle"]
    assert found.kind == "unusual"
    assert "softmax over the queries" in found.how
    assert "SPEC" in broken(checked(OverQueries(), causal=False, positions="none")[0], "SPEC")


class MultiQuery(nn.Module):
    """One matrix for the queries of all heads and for one key and one value."""

    def __init__(self, d_model=32, n_head=4, order=(0, 1, 2)):
        super().__init__()
        self.n_head, self.order = n_head, order
        self.c_attn, self.c_proj = nn.Linear(d_model, d_model + 2 * d_model // n_head), nn.Linear(d_model, d_model)

    def forward(self, x):
        width = x.shape[-1] // self.n_head
        parts = self.c_attn(x).split([x.shape[-1], width, width], dim=-1)
        q, k, v = (parts[each].unflatten(-1, (-1, width)).transpose(1, 2) for each in self.order)
        y = F.scaled_dot_product_attention(q, k.expand_as(q), v.expand_as(q), is_causal=True)
        return self.c_proj(y.transpose(1, 2).flatten(2))


def test_a_packed_matrix_may_have_fewer_keys_than_queries():
    subject, _ = checked(MultiQuery())
    assert (subject.spec.num_heads, subject.spec.num_kv_heads) == (4, 1)
    assert outcomes(subject, "SPEC") == {"SPEC": "holds"}
    swapped, _ = checked(MultiQuery(order=(0, 2, 1)), causal=True, positions="none")
    assert "SPEC" in broken(swapped, "SPEC")


def test_where_tables_are_given_positions_are_not():
    class Fast(Attention):
        def forward(self, x, freqs_cis, input_pos=None):
            return super().forward(x) + 0 * freqs_cis.real.sum()

    assert not checked(Fast())[0].has("positions")


def test_a_norm_that_reading_does_not_know_says_nothing_about_heads():
    class Normed(Attention):
        def mixed(self, q, k, v, mask=None):
            q, k = (each * each.pow(2).mean(-1, keepdim=True).rsqrt() for each in (q, k))
            return super().mixed(q * 1.7, k, v, mask)

    subject, findings = checked(Normed(kv_heads=3))
    assert not [each for each in findings if each.name in ("heads", "key heads")]
    assert broken(subject) == {}
