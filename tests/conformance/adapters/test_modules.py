"""torch modules as people write them: sizes, calls, masks and matrices are found, and nothing is refuted on a guess."""

import pytest

from conformance.adapters.judged import broken, outcomes
from regard.conformance.adapters import adapt
from regard.conformance.requests import CheckRequest, build_subject
from regard.conformance.subject import Spec
from regard.core.errors import InputError

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


class Attention(nn.Module):
    """Self-attention whose names, layouts and arguments subclasses change."""

    names = ("q_proj", "k_proj", "v_proj", "o_proj")
    is_causal_inside = True

    def __init__(self, width: int = 48, num_heads: int = 6, kv_heads: int | None = None):
        super().__init__()
        self.n_head, self.kv = num_heads, kv_heads or num_heads
        own, shared = width, width // num_heads * self.kv
        for name, size in zip(self.names, (own, shared, shared, width), strict=True):
            setattr(self, name, nn.Linear(width, size))

    def heads(self, x, part: int):
        return getattr(self, self.names[part])(x).unflatten(-1, (self.kv if part else self.n_head, -1)).transpose(1, 2)

    def mixed(self, q, k, v, mask=None):
        k, v = (each.repeat_interleave(self.n_head // self.kv, dim=1) for each in (k, v))
        logits = q @ k.mT / q.shape[-1] ** 0.5
        if self.is_causal_inside:
            logits = logits.masked_fill(torch.ones(logits.shape[-2:]).triu(1).bool(), -torch.inf)
        if mask is not None:
            logits = logits.masked_fill(~mask, -1e30)
        return getattr(self, self.names[3])((logits.softmax(-1) @ v).transpose(1, 2).flatten(2))

    def forward(self, x):
        return self.mixed(*(self.heads(x, part) for part in range(3)))


def checked(module, **declared):
    request = CheckRequest(target=module, spec=Spec(**declared) if declared else None)
    return build_subject(request)


def facts(findings) -> dict:
    return {each.name: each.value for each in findings if each.kind == "found"}


@pytest.mark.parametrize(
    "names",
    [
        ("W_query", "W_key", "W_value", "out_proj"),
        ("c_q", "c_k", "c_v", "c_proj"),
        ("queries", "keys", "values", "fc_out"),
        ("w_q", "w_k", "w_v", "w_concat"),
    ],
)
def test_more_spellings_reach_spec_grade_without_a_declaration(names):
    class Named(Attention):
        pass

    Named.names = names
    subject, findings = checked(Named(kv_heads=2))
    assert (subject.spec.width, subject.spec.num_heads, subject.spec.num_kv_heads) == (48, 6, 2)
    assert (subject.spec.causal, subject.spec.positions) == (True, "none")
    assert facts(findings)["num_heads"] == 6
    assert outcomes(subject, "SPEC", "CAUSAL", "PREC") == dict.fromkeys(("CAUSAL", "PREC", "SPEC"), "holds")


def test_an_output_matrix_of_unknown_name_leaves_no_oracle():
    class Unknown(Attention):
        names = ("q_proj", "k_proj", "v_proj", "mystery")

    subject, findings = checked(Unknown())
    assert not subject.has("weights")
    assert any("mystery" in str(each) for each in findings if each.name == "oracle")
    assert broken(subject) == {}


def test_heads_that_no_attribute_names_are_read_off_the_outputs():
    class Nameless(Attention):
        n_head, kv = 6, 6

    module = Nameless()
    del module.n_head, module.kv
    subject, findings = checked(module)
    assert subject.spec.num_heads == 6
    assert any("weighted means" in each.how for each in findings if each.name == "num_heads")


class Masked(Attention):
    is_causal_inside = False

    def forward(self, x, mask=None):
        return self.mixed(*(self.heads(x, part) for part in range(3)), mask=self.wanted(mask))


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (lambda mask: mask[:, None, None, :], "[batch, key], True for real tokens"),
        (lambda mask: ~mask[:, None, None, :], "[batch, key], True for padding"),
        (lambda mask: mask.unsqueeze(1) if mask.ndim == 3 else 1 / 0, "[batch, 1, key], True for real tokens"),
        (lambda mask: mask if mask.shape[1] == 1 else 1 / 0, "[batch, 1, 1, key], True for real tokens"),
    ],
)
def test_the_form_of_a_mask_is_found(wanted, told):
    class Wanting(Masked):
        def wanted(self, mask):
            return None if mask is None else wanted(mask)

    subject, findings = checked(Wanting())
    assert told in facts(findings)["mask"]
    assert outcomes(subject, "PAD", "JUNK", "ONES") == dict.fromkeys(("JUNK", "ONES", "PAD"), "holds")


