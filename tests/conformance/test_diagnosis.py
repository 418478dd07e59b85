"""Every broken layer is named, the right bug first."""

import numpy as np
import pytest

from conformance import broken_attention, broken_calls, broken_projections
from regard.conformance import all_laws
from regard.conformance.diagnosis import diagnose, match_core, match_layer
from regard.conformance.judging import judge
from regard.conformance.law import Comparison, LawTrial
from regard.conformance.laws.spec import LAW as SPEC
from regard.conformance.mutations import all_mutations
from regard.conformance.oracle import Oracle
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject
from regard.conformance.verdict import Diagnosis

BROKEN = {**broken_attention.BROKEN, **broken_projections.BROKEN, **broken_calls.BROKEN}
MUTATIONS = all_mutations()
FAMILY = {mutation.description: mutation.family for mutation in MUTATIONS}
# Some descriptions are the same for a plain mask and for padding: those of the mask are tried here.
FAMILY |= {mutation.description: mutation.family for mutation in MUTATIONS if mutation.scenario == "plain"}
LAWFUL = (
    {"causal": True, "positions": "rotary", "num_kv_heads": 2},
    {"causal": True, "positions": "rotary", "rotary_layout": "interleaved", "rotary_width": 4, "window": 4},
    {"causal": False, "positions": "alibi", "num_heads": 6, "width": 48},
    {"causal": False, "positions": "none", "softcap": 2.0, "scale": 0.3},
)


def matching(words: str) -> Diagnosis:
    return Diagnosis(FAMILY[words], f"matches “{words}” to 2e-3")


def test_there_are_many_mutations_and_none_twice():
    assert len(MUTATIONS) >= 150
    assert len({(mutation.scenario, mutation.description) for mutation in MUTATIONS}) == len(MUTATIONS)


def test_most_bugs_have_a_broken_layer():
    assert set(BROKEN) <= set(FAMILY)
    assert len(BROKEN) >= 120


@pytest.mark.parametrize("words", BROKEN)
def test_a_broken_layer_is_named_first(words):
    layer = BROKEN[words]()
    bugs = diagnose(SPEC, LawTrial(subject=layer), Comparison(what="not the oracle's", error=1.0, tolerance=0.0))
    assert bugs[0] == matching(words), bugs


@pytest.mark.parametrize("spec", LAWFUL)
def test_a_lawful_layer_matches_no_mutation(spec):
    layer = ReferenceLayer(Spec(**spec))
    [by_layer] = match_layer(layer, Oracle(spec=layer.spec, parts=layer.projections()))
    by_core = match_core(layer, Oracle(spec=layer.spec))
    assert (by_layer.mutations, by_layer.gap) == (by_core.mutations, by_core.gap) == ((), 0.0)


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
    assert verdict.diagnosis[0] == matching(words)


def test_an_unknown_number_is_found_by_probing():
    odd = broken_attention.broken(broken_attention.ROTARY, scale=lambda self: 0.2718)()
    found = judge(SPEC, odd, diagnose=diagnose).diagnosis[0]
    assert found == Diagnosis("scale", "logits are 0.2718 q·k, but 0.3536 is declared")
    other = broken_projections.rotating(777.0 ** (-np.arange(4) / 4))()
    found = judge(SPEC, other, diagnose=diagnose).diagnosis[0]
    assert found.family == "rotary"
    assert found.text.startswith("the base is 777")


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
        ("CAUSAL", "no causal mask", "mask: all earlier outputs change, so there is no causal mask"),
        ("CAUSAL", "a causal mask that shows one key ahead", "mask: one key ahead is visible"),
        ("SUPPORT", "a causal mask that excludes the diagonal", "mask: the diagonal is excluded"),
        ("SUPPORT", "one key too many (W+1)", "window: one key too many (W+1)"),
        ("SUPPORT", "one key too few (W−1)", "window: one key too few (W−1)"),
        ("SUPPORT", "no window", "window: it is ignored"),
        ("CONST", "values rotated too", "rotary: values are rotated too"),
        ("CONST", "the mask applied after the softmax", "softmax: the weights of a row do not sum to one"),
        ("POSLIVE", "nothing rotated", "rotary: the position code is never applied"),
        ("SHIFT", "only keys rotated", "rotary: queries and keys are not rotated alike"),
        ("GAP", "the given positions ignored", "positions: the given positions are ignored"),
        ("PAD", "the first row's mask for all", "padding: the first row's mask is used for all"),
    ],
)
def test_signs_name_a_bug_where_there_is_no_oracle(law, words, line):
    layer = BlackBox(BROKEN[words](), "mask", "positions")
    verdict = judge(all_laws()[law], layer, diagnose=diagnose)
    assert verdict.outcome == "refuted"
    assert str(verdict.diagnosis[0]) == line


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
    assert verdict.diagnosis[0].family == "mask"


class NotANumber(ReferenceLayer):
    def call(self, x, **options):
        return super().call(x, **options) * np.nan


@pytest.mark.parametrize("law", ["DTYPE", "OVERFLOW"])
def test_a_layer_of_no_numbers_is_told_in_one_line(law):
    verdict = judge(all_laws()[law], NotANumber(Spec(causal=True, positions="none")), diagnose=diagnose)
    assert verdict.outcome == "refuted"
    (bug,) = verdict.diagnosis
    assert bug.family == "precision"
    assert "infinite or NaN" in bug.text


class NothingInTheFirstRow(ReferenceLayer):
    def call(self, x, **options):
        y = super().call(x, **options)
        y[:, 0] = np.nan
        return y


def test_a_layer_of_some_numbers_is_diagnosed_by_them():
    verdict = judge(all_laws()["DTYPE"], NothingInTheFirstRow(Spec(causal=True, positions="none")), diagnose=diagnose)
    assert verdict.outcome == "refuted"
    assert not any("no output for ordinary inputs" in bug.text for bug in verdict.diagnosis)


def test_two_bugs_in_one_layer_are_named_as_two():
    class Both(type(BROKEN["the first row's mask for all"]())):
        def scale(self) -> float:
            return 1.0

    layer = Both(Spec(**broken_attention.ROTARY))
    by_spec, by_pad = (judge(law, layer, diagnose=diagnose).diagnosis for law in (SPEC, all_laws()["PAD"]))
    assert by_spec[:2] == (matching("no scale"), matching("the first row's mask for all"))
    assert by_pad[:2] == (matching("the first row's mask for all"), matching("no scale"))


def test_bugs_that_explain_the_same_outputs_are_tried_on_others():
    both = judge(SPEC, BROKEN["the width of all key heads instead of one"](), diagnose=diagnose).diagnosis
    assert both[1] == matching("twice the head width")
    assert both[0].note == "no input tried distinguishes it from “twice the head width”"
