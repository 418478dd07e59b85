"""Recurrences and decoders as subjects: correct ones break no law, broken ones are told what they are."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.attention.recurrences import RECURRENCES, RecurrenceKind
from regard.conformance.adapters.recurrences import RecurrenceLayer
from regard.conformance.recurrence import Recurrence, input_width, recurrent_inputs
from regard.conformance.reference_decoder import ReferenceDecoder
from regard.conformance.reference_recurrence import REFERENCE, chunked, packed, recurrent
from regard.core.errors import InputError

DOCS = Path(__file__).parents[3] / "docs"


def outcome(report: regard.CheckReport) -> list[tuple[str, str]]:
    return [(verdict.law, verdict.counterexample or verdict.reason or "") for verdict in report.failures]


def first_family(report: regard.CheckReport) -> str | None:
    return report.failures[0].diagnosis[0].family if report.failures else None


def in_numpy(kind: RecurrenceKind) -> Recurrence:
    def function(*inputs, state=None):
        y, state = RECURRENCES[kind](*inputs).recurrent(state)
        return y.astype(inputs[0].dtype), state

    def in_chunks(*inputs, state=None):
        y, state = RECURRENCES[kind](*inputs).chunked(8, state)
        return y.astype(inputs[0].dtype), state

    return Recurrence(function=function, kind=kind, chunked=in_chunks, chunk_size=8, reset=np.zeros_like)


@pytest.mark.parametrize("kind", RECURRENCES)
def test_every_kind_obeys_all_laws(kind):
    report = regard.check(in_numpy(kind))
    assert outcome(report) == []
    report.require(["SPLIT", "RESUME", "RESET", "CHUNKED", "UPDATE", "CAUSAL", "BATCH"])
    assert report.grade == "spec"


def test_the_reference_obeys_the_laws_on_padding_and_documents_too():
    report = regard.check(REFERENCE)
    assert outcome(report) == []
    report.require(["PADSTATE", "PACKED", "PAD", "JUNK"])


@pytest.mark.parametrize("kind", ["delta", "mamba", "short_conv"])
def test_the_inputs_of_a_kind_are_what_they_should_be(kind):
    x = 100 * np.random.default_rng(0).standard_normal((2, 5, input_width(kind)))
    found = recurrent_inputs(kind, x)
    assert all(np.isfinite(each).all() for each in found)
    if kind == "delta":
        np.testing.assert_allclose(np.linalg.norm(found[1], axis=-1), 1.0)
        assert found[3].min() >= 0
        assert found[3].max() <= 1
    if kind == "mamba":
        assert found[1].min() > 0
        assert found[2].max() <= 0
        np.testing.assert_array_equal(found[2], recurrent_inputs(kind, x + 1)[2])


def test_the_example_of_the_page_works(tmp_path):
    pytest.importorskip("torch")
    [example, *_] = re.findall(r"```python\n(.*?)```", (DOCS / "recurrences.md").read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "mine.py"
    path.write_text(example, encoding="utf-8")
    report = regard.check(f"{path}:subject")
    assert outcome(report) == []
    report.require(["UPDATE", "GRADSTATE", "SPLIT"])


def test_the_example_of_the_page_on_positions_works(tmp_path):
    pytest.importorskip("torch")
    page = (DOCS / "cached-positions.md").read_text(encoding="utf-8")
    [example, *_] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [right, wrong] = re.findall(r"with `(.*?)` in place of\s+`(.*?)`", page, re.IGNORECASE)[0][::-1]
    for name, text in {"mine": example, "counting": example.replace(right, wrong)}.items():
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        report = regard.check(f"{path}:subject", laws="AXES,CACHE,REQUESTS,TRACE")
        assert [verdict.law for verdict in report.failures] == ([] if name == "mine" else ["AXES"])


class FromTheLastToken(ReferenceDecoder):
    def next_positions(self, cache, batch, count):
        start = np.zeros(batch, dtype=int) if cache is None else cache.positions[:, :, -1].max(axis=0) + 1
        return np.broadcast_to(start[:, None] + np.arange(count), (self.axes, batch, count))


class KeysOnOtherAxes(ReferenceDecoder):
    num_rotated = 0

    def rotate(self, heads, positions, length):
        self.num_rotated += 1
        return super().rotate(heads, positions[::-1] if self.num_rotated % 2 else positions, length)


@pytest.mark.parametrize("kind", [FromTheLastToken, KeysOnOtherAxes])
def test_positions_on_several_axes_are_told_apart(kind):
    report = regard.check(regard.CachedDecoder(function=kind(axes=3), axes=3), laws="AXES")
    assert first_family(report) == "positions"


def lost_by_empty(*inputs, state=None):
    y, after = packed(*inputs, state=state)
    return y, np.where(np.diff(inputs[-1])[:, None, None, None] == 0, 0, after)


def given_to_empty(*inputs, state=None):
    y, after = packed(*inputs, state=state)
    for document in np.flatnonzero(np.diff(inputs[-1]) == 0):
        after[document] = after[document - 1]
    return y, after


@pytest.mark.parametrize("function", [lost_by_empty, given_to_empty])
def test_empty_documents_keep_their_own_states(function):
    report = regard.check(replace(REFERENCE, packed=function), laws="PACKED")
    assert first_family(report) == "varlen"
    assert "empty" in (report.failures[0].counterexample or "")


def test_a_layer_without_a_kind_is_checked_but_for_its_formula():
    torch = pytest.importorskip("torch")
    layer = torch.nn.GRU(32, 32, batch_first=True)

    def function(x, state=None):
        return layer.to(x.dtype)(x, state)

    report = regard.check(Recurrence(function=function))
    assert outcome(report) == []
    report.require(["SPLIT", "RESUME", "RESET", "GRADSTATE"])
    assert "UPDATE" in report.skipped["the kind of the recurrence is not declared"]


def test_jax_recurrences_obey_the_laws():
    jax = pytest.importorskip("jax")

    def linear(q, k, v, state=None):
        shape = (*k.shape[:1], *k.shape[2:], v.shape[-1])
        state = jax.numpy.zeros(shape, q.dtype) if state is None else state

        def step(held, token):
            now_q, now_k, now_v = token
            held = held + now_k[..., None] * now_v[..., None, :]
            return held, jax.numpy.einsum("bhkv,bhk->bhv", held, now_q)

        state, y = jax.lax.scan(step, state, tuple(each.swapaxes(0, 1) for each in (q, k, v)))
        return y.swapaxes(0, 1), state

    report = regard.check(
        Recurrence(function=linear, kind="linear"), laws="SPLIT,UPDATE,GRADSTATE,CAUSAL,RESUME", lengths=()
    )
    assert outcome(report) == []
    assert report.counts == {"holds": 5}


def forgets_first_head(*inputs, state=None, **options):
    y, after = recurrent(*inputs, state=state, **options)
    after[:, 0] = 0
    return y, after


def keeps_state(*inputs, state=None, kept=[None], **options):  # noqa: B006 - the bug
    y, kept[0] = recurrent(*inputs, state=kept[0] if state is None and kept[0] is not None else state, **options)
    return y, kept[0]


def half_precision_state(*inputs, state=None, **options):
    y, after = recurrent(*inputs, state=state, **options)
    return y, after.astype(np.float16).astype(np.float64)


def sums_over_rows(*inputs, state=None, **options):
    y, after = recurrent(*inputs, state=state, **options)
    return y + y.mean(axis=0, keepdims=True) - y / len(y), after


def decays_late(*inputs, state=None, mask=None):
    q, k, v, g, beta = inputs
    return recurrent(q, k, v, np.roll(g, 1, axis=1) * (np.arange(g.shape[1]) > 0)[None, :, None], beta, state=state)


def looks_ahead(*inputs, state=None, **options):
    q, *rest = inputs
    return recurrent(np.concatenate([q[:, 1:], q[:, :1]], axis=1), *rest, state=state, **options)


def drops_last_chunk(*inputs, state=None):
    y, after = chunked(*inputs, state=state)
    full = inputs[0].shape[1] // 4 * 4
    return y, after if full == 0 else chunked(*(each[:, :full] for each in inputs), state=state)[1]


def shifts_documents(*inputs, state=None):
    *per_token, borders = inputs
    return packed(*per_token, np.concatenate([borders[:1], borders[1:-1] + 1, borders[-1:]]), state=state)


BROKEN = {
    "part of the state is lost": ({"function": forgets_first_head}, "state"),
    "the state is kept in the function": ({"function": keeps_state}, "state"),
    "the state is rounded": ({"function": half_precision_state}, "precision"),
    "rows are summed": ({"function": sums_over_rows}, "batch"),
    "decays come late": ({"function": decays_late}, "update"),
    "a later query is used": ({"function": looks_ahead}, "mask"),
    "the state of the last chunk is lost": ({"chunked": drops_last_chunk}, "chunk"),
    "borders are off by one": ({"packed": shifts_documents}, "varlen"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_recurrence_is_caught_and_its_family_named_first(name):
    changes, family = BROKEN[name]
    report = regard.check(replace(REFERENCE, name=name, **changes))
    assert not report.ok
    assert first_family(report) == family, outcome(report)


def test_a_function_that_is_no_recurrence_is_refused_with_the_reason():
    with pytest.raises(InputError, match="does not take the inputs of gated_delta"):
        RecurrenceLayer(Recurrence(function=lambda x: x, kind="gated_delta"))


@pytest.mark.parametrize(
    ("decoder", "options"),
    [
        (ReferenceDecoder(axes=3), {"axes": 3}),
        (ReferenceDecoder(switch_length=16), {"switch_length": 16, "crossing": "recompute"}),
    ],
)
def test_correct_decoders_obey_all_laws(decoder, options):
    report = regard.check(regard.CachedDecoder(function=decoder, **options))
    assert outcome(report) == []
    report.require(["REQUESTS", "CACHE", "CACHEPURE", "AXES" if "axes" in options else "SWITCH"])


def test_a_switch_too_early_to_try_anything_is_refused():
    with pytest.raises(InputError, match="12 tokens or more"):
        regard.CachedDecoder(function=ReferenceDecoder(), switch_length=4)


def test_an_isolated_recurrence_gives_the_same_verdicts(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from regard.conformance.reference_recurrence import REFERENCE as subject\n"
        "from regard.conformance.laws.split import LAW\n"
        "broken = LAW.broken_example()\n",
        encoding="utf-8",
    )
    here, there = regard.check(REFERENCE), regard.check(f"{path}:subject")
    assert [each.outcome for each in here.verdicts] == [each.outcome for each in there.verdicts]
    [verdict] = regard.check(f"{path}:broken", laws="SPLIT").verdicts
    assert (verdict.outcome, verdict.diagnosis[0].family) == ("refuted", "state")