def test_a_mask_that_hides_nothing_is_not_used_unless_it_is_declared():
    class Ignoring(Masked):
        def wanted(self, mask):
            return None

    subject, findings = checked(Ignoring())
    assert not subject.has("mask")
    assert any(each.name == "mask" and each.kind == "not found" for each in findings)
    assert "JUNK" in broken(adapt(Ignoring(), Spec(causal=False, positions="none", mask="keep")), "JUNK")


def test_lengths_beyond_the_table_are_not_tried():
    class Short(Attention):
        def forward(self, x):
            assert x.shape[1] <= 20, "block_size"
            return super().forward(x)

    subject, findings = checked(Short())
    assert facts(findings)["max_positions"] == 20
    assert broken(subject) == {}


def test_positions_first_is_found():
    class TimeFirst(Attention):
        def forward(self, x):
            return super().forward(x.transpose(0, 1)).transpose(0, 1)

    subject, findings = checked(TimeFirst())
    assert facts(findings)["axes"] == "[position, batch, width]"
    assert outcomes(subject, "BATCH", "CAUSAL", "SPEC") == dict.fromkeys(("BATCH", "CAUSAL", "SPEC"), "holds")


def test_required_arguments_get_what_their_names_say():
    class Needing(Attention):
        def forward(self, x, start_pos, freqs_cis, mask):
            assert start_pos == 0
            q, k, v = (self.heads(x, part) for part in range(3))
            q, k = (
                torch.view_as_real(torch.view_as_complex(each.unflatten(-1, (-1, 2))) * freqs_cis) for each in (q, k)
            )
            return self.mixed(q.flatten(3), k.flatten(3), v, mask)

    subject, _ = checked(Needing())
    assert (subject.spec.positions, subject.spec.rotary_layout) == ("rotary", "interleaved")
    assert outcomes(subject, "SPEC") == {"SPEC": "holds"}


def test_what_forward_needs_and_nobody_knows_is_asked_for_once():
    class Strange(Attention):
        def forward(self, x, gizmo):
            return super().forward(x) * gizmo

    with pytest.raises(InputError, match=r"--arg forward\.gizmo"):
        checked(Strange())
    request = CheckRequest(target=Strange(), arguments={"forward.gizmo": 2.0})
    with pytest.raises(InputError, match="instance"):
        build_subject(CheckRequest(target=Strange(), arguments={"gizmo": 2.0}))
    assert build_subject(request)[0].spec.width == 48


def test_token_ids_are_replaced_by_embeddings_and_the_last_position_alone_is_not_enough():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.attention, self.head = nn.Embedding(11, 48), Attention(), nn.Linear(48, 11)

        def forward(self, idx, targets=None):
            x = self.attention(self.embed(idx))
            return self.head(x if targets is not None else x[:, -1:]), None

    subject, findings = checked(Model())
    assert facts(findings)["tokens"] == "embed"
    assert subject.spec.causal
    assert broken(subject) == {}


def test_a_single_tensor_is_no_output_and_cache():
    class Single(Attention):
        def forward(self, x, kv_cache=None):
            return super().forward(x)

    subject, findings = checked(Single())
    assert not subject.has("cache")
    assert any(each.name == "cache" and each.kind == "not found" for each in findings)


def test_one_token_ahead_is_said_and_refuted_only_if_causality_is_declared():
    class Ahead(Attention):
        is_causal_inside = False

        def mixed(self, q, k, v, mask=None):
            length = q.shape[2]
            return super().mixed(q, k, v, torch.ones(length, length).tril(1).bool())

    subject, findings = checked(Ahead())
    assert subject.spec.causal is None
    assert any("1 token ahead" in each.how for each in findings if each.kind == "unusual")
    assert broken(subject) == {}
    assert "CAUSAL" in broken(checked(Ahead(), causal=True)[0], "CAUSAL")


def test_an_unusual_scale_is_said():
    class Rescaled(Attention):
        def mixed(self, q, k, v, mask=None):
            return super().mixed(q * 8**-0.5, k, v, mask)

    subject, findings = checked(Rescaled())
    assert [each.name for each in findings if each.kind == "unusual"] == ["scale"]
    assert outcomes(subject, "SPEC") == {"SPEC": "holds"}
    assert "SPEC" in broken(checked(Rescaled(), causal=True, positions="none")[0], "SPEC")


