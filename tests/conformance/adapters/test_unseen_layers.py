"""What layers of unseen authors needed: caches, lengths, documents, layouts and parameters in forms of their own."""

import pytest

from conformance.adapters.judged import broken, outcomes
from conformance.adapters.test_modules import Attention, checked, facts
from regard.conformance.requests import CheckRequest, build_subject
from regard.conformance.subject import Spec

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

CAUSAL = {"causal": True, "positions": "none"}
OPEN = {"causal": False, "positions": "none"}


def rotated(x, start):
    half = x.shape[-1] // 2
    angles = torch.arange(start, start + x.shape[2])[:, None] * 1e4 ** (-torch.arange(half) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


class Cached(Attention):
    """Keys and values of earlier tokens, in whatever a subclass keeps them in."""

    is_causal_inside = False

    def __init__(self):
        super().__init__(width=32, num_heads=4)

    def continued(self, x, past, start=None):
        q, k, v = (self.heads(x, part) for part in range(3))
        before = 0 if past is None else past[0].shape[2]
        q, k = (rotated(each, before if start is None else start) for each in (q, k))
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        seen = torch.ones(x.shape[1], k.shape[2], dtype=torch.bool).tril(before)
        return self.mixed(q, k, v, mask=seen), k, v


class InList(Cached):
    start: int | None = None

    def forward(self, x, cache=None):
        past = None if cache is None or cache[0] is None else cache
        y, k, v = self.continued(x, past, self.start)
        if cache is not None:
            cache[:] = [k, v]
        return y


class InDict(Cached):
    def forward(self, query, incremental_state=None):
        past = (incremental_state or {}).get("past")
        y, k, v = self.continued(query.transpose(0, 1), past)
        if incremental_state is not None:
            incremental_state["past"] = (k, v)
        return y.transpose(0, 1)


class ThirdOutput(Cached):
    def forward(self, x, past_key_value=None, use_cache=False):
        y, k, v = self.continued(x, past_key_value)
        return y, None, (k, v) if use_cache else None


class UntilReset(Cached):
    advances_by_one = False
    past = None

    def reset_cache(self, batch):
        del batch
        self.past = None

    def forward(self, x):
        y, k, v = self.continued(x, self.past)
        if self.past is not None and self.advances_by_one:
            k, v = (each[:, :, : self.past[0].shape[2] + 1] for each in (k, v))
        self.past = (k, v)
        return y


@pytest.mark.parametrize("kind", [InList, InDict, ThirdOutput, UntilReset])
def test_caches_of_any_form_are_found(kind):
    subject, _ = checked(kind(), causal=True, positions="rotary")
    assert subject.has("cache")
    assert outcomes(subject, "CACHE", "TRACE") == {"CACHE": "holds", "TRACE": "holds"}


def test_bugs_in_such_caches_are_refuted():
    restarts = InList()
    restarts.start = 0
    assert "CACHE" in broken(checked(restarts, causal=True, positions="rotary")[0], "CACHE")
    slow = UntilReset()
    slow.advances_by_one = True
    assert "CACHE" in broken(checked(slow, causal=True, positions="rotary")[0], "CACHE")


class WithTables(Cached):
    """The caller gives the cosines and sines of the new tokens, and gets a dict back."""

    def forward(self, x, cos, sin, cache=None):
        q, k, v = (self.heads(x, part) for part in range(3))
        q, k = (each * cos + torch.cat([-each[..., 4:], each[..., :4]], dim=-1) * sin for each in (q, k))
        if cache:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        if cache is not None:
            cache[:] = [k, v]
        seen = torch.ones(x.shape[1], k.shape[2], dtype=torch.bool).tril(k.shape[2] - x.shape[1])
        return {"hidden": self.mixed(q, k, v, mask=seen), "cache": cache}


def test_tables_go_on_where_the_cache_ends():
    subject, _ = checked(WithTables(), causal=True, positions="rotary")
    assert outcomes(subject, "CACHE", "SPEC") == {"CACHE": "holds", "SPEC": "holds"}


class ByLength(Attention):
    is_causal_inside = False
    hides_queries, of_next_row = False, False

    def forward(self, x, valid_lens=None):
        q, k, v = (self.heads(x, part) for part in range(3))
        if valid_lens is None:
            return self.mixed(q, k, v)
        lens = valid_lens.roll(1) if self.of_next_row else valid_lens
        real = torch.arange(x.shape[1]) < lens[:, None]
        seen = real[:, None, None] & (real[:, None, :, None] if self.hides_queries else True)
        logits = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf)
        return self.o_proj((logits.softmax(-1) @ v).transpose(1, 2).flatten(2)) * real[:, :, None]


