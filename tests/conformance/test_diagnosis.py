"""Every broken layer is named, the right bug first."""

import numpy as np
import pytest

from conformance import misbuilt_calls, misbuilt_scores, misbuilt_turns
from regard.conformance import all_laws
from regard.conformance.diagnosis import FAMILIES, diagnose, family_of
from regard.conformance.judging import judge
from regard.conformance.law import Comparison, LawTrial
from regard.conformance.laws.spec import LAW as SPEC
from regard.conformance.mutations import MUTATIONS, matches_of_core, matches_of_layer
from regard.conformance.oracle import Oracle
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

BROKEN = {**misbuilt_scores.BROKEN, **misbuilt_turns.BROKEN, **misbuilt_calls.BROKEN}
FAMILY = {mutation.words: mutation.family for mutation in MUTATIONS}
# The same words for a plain mask and for padding: those of the mask are tried here.
FAMILY |= {mutation.words: mutation.family for mutation in MUTATIONS if mutation.scenario == "plain"}
HONEST = (
    {"causal": True, "positions": "rotary", "num_kv_heads": 2},
    {"causal": True, "positions": "rotary", "rotary_layout": "interleaved", "rotary_width": 4, "window": 4},
    {"causal": False, "positions": "alibi", "num_heads": 6, "width": 48},
    {"causal": False, "positions": "none", "softcap": 2.0, "scale": 0.3},
)


def test_there_are_many_bugs_and_each_is_of_a_family():
    assert len(MUTATIONS) >= 150
    assert {mutation.family for mutation in MUTATIONS} <= set(FAMILIES)
    plain = [mutation.words for mutation in MUTATIONS if mutation.scenario == "plain"]
    assert len(plain) == len(set(plain))


def test_most_bugs_have_a_broken_layer():
    assert set(BROKEN) <= set(FAMILY)
    assert len(BROKEN) >= 120


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_layer_is_named_first(words):
    layer = BROKEN[words]()
    told = diagnose(SPEC, LawTrial(subject=layer), Comparison(what="not the oracle's", error=1.0, tolerance=0.0))
    assert told[0] == f"{FAMILY[words]}: matches *{words}* to 2e-3", told


@pytest.mark.parametrize("spec", HONEST)
def test_an_honest_layer_matches_nothing(spec):
    layer = ReferenceLayer(Spec(**spec))
    found = matches_of_layer(layer, Oracle(spec=layer.spec, parts=layer.projections()))
    assert (found.matches, found.gap) == ((), 0.0)
    assert matches_of_core(layer, Oracle(spec=layer.spec)).gap == 0.0


class CoreOnly(Subject):
    """Shows nothing but its core."""

    name, capabilities = "core only", frozenset({"core"})

    def __init__(self, layer: ReferenceLayer) -> None:
        self.layer, self.spec = layer, layer.spec

    def call(self, x, **options):
        return self.layer.call(x)

    def core(self, q, k, v, **options):
        return self.layer.core(q, k, v, **options)


@pytest.mark.parametrize("words", ["no scale", "key and value heads tiled instead of repeated", "no softcap"])
def test_a_core_alone_is_enough_for_its_own_bugs(words):
    verdict = judge(SPEC, CoreOnly(BROKEN[words]()), diagnose=diagnose)
    assert verdict.outcome == "refuted"
    assert verdict.diagnosis[0] == f"{FAMILY[words]}: matches *{words}* to 2e-3"


def test_an_unknown_number_is_found_by_probing():
    odd = misbuilt_scores.broken(misbuilt_scores.ROTARY, scale=lambda self: 0.2718)()
    assert judge(SPEC, odd, diagnose=diagnose).diagnosis[0] == "scale: logits are 0.2718 q·k, and 0.3536 is declared"
    other = misbuilt_turns.turning(777.0 ** (-np.arange(4) / 4))()
    assert judge(SPEC, other, diagnose=diagnose).diagnosis[0].startswith("rotary: the base is 777")


@pytest.mark.parametrize("law", all_laws().values(), ids=lambda law: law.id)
def test_every_line_begins_with_a_family(law):
    verdict = judge(law, law.broken_example(), diagnose=diagnose)
    assert verdict.diagnosis
    assert all(line.partition(":")[0] in FAMILIES and line.partition(": ")[2] for line in verdict.diagnosis)


