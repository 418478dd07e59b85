"""Traces of operations on caches: what they find, how small they get, and what is left alone."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import regard
from conformance.paged_prefixes import PagedPrefixes
from regard.conformance import all_laws
from regard.conformance.adapters import adapt
from regard.conformance.adapters.caches import CacheEngine
from regard.conformance.judging import judge
from regard.conformance.law import CheckSizes, LawTrial
from regard.conformance.laws.prefixhit import PrefixLayer
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import CacheLimits, Spec
from regard.conformance.traces import CacheOperation, FullPasses, TraceMove, TraceRun

ROTARY = Spec(causal=True, positions="rotary")
TRACE_LAWS = [name for name, law in all_laws().items() if law.shrinks_itself]
MATRICES = np.random.default_rng(0).standard_normal((3, 16, 16)) / 4


class Buffers:
    """A correct cache in preallocated buffers, changed in place, in a pool of rows."""

    spec = Spec(width=16, num_heads=1, causal=True, positions="none", max_positions=40)
    max_append = 20

    def __init__(self):
        self.free = list(range(3))
        self.k, self.v = np.zeros((2, 3, 2, 40, 16))

    def full(self, x):
        return self.attend(x, x @ MATRICES[1], x @ MATRICES[2])

    def start(self, batch):
        if not self.free:
            raise MemoryError
        return {"row": self.free.pop(0), "length": 0, "batch": batch}

    def append(self, seq, x):
        end = seq["length"] + x.shape[1]
        k, v = self.k[seq["row"], : seq["batch"]], self.v[seq["row"], : seq["batch"]]
        k[:, seq["length"] : end], v[:, seq["length"] : end] = x @ MATRICES[1], x @ MATRICES[2]
        seq["length"] = end
        return self.attend(x, k[:, :end], v[:, :end])

    def attend(self, x, k, v):
        past = k.shape[1] - x.shape[1]
        is_seen = np.arange(k.shape[1])[None, :] <= past + np.arange(x.shape[1])[:, None]
        z = np.where(is_seen, x @ MATRICES[0] @ k.swapaxes(1, 2) / 4, -np.inf)
        weights = np.exp(z - z.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v

    def fork(self, seq):
        other = self.start(seq["batch"])
        self.k[other["row"]], self.v[other["row"]] = self.k[seq["row"]], self.v[seq["row"]]
        return {**other, "length": seq["length"]}

    def crop(self, seq, length):
        seq["length"] = length

    def reorder(self, seq, order):
        self.k[seq["row"]], self.v[seq["row"]] = self.k[seq["row"]][order], self.v[seq["row"]][order]

    def reset(self, seq):
        seq["length"] = 0

    def release(self, seq):
        self.free.append(seq["row"])


class ReleasedTooSoon(Buffers):
    """A crop to nothing gives the row back, though the sequence goes on."""

    def crop(self, seq, length):
        super().crop(seq, length)
        if not length:
            self.free.insert(0, seq["row"])


class ForksLoseTheLastToken(Buffers):
    def fork(self, seq):
        return {**super().fork(seq), "length": max(seq["length"] - 1, 0)}


class CropsNothingToNothing(Buffers):
    """As keys[:, :-0] does."""

    def crop(self, seq, length):
        seq["length"] = 0 if length == seq["length"] else length


class RaisesAfterReset(Buffers):
    def reset(self, seq):
        del seq["length"]


def test_a_correct_cache_in_place_breaks_nothing():
    report = regard.check(Buffers)
    assert report.ok
    holding = {verdict.law for verdict in report.verdicts if verdict.outcome == "holds"}
    assert holding >= {"CACHE", "CROP", "FORK", "INTERLEAVE", "REORDER", "REUSE", "TRACE"}
    assert report.blind_to == ()
    assert report.skipped["the cache does not have this operation"] == ["EVICT", "PREFIXHIT", "REJECT", "SWAP"]
    assert "CAUSAL" not in {verdict.law for verdict in report.verdicts}


@pytest.mark.parametrize(
    ("broken", "law", "operation"),
    [
        (ForksLoseTheLastToken, "FORK", "fork A to B"),
        (RaisesAfterReset, "REUSE", "reset A"),
        (CropsNothingToNothing, "CROP", "crop A to 1 token"),
    ],
)
def test_a_failure_is_told_as_a_short_story(broken, law, operation):
    failure = regard.check(broken).failures[0]
    assert failure.law == law
    assert failure.diagnosis[0].family == "cache"
    story = (failure.counterexample or "").removeprefix("trace ").split(" · ")
    assert len(story) <= 4
    assert operation in story


def test_what_only_several_operations_show_is_found_by_traces_of_all():
    report = regard.check(ReleasedTooSoon, traces=60, laws="TRACE")
    assert [failure.law for failure in report.failures] == ["TRACE"]
    assert "crop" in (report.failures[0].counterexample or "")


def test_an_error_in_an_operation_is_told():
    assert "raises KeyError: 'length'" in (regard.check(RaisesAfterReset).failures[0].counterexample or "")


@pytest.mark.parametrize(
    ("bug", "page", "takes_oldest", "seed"),
    [
        *(("stale", 4, False, seed) for seed in range(6)),
        *(("own tokens", 5, False, seed) for seed in range(6)),
        ("stale", 16, True, 0),
        ("own tokens", 16, True, 0),
    ],
)
def test_prefixes_that_are_stale_or_of_another_place_are_found_with_every_seed(bug, page, takes_oldest, seed):
    class Broken(PagedPrefixes):
        bugs = frozenset({bug})

    Broken.page, Broken.num_pages, Broken.takes_oldest = page, 384 // page, takes_oldest
    failures = regard.check(Broken, laws="PREFIXHIT", seed=seed, traces=1).failures
    assert [failure.law for failure in failures] == ["PREFIXHIT"]
    assert "look up" in (failures[0].counterexample or "")


@pytest.mark.parametrize(("bug", "law"), [("overwritten", "PREFIXHIT"), ("no copy", "FORK"), ("not counted", "FORK")])
def test_shared_pages_that_are_written_or_given_away_are_found_without_random_traces(bug, law):
    class Broken(PagedPrefixes):
        bugs = frozenset({bug})

    failures = regard.check(Broken, laws=law, traces=1).failures
    assert [failure.law for failure in failures] == [law]
    assert (failures[0].counterexample or "").count(" · ") < 6


@pytest.mark.parametrize("bugs", [{""}, {"own tokens and place"}])
def test_pages_that_hold_what_they_should_break_nothing(bugs):
    """In one layer, keys depend on their tokens and places alone."""

    class Correct(PagedPrefixes):
        pass

    Correct.bugs = frozenset(bugs)
    report = regard.check(Correct, traces=2)
    assert report.ok
    report.require(["CROP", "FORK", "INTERLEAVE", "PREFIXHIT", "TRACE"])


@pytest.mark.parametrize("name", TRACE_LAWS)
def test_the_same_trace_is_found_again(name):
    law = all_laws()[name]
    assert judge(law, law.broken_example(), seed=2) == judge(law, law.broken_example(), seed=2)


def test_no_files_are_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    regard.check(ForksLoseTheLastToken, laws="FORK,TRACE")
    assert list(tmp_path.iterdir()) == []


def test_without_hypothesis_traces_are_skipped_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    verdict = judge(all_laws()["FORK"], ReferenceLayer(ROTARY))
    assert (verdict.outcome, verdict.reason) == ("skipped", "needs hypothesis: pip install 'regard[torch]'")


def test_broken_appends_are_no_failure_of_another_operation():
    class Forgets(ReferenceLayer):
        def step(self, x, cache, **options):
            return super().step(x, self.crop_cache(cache, cache.keys.shape[2] - 1), **options)

    subject = Forgets(ROTARY)
    outcomes = {name: judge(all_laws()[name], subject).outcome for name in ("FORK", "REORDER", "TRACE")}
    assert outcomes == {"FORK": "skipped", "REORDER": "skipped", "TRACE": "refuted"}


def test_prefixes_that_are_found_again_are_right_or_not_tried():
    class FindsNothing(PrefixLayer):
        def prefix_cache(self, x):
            return 0, self.empty_cache(len(x))

    law = all_laws()["PREFIXHIT"]
    assert judge(law, PrefixLayer(ROTARY)).outcome == "holds"
    verdict = judge(law, FindsNothing(ROTARY))
    assert (verdict.outcome, verdict.reason) == ("skipped", "no prefix is found again in any trace")


def test_a_declined_operation_is_not_done():
    class NeverForks(ReferenceLayer):
        def fork_cache(self, cache):
            raise NotImplementedError

    verdict = judge(all_laws()["FORK"], NeverForks(ROTARY))
    assert (verdict.outcome, verdict.reason) == ("skipped", "the cache never does this operation in any trace")


def test_only_one_cache_at_a_time_is_respected():
    subject = ReferenceLayer(ROTARY)
    subject.cache_limits = CacheLimits(is_single=True)
    assert judge(all_laws()["INTERLEAVE"], subject).reason == "only one cache can be in use at a time"
    assert judge(all_laws()["TRACE"], subject).outcome == "holds"


def test_eviction_needs_positions_that_count_distances():
    law = all_laws()["EVICT"]
    assert judge(law, ReferenceLayer(ROTARY)).outcome == "holds"
    assert "only for one layer" in (judge(law, ReferenceLayer(replace(ROTARY, depth=2))).reason or "")
    windowed = judge(law, ReferenceLayer(replace(ROTARY, window=4)))
    assert windowed.outcome == "holds"


def test_a_trace_is_told_move_by_move():
    trial = LawTrial(subject=ReferenceLayer(ROTARY))
    moves = [
        TraceMove(operation=operation, which=0, amount=amount)
        for operation, amount in [(CacheOperation.APPEND, 2), (CacheOperation.FORK, 0), (CacheOperation.CROP, 4)]
    ]
    run = TraceRun(FullPasses(trial), moves)
    assert run.failure is None
    assert run.story[:3] == ["append 3 tokens to A", "fork A to B", "crop A to 1 token"]
    assert run.story[3:] == ["append 1 token to A", "append 1 token to B", "append 1 token to A"]


def test_sequences_may_have_one_row_and_tuples_as_results():
    class OneRow:
        spec = Spec(width=16, num_heads=1)

        def start(self):
            return ()

        def append(self, seq, x):
            longer = (*seq, x)
            return Buffers.full(Buffers(), np.concatenate(longer, axis=1))[:, -x.shape[1] :], longer

    subject = adapt(OneRow())
    assert isinstance(subject, CacheEngine)
    assert subject.spec.causal
    assert subject.step(np.zeros((2, 3, 16)), subject.empty_cache(2))[0].shape == (2, 3, 16)
    assert regard.check(OneRow).ok


def test_torch_caches_get_tensors():
    torch = pytest.importorskip("torch")

    class Concatenated:
        spec = Spec(width=16, num_heads=1, positions="none")

        def start(self, batch):
            return torch.zeros(batch, 0, 16)

        def append(self, seq, x):
            seq = torch.cat([seq, x], dim=1)
            y = torch.nn.functional.scaled_dot_product_attention(
                x, seq, seq, attn_mask=torch.ones(x.shape[1], seq.shape[1]).tril(seq.shape[1] - x.shape[1]).bool()
            )
            return y, seq

        def reorder(self, seq, order):
            return seq[order]

    report = regard.check(Concatenated, traces=5)
    assert report.ok
    report.require(["CACHE", "INTERLEAVE", "REORDER", "TRACE"])


def test_the_number_of_traces_can_be_chosen():
    few, many = (
        judge(all_laws()["FORK"], ReferenceLayer(ROTARY), sizes=CheckSizes(lengths=(), traces=traces)).reason or ""
        for traces in (1, 7)
    )
    assert 0 < int(many.split()[0]) - int(few.split()[0]) <= 6
    with pytest.raises(regard.InputError, match="at least 1"):
        CheckSizes(traces=0)


def test_an_append_that_returns_no_outputs_is_refused():
    class NoOutputs:
        def start(self, batch):
            return []

        def append(self, seq, x):
            seq.append(x)

    with pytest.raises(regard.InputError, match="append returns NoneType"):
        adapt(NoOutputs())


def test_what_is_wrong_with_a_class_is_said_plainly():
    class WidthDeclared(Buffers):
        def append(self, seq, x):
            return super().append(seq, x)[:, -1]

    class Locked(Buffers):
        def __deepcopy__(self, memo):
            raise TypeError("a lock is not copied")

    class StartsOnly:
        def start(self, batch):
            return []

    with pytest.raises(regard.InputError, match=r"append returns ndarray \(1, 16\) for \(1, 3, 16\)\.$"):
        adapt(WidthDeclared())
    with pytest.raises(regard.InputError, match=r"cannot be copied with copy.deepcopy.* a lock is not copied"):
        adapt(Locked())
    with pytest.raises(regard.InputError, match="Its append is missing"):
        adapt(StartsOnly())


class NarrowAfterOneToken(Buffers):
    def append(self, seq, x):
        y = super().append(seq, x)
        return y[..., :8] if x.shape[1] == 1 else y


class LengthOnly(Buffers):
    def prefix_hit(self, x):
        return 0


class NotANumber(Buffers):
    def append(self, seq, x):
        return super().append(seq, x) * np.nan


@pytest.mark.parametrize(
    ("broken", "law", "words"),
    [
        (NarrowAfterOneToken, "TRACE", "append returns (2, 1, 8) instead of (2, 1, 16)"),
        (LengthOnly, "PREFIXHIT", "prefix_hit returns int instead of a sequence and a length"),
        (NotANumber, "TRACE", "token 0 of A is not finite, unlike in a full pass over its 1 token"),
    ],
)
def test_results_of_another_kind_are_told(broken, law, words):
    failures = regard.check(broken, laws=law, traces=1).failures
    assert [failure.law for failure in failures] == [law]
    assert words in (failures[0].counterexample or "")


def test_the_example_of_the_page_is_correct_as_it_stands():
    page = (Path(__file__).parents[2] / "docs" / "caches.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[-1], names)
    report = regard.check(names["Cache"], traces=5)
    assert report.ok
    report.require(["CACHE", "CROP", "FORK", "INTERLEAVE", "REORDER", "TRACE"])
    assert all(f"`{name}" in page for name in ("prefix_hit", "swap_out", "max_sequences", "max_append", "cache_error"))


class Counting(ReferenceLayer):
    """Counts full passes, and the rows of the largest."""

    num_calls, most_rows = 0, 0
    limit: int | None = None

    def call(self, x, **options):
        if self.limit is not None and len(x) > self.limit:
            raise ValueError("so many rows are not supported")
        self.num_calls += 1
        self.most_rows = max(self.most_rows, len(x))
        return super().call(x, **options)


def test_sequences_that_begin_alike_need_one_full_pass():
    subject = Counting(ROTARY)
    trial = LawTrial(subject=subject)
    passes = FullPasses(trial)
    x, other = passes.tokens[:, :9], passes.tokens[:, 20:25]
    found = passes.prefixes([x[:, :4], other, x, x[:, :1]])
    assert [y.shape[1] for y in found] == [4, 5, 9, 1]
    assert (subject.num_calls, subject.most_rows) == (1, 2 * len(x))
    for y, tokens in zip(found, (x[:, :4], other, x, x[:, :1]), strict=True):
        np.testing.assert_allclose(y, trial.call(tokens), atol=1e-5)


def test_a_layer_that_refuses_more_rows_is_called_sequence_by_sequence():
    subject = Counting(ROTARY)
    subject.limit = 2
    assert judge(all_laws()["INTERLEAVE"], subject).outcome == "holds"
    assert subject.most_rows == 2


def test_a_full_pass_that_depends_on_the_length_is_no_failure_of_the_cache():
    class Longer(ReferenceLayer):
        """All outputs depend on the number of tokens, with a cache as without."""

        def call(self, x, **options):
            return super().call(x, **options) * (1 + x.shape[1] / 64)

        def step(self, x, cache, **options):
            y, longer = super().step(x, cache, **options)
            return y * (1 + longer.mask.shape[1] / 64), longer

    assert judge(all_laws()["INTERLEAVE"], Longer(ROTARY)).outcome == "holds"


def test_an_append_that_raises_by_itself_is_not_blamed_on_other_sequences():
    class FivesRaise(Buffers):
        def append(self, seq, x):
            if x.shape[1] == 5:
                raise ValueError("five")
            return super().append(seq, x)

    report = regard.check(FivesRaise)
    assert {verdict.law for verdict in report.failures} == {"CACHE", "TRACE"}


def test_as_tests_a_cache_has_only_the_laws_of_caches():
    mark = regard.parametrize_with_laws([("buffers", Buffers, None)])
    names = {case.id for case in mark.args[1]}
    assert names >= {"buffers-CACHE", "buffers-CROP", "buffers-TRACE"}
    assert "buffers-CAUSAL" not in names