@pytest.mark.parametrize(
    ("change", "words"), [({}, ""), ({"of_next_row": True}, "a row differs"), ({"hides_queries": True}, "not finite")]
)
def test_lengths_are_understood_and_judged(change, words):
    module = ByLength()
    for name, value in change.items():
        setattr(module, name, value)
    subject, findings = checked(module, **OPEN)
    assert facts(findings)["lengths"] == "valid_lens"
    found = broken(subject, "LENGTHS").get("LENGTHS", "")
    assert words in found
    assert bool(words) == bool(found)


class Packed(Attention):
    leaks = False

    def forward(self, x, segment_ids):
        apart = segment_ids[:, None, :, None] == segment_ids[:, None, None, :]
        if self.leaks:
            apart = apart | (torch.arange(x.shape[1]) == 0)
        return self.mixed(*(self.heads(x, part) for part in range(3)), mask=apart & (segment_ids > 0)[:, None, None])


@pytest.mark.parametrize("leaks", [False, True])
def test_required_numbers_of_documents_are_given_and_judged(leaks):
    module = Packed()
    module.leaks = leaks
    subject, _ = checked(module, **CAUSAL)
    assert outcomes(subject, "CAUSAL", "PACK") == {"CAUSAL": "holds", "PACK": "refuted" if leaks else "holds"}


def linear_attention(queries, keys, values):
    q, k = F.elu(queries) + 1, F.elu(keys) + 1
    sums = torch.einsum("bhjd,bhje->bhjde", k, values).cumsum(2)
    return (
        torch.einsum("bhid,bhide->bhie", q, sums) / (torch.einsum("bhid,bhid->bhi", q, k.cumsum(2)) + 1e-6)[..., None]
    )


def test_linear_attention_is_not_taken_for_a_softmax():
    subject, findings = build_subject(CheckRequest(target=linear_attention, spec=Spec(**CAUSAL)))
    assert [each.kind for each in findings if each.name == "oracle"] == ["unusual"]
    assert not subject.has("core")
    assert not broken(subject)


def causal_in_place(q, k, v):
    q *= q.shape[-1] ** -0.5
    return (q @ k.mT).masked_fill(torch.ones(q.shape[2], k.shape[2]).triu(1).bool(), -torch.inf).softmax(-1) @ v


def test_a_function_that_changes_its_queries_is_refuted_by_that_alone():
    subject, _ = build_subject(CheckRequest(target=causal_in_place, spec=Spec(**CAUSAL)))
    found = broken(subject, "PURE", "PERM", "LAYOUT", "SPEC", "CAUSAL")
    assert set(found) == {"PURE"}
    assert "queries" in found["PURE"]


class MergedHeads(nn.Module):
    """Positions before rows, heads side by side in the output, and a scale for one width."""

    def __init__(self, head_dim=16):
        super().__init__()
        self.norm_factor = head_dim**0.5

    def forward(self, query_layer, key_layer, value_layer, attention_mask=None):
        q, k, v = (each.permute(1, 2, 0, 3) for each in (query_layer, key_layer, value_layer))
        scores = q @ k.mT / self.norm_factor
        if attention_mask is not None:
            scores = scores.masked_fill(attention_mask, -1e30)
        return (scores.softmax(-1) @ v).permute(2, 0, 1, 3).flatten(2)