@pytest.mark.parametrize(
    ("law", "family"),
    [
        ("BATCH", "batch"),
        ("CACHE", "cache"),
        ("CAUSAL", "mask"),
        ("CONST", "rotary"),
        ("DET", "dropout"),
        ("GRAD", "gradient"),
        ("LAYOUT", "shape"),
        ("OVERFLOW", "softmax"),
        ("PAD", "padding"),
        ("PATH", "path"),
        ("PREC", "precision"),
        ("PURE", "in-place"),
        ("SHIFT", "rotary"),
        ("SUPPORT", "window"),
        ("SPEC", "scale"),
    ],
)
def test_an_outlaw_is_of_its_family(law, family):
    found = all_laws()[law]
    assert judge(found, found.broken_example(), diagnose=diagnose).diagnosis[0].partition(":")[0] == family


class BlackBox(Subject):
    """Shows nothing but its calls."""

    name = "black box"

    def __init__(self, layer: ReferenceLayer, *capabilities: str) -> None:
        self.layer, self.spec, self.capabilities = layer, layer.spec, frozenset(capabilities)

    def call(self, x, **options):
        return self.layer.call(x, **options)


@pytest.mark.parametrize(
    ("law", "words", "line"),
    [
        ("CAUSAL", "no causal mask", "mask: every earlier output moves, so there is no causal mask"),
        ("CAUSAL", "a causal mask that shows one key ahead", "mask: one key ahead is visible"),
        ("SUPPORT", "a causal mask that excludes the diagonal", "mask: the diagonal is excluded"),
        ("SUPPORT", "one key too many (W+1)", "window: one key too many (W+1)"),
        ("SUPPORT", "one key too few (W−1)", "window: one key too few (W−1)"),
        ("SUPPORT", "no window", "window: it is ignored"),
        ("CONST", "values turned too", "rotary: values are turned too"),
        ("CONST", "the mask applied after the softmax", "softmax: the weights of a row do not sum to one"),
        ("POSLIVE", "nothing turned", "rotary: the position code is never applied"),
        ("SHIFT", "only keys turned", "rotary: queries and keys are not turned alike"),
        ("GAP", "the positions given are ignored", "positions: the positions given are ignored"),
        ("PAD", "the first row's mask for all", "padding: the first row's mask is used for all"),
    ],
)
def test_signs_name_a_bug_where_there_is_no_oracle(law, words, line):
    layer = BlackBox(BROKEN[words](), "mask", "positions")
    verdict = judge(all_laws()[law], layer, diagnose=diagnose)
    assert verdict.outcome == "refuted"
    assert verdict.diagnosis[0] == line


class Hostile(ReferenceLayer):
    """Raises whenever it is asked for its weights, and is not causal."""

    def projections(self):
        raise RuntimeError("not for you")

    def visible(self, query_places, num_keys, mask):
        return np.ones((len(mask), len(query_places), num_keys), dtype=bool)


def test_a_layer_that_raises_is_still_diagnosed():
    causal = all_laws()["CAUSAL"]
    verdict = judge(causal, Hostile(Spec(causal=True, positions="none")), diagnose=diagnose)
    assert verdict.outcome == "refuted"
    assert verdict.diagnosis[0].startswith("mask:")


class NotANumber(ReferenceLayer):
    def call(self, x, **options):
        return super().call(x, **options) * np.nan


@pytest.mark.parametrize("law", ["DTYPE", "OVERFLOW"])
def test_a_layer_of_no_numbers_is_told_in_one_line(law):
    verdict = judge(all_laws()[law], NotANumber(Spec(causal=True, positions="none")), diagnose=diagnose)
    assert verdict.outcome == "refuted"
    (line,) = verdict.diagnosis
    assert "no output of an ordinary input is finite" in line
    assert line.partition(":")[0] in FAMILIES


class NothingInTheFirstRow(ReferenceLayer):
    def call(self, x, **options):
        y = super().call(x, **options)
        y[:, 0] = np.nan
        return y


def test_a_layer_of_some_numbers_is_diagnosed_by_them():
    verdict = judge(all_laws()["DTYPE"], NothingInTheFirstRow(Spec(causal=True, positions="none")), diagnose=diagnose)
    assert verdict.outcome == "refuted"
    assert not any("no output of an ordinary input" in line for line in verdict.diagnosis)


def test_families_of_words():
    assert family_of("BATCH", "a view mixes batch and position") == "batch"
    assert family_of("CACHE", "cached keys are rotated again") == "cache"
    assert family_of("PREFIX", "the scale depends on the length") == "scale"