def test_a_declaration_that_the_layer_contradicts_is_said():
    _, findings = checked(Attention(), num_heads=4, causal=True)
    assert any("declared to be 4, but 6" in each.how for each in findings if each.kind == "unusual")


def test_packed_matrices_are_cut_as_the_layer_cuts_them():
    class ByHead(nn.Module):
        def __init__(self, embed_dim=32, num_heads=4):
            super().__init__()
            self.num_heads = num_heads
            self.qkv_proj, self.o_proj = nn.Linear(embed_dim, 3 * embed_dim), nn.Linear(embed_dim, embed_dim)

        def forward(self, x):
            q, k, v = self.qkv_proj(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2).chunk(3, dim=-1)
            return self.o_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    subject, findings = checked(ByHead())
    assert facts(findings)["packing"] == "by heads"
    assert outcomes(subject, "SPEC") == {"SPEC": "holds"}


def test_a_mask_that_replaces_the_causal_one_is_given_with_causality():
    class Replacing(Attention):
        def forward(self, x, attention_mask=None):
            self.is_causal_inside = attention_mask is None
            return self.mixed(*(self.heads(x, part) for part in range(3)), attention_mask)

    subject, findings = checked(Replacing())
    assert "and causal" in facts(findings)["mask"]
    assert broken(subject) == {}


def test_a_required_mask_is_given():
    class Extended(Attention):
        is_causal_inside = False

        def forward(self, hidden_states, attention_mask):
            q, k, v = (self.heads(hidden_states, part) for part in range(3))
            weights = (q @ k.mT / q.shape[-1] ** 0.5 + attention_mask).softmax(-1)
            return self.o_proj((weights @ v).transpose(1, 2).flatten(2))

    subject, findings = checked(Extended())
    assert "added to the logits" in facts(findings)["mask"]
    assert outcomes(subject, "PAD", "SPEC") == {"PAD": "holds", "SPEC": "holds"}


def test_a_prefix_that_sees_ahead_is_neither_causal_nor_refuted():
    class Prefix(Attention):
        is_causal_inside = False

        def mixed(self, q, k, v, mask=None):
            seen = torch.ones(q.shape[2], q.shape[2]).tril().bool()
            seen[:, :4] = True
            return super().mixed(q, k, v, seen)

    subject, findings = checked(Prefix())
    assert subject.spec.causal is None
    assert any(each.name == "causal" for each in findings if each.kind == "unusual")
    assert broken(subject) == {}


def test_a_key_that_belongs_to_no_token_is_a_sink():
    class Null(Attention):
        def mixed(self, q, k, v, mask=None):
            y = super().mixed(q, k, v, mask)
            count = torch.arange(1, y.shape[1] + 1)[:, None].to(y.dtype)
            return y * count / (count + 1)

    subject, _ = checked(Null())
    assert subject.spec.sink
    assert broken(subject) == {}


def test_a_layer_of_one_length_is_one_line():
    class Window(Attention):
        is_causal_inside = False

        def forward(self, x):
            assert x.shape[1] == 16
            return super().forward(x)

    with pytest.raises(InputError, match="only lengths that are multiples of 16, and neither"):
        checked(Window())


class OneHead(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(width, size, bias=False) for _ in range(3))

    def forward(self, x):
        logits = self.query(x) @ self.key(x).mT / self.key.out_features**0.5
        hidden = torch.ones(logits.shape[-2:]).triu(1).bool()
        return logits.masked_fill(hidden, -torch.inf).softmax(-1) @ self.value(x)