def test_merged_heads_and_the_width_that_a_scale_was_made_for_are_found():
    subject, findings = build_subject(CheckRequest(target=MergedHeads(), spec=Spec(**OPEN)))
    assert (subject.spec.head_width, facts(findings)["layout"]) == (16, "[position, batch, head, width]")
    assert outcomes(subject, "SPEC", "PERM", "JUNK") == dict.fromkeys(("SPEC", "PERM", "JUNK"), "holds")


def test_a_mask_with_the_name_of_torchs_and_another_meaning_is_unusual():
    class Mask(Attention):
        is_causal_inside = False

        def forward(self, x, key_padding_mask=None):
            seen = None if key_padding_mask is None else key_padding_mask[:, None, None] == self.is_true_hidden
            return self.mixed(*(self.heads(x, part) for part in range(3)), mask=None if seen is None else ~seen)

    for is_true_hidden, kind in ((True, "found"), (False, "unusual")):
        module = Mask()
        module.is_true_hidden = is_true_hidden
        _, findings = checked(module, **OPEN)
        assert [each.kind for each in findings if each.name == "mask"] == [kind]


def init_params(rng, d_model):
    del rng
    generator = torch.Generator().manual_seed(0)
    return [0.2 * torch.randn(d_model, d_model, generator=generator) for _ in range(4)]


def of_parameters(params, x):
    q, k, v = (x @ each.to(x.dtype) for each in params[:3])
    return (q @ k.mT / x.shape[-1] ** 0.5).softmax(-1) @ v @ params[3].to(x.dtype)


def test_parameters_come_from_the_function_that_makes_them():
    subject, findings = build_subject(CheckRequest(target=of_parameters, spec=Spec(width=24, num_heads=1, **OPEN)))
    assert facts(findings)["params"] == "init_params(d_model=24)"
    assert not broken(subject)


class OtherContext(nn.Module):
    def __init__(self, query_dim=32, context_dim=20):
        super().__init__()
        self.heads, self.to_q, self.to_out = 4, nn.Linear(query_dim, 32), nn.Linear(32, query_dim)
        self.to_k, self.to_v = nn.Linear(context_dim, 32), nn.Linear(context_dim, 32)

    def forward(self, x, context=None):
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (q, k, v))
        return self.to_out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


def test_a_context_of_another_width_is_made_from_the_tokens():
    subject, findings = checked(OtherContext(), **OPEN)
    assert facts(findings)["called with"] == "context [batch, position, 20]"
    assert not subject.has("weights")
    assert not broken(subject)


def test_a_bias_for_each_pair_of_places_breaks_no_padding():
    class Table(Attention):
        is_causal_inside = False

        def __init__(self):
            super().__init__(width=32, num_heads=4)
            self.table = nn.Parameter(torch.randn(4, 16, 16))

        def forward(self, x, mask=None):
            q, k, v = (self.heads(x, part) for part in range(3))
            logits = q @ k.mT / 8**0.5 + self.table[:, : x.shape[1], : x.shape[1]]
            logits = logits if mask is None else logits.masked_fill(~mask[:, None, None], -1e30)
            return self.o_proj((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))

    assert not broken(checked(Table(), causal=False, positions="relative")[0], "PAD", "JUNK", "USED")


def test_matrices_under_torchs_own_name_are_read():
    class Own(nn.Module):
        def __init__(self, embed_dim=32, num_heads=4):
            super().__init__()
            self.num_heads, self.out_proj = num_heads, nn.Linear(embed_dim, embed_dim)
            self.in_proj_weight = nn.Parameter(torch.empty(3 * embed_dim, embed_dim))
            self.in_proj_bias = nn.Parameter(torch.zeros(3 * embed_dim))

        def forward(self, x):
            parts = F.linear(x, self.in_proj_weight, self.in_proj_bias).chunk(3, dim=-1)
            q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in parts)
            return self.out_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    assert outcomes(checked(Own(), **OPEN)[0], "SPEC", "USED") == {"SPEC": "holds", "USED": "holds"}
