"""Bugs that show only in long inputs or large batches are refuted there, with the size at which they begin."""

import numpy as np
import pytest

from regard.conformance import InputSize, all_laws
from regard.conformance.diagnosis import diagnose
from regard.conformance.judging import fitting_sizes, judge
from regard.conformance.law import CheckSizes
from regard.conformance.mutations.sizes import size_mutations
from regard.conformance.oracle import AttentionInputs, Oracle
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.core.errors import InputError

LAWS = all_laws()
ROTARY = Spec(width=16, num_heads=2, causal=True, positions="rotary")
SIZES = CheckSizes(lengths=(40,), batch=6)


class ClampedTable(ReferenceLayer):
    def rotate(self, heads, positions):
        return super().rotate(heads, np.minimum(positions, 31))


class LostRow(ReferenceLayer):
    def mix(self, weights, v):
        mixed = super().mix(weights, v)
        mixed[:, :, 31::32] = 0
        return mixed


class FirstFourRowsPadded(ReferenceLayer):
    def read_mask(self, given):
        return super().read_mask(given) | (np.arange(len(given)) >= 4)[:, None]


class PageOf16(ReferenceLayer):
    def step(self, x, cache, **options):
        if cache.keys.shape[2] == 16:
            cache = self.crop_cache(cache, 15)
        return super().step(x, cache, **options)


class LongChunkAlone(ReferenceLayer):
    def visible(self, query_places, num_keys, mask):
        seen = super().visible(query_places, num_keys, mask)
        return seen & (np.arange(num_keys) >= query_places[0]) if len(query_places) >= 9 else seen


class MaskReadTo20(ReferenceLayer):
    def read_mask(self, given):
        return super().read_mask(given) | (np.arange(given.shape[-1]) >= 20)


@pytest.mark.parametrize(
    ("law", "kind", "size", "line"),
    [
        ("SPEC", ClampedTable, None, "rotary: positions from 32 on are taken for 31"),
        ("CONST", LostRow, "length 32", "block: outputs 31, 63, 95, 127 of inputs of 32"),
        ("PAD", FirstFourRowsPadded, "batch 5, length 12", "batch: row 4 and later rows of padded batches are wrong"),
        ("CACHE", PageOf16, "length 17", "cache: a new token after 16 cached ones is wrong"),
        ("CACHE", LongChunkAlone, None, "cache: 9 or more new tokens at once after a cache are wrong"),
        ("JUNK", MaskReadTo20, None, "padding: the mask is ignored at keys 20 to 129"),
    ],
)
def test_a_bug_that_needs_a_size_is_refuted_at_it(law, kind, size, line):
    assert judge(LAWS[law], kind(ROTARY)).outcome == "holds"
    verdict = judge(LAWS[law], kind(ROTARY), diagnose=diagnose, sizes=SIZES)
    assert verdict.outcome == "refuted"
    assert size is None or size in verdict.counterexample
    assert str(verdict.diagnosis[0]).startswith(line), verdict.diagnosis


@pytest.mark.parametrize(
    "spec",
    [
        ROTARY,
        Spec(width=16, num_heads=2, causal=True, positions="alibi", window=5),
        Spec(width=16, num_heads=2, causal=False, positions="none", softcap=3.0),
    ],
)
def test_a_lawful_layer_obeys_at_all_sizes(spec):
    for law in LAWS.values():
        if law.grows_in:
            verdict = judge(law, ReferenceLayer(spec), sizes=CheckSizes(lengths=(32, 67), batch=5))
            assert verdict.outcome in ("holds", "skipped"), verdict


class OnlyShort(ReferenceLayer):
    """Has a largest length and a largest batch that it does not declare."""

    def call(self, x, **options):
        if x.shape[1] > 40 or len(x) > 3:
            raise IndexError("too large")
        return super().call(x, **options)


def test_sizes_that_a_layer_does_not_take_are_left_out():
    sizes = fitting_sizes(OnlyShort(ROTARY), CheckSizes())
    assert sizes.lengths == (32,)
    assert sizes.batch == InputSize().batch
    assert all(judge(LAWS[law], OnlyShort(ROTARY), sizes=CheckSizes()).outcome == "holds" for law in ("PREFIX", "PAD"))


def test_larger_sizes_grow_where_the_law_says_so():
    sizes = CheckSizes(lengths=(64, 131), batch=8)
    shapes = {law: [(s.batch, s.length) for s in LAWS[law].larger_sizes(ROTARY, sizes)] for law in LAWS}
    assert shapes["SPEC"] == [(2, 64), (8, 131)]
    assert shapes["BATCH"] == [(8, 12)]
    assert shapes["CACHE"] == [(2, 64), (2, 131)]
    assert shapes["DET"] == []
    short = Spec(max_positions=64, causal=True)
    assert [s.length for s in LAWS["CACHE"].larger_sizes(short, sizes)] == [64]


@pytest.mark.parametrize("wrong", [{"lengths": (0,)}, {"batch": 0}, {"block": 1}])
def test_sizes_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError):
        CheckSizes(**wrong)


@pytest.mark.parametrize(
    "spec", [{"positions": "rotary"}, {"positions": "alibi"}, {"positions": "rotary", "window": 5}]
)
def test_mutations_of_sizes_change_long_inputs(spec):
    layer = ReferenceLayer(Spec(width=16, num_heads=2, causal=True, **spec))
    oracle = Oracle(spec=layer.spec, parts=layer.projections())
    x = np.random.default_rng(0).standard_normal((1, 30, 16))
    inputs = AttentionInputs.of(x)
    outputs = [mutation.output(oracle, inputs) for mutation in size_mutations(layer.spec, 12)]
    assert all(output is not None and output.shape == x.shape for output in outputs)
    assert sum(not np.allclose(output, oracle.output(inputs)) for output in outputs if output is not None) >= 8
    assert len({mutation.description for mutation in size_mutations(layer.spec, 12)}) == len(outputs)