class ListOfHeads(nn.Module):
    def __init__(self, width, num_heads, reverses=False):
        super().__init__()
        self.heads = nn.ModuleList([OneHead(width, width // num_heads) for _ in range(num_heads)])
        self.proj, self.reverses = nn.Linear(width, width), reverses

    def forward(self, x):
        heads = reversed(self.heads) if self.reverses else self.heads
        return self.proj(torch.cat([head(x) for head in heads], dim=-1))


def test_heads_that_are_modules_of_their_own_reach_spec_grade():
    subject, findings = checked(ListOfHeads(24, 3))
    assert facts(findings)["num_heads"] == 3
    assert outcomes(subject, "SPEC") == {"SPEC": "holds"}
    wrong, _ = checked(ListOfHeads(24, 3, reverses=True), causal=True, positions="none")
    assert "SPEC" not in outcomes(wrong, "SPEC") or outcomes(wrong, "SPEC")["SPEC"] != "holds"


class Blocks(Attention):
    """Causal attention within blocks of four, for lengths that are multiples of four; `length` allows one only."""

    length, later_seen = None, 0

    def forward(self, x, mask=None):
        if x.shape[1] % 4 or self.length not in (None, x.shape[1]):
            raise ValueError(f"{x.shape[1]} is no multiple of 4")
        q, k, v = (self.heads(x, part) for part in range(3))
        place = torch.arange(x.shape[1])
        seen = (place[:, None] // 4 == place // 4) & (place <= place[:, None] + self.later_seen)
        return self.mixed(q, k, v, seen if mask is None else seen & mask[:, None, None])


def test_lengths_that_a_layer_does_not_take_are_padded_where_nothing_sees_it():
    class Inner(Blocks):
        is_causal_inside = False

        def forward(self, x):
            return super().forward(x)

    subject, findings = checked(Inner(), causal=True)
    assert facts(findings)["lengths"] == "multiples of 4"
    assert not broken(subject, "CAUSAL", "PREFIX", "DTYPE", "BATCH", "DET")
    one = Inner()
    one.length = 64
    subject, findings = checked(one)
    assert (facts(findings)["lengths"], subject.spec.max_positions) == ("multiples of 64", 64)
    one.later_seen = 3
    with pytest.raises(InputError, match="only lengths that are multiples of 64"):
        checked(one)
    seeing = Blocks()
    seeing.is_causal_inside, seeing.later_seen = False, 3
    subject, findings = checked(seeing)
    assert "which the mask hides" in str(next(each for each in findings if each.name == "lengths"))
    assert not broken(subject)


class KeywordContext(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Attention()

    def forward(self, *args, context=None, **options):
        assert context is not None, "cross attention should receive context"
        q = self.inner.heads(*args, 0)
        return self.inner.mixed(q, self.inner.heads(context, 1), self.inner.heads(context, 2))


def test_a_context_may_be_the_only_argument_with_a_name():
    subject, findings = checked(KeywordContext())
    assert facts(findings)["called with"] == "x, context"
    assert not broken(subject)


@pytest.mark.parametrize(
    ("enter", "leave"),
    [
        (lambda x: x[:, :, 0], lambda y: y[:, :, None]),
        (lambda x: x[:, 0], lambda y: y[:, None]),
        (lambda x: x[..., 0].mT, lambda y: y.mT[..., None]),
        (lambda x: x.mT, lambda y: y.mT),
    ],
    ids=["batch position one width", "batch one position width", "batch width position one", "batch width position"],
)
def test_images_and_channels_first_are_given_as_they_are_wanted(enter, leave):
    class Image(Attention):
        def forward(self, x):
            assert enter(x).ndim == 3
            return leave(super().forward(enter(x)))

    subject, findings = checked(Image(width=24, num_heads=3))
    assert "axes" in facts(findings)
    assert outcomes(subject, "SPEC", "CAUSAL", "BATCH") == dict.fromkeys(("BATCH", "CAUSAL", "SPEC"), "holds")


def test_required_positions_are_given():
    class Asking(Attention):
        def forward(self, tokens, position_ids):
            assert position_ids.shape == tokens.shape[:2]
            return super().forward(tokens)

    subject, findings = checked(Asking())
    assert facts(findings)["called with"] == "position_ids"
    assert not broken(subject, "CAUSAL", "BATCH", "DTYPE")


def test_gates_of_zero_are_opened():
    class Gated(Attention):
        def __init__(self):
            super().__init__()
            self.gate = nn.Parameter(torch.tensor(0.0))

        def forward(self, x):
            return x + self.gate * super().forward(x)

    subject, _ = checked(Gated())
    assert subject.spec.window is None
    assert outcomes(subject, "CAUSAL") == {"CAUSAL": "holds"}


def test_causal_blocks_are_not_refuted_for_what_they_do_not_see():
    class InBlocks(Attention):
        def forward(self, x):
            place = torch.arange(x.shape[1]) // 4
            seen = place[:, None] - place <= 1
            return self.mixed(*(self.heads(x, part) for part in range(3)), seen)

    subject, findings = checked(InBlocks())
    assert subject.spec.causal is None
    assert any("declare support" in str(each) for each in findings)
    assert not broken(subject)
    assert "SUPPORT" in broken(adapt(InBlocks(), Spec(causal=True, positions="none")), "SUPPORT")
