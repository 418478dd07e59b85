"""Every law, found by discovery: it catches its broken example, passes lawful layers and needs a positive control."""

import importlib
import re
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import pytest

from conformance.broken_layers import BROKEN, LAWFUL, NUM_KINDS, PLAIN, ROTARY
from regard.conformance import Law, all_laws, laws
from regard.conformance.diagnosis import diagnose
from regard.conformance.judging import judge
from regard.conformance.law import CheckSizes, Comparison
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import CAPABILITIES, Spec
from regard.conformance.verdict import LawVerdict
from regard.core.catalog import discover

LAWS = all_laws()
# Traces take most of the time, so they are tried with one seed here and more thoroughly in test_traces.py.
FEW_TRACES = CheckSizes(lengths=(), traces=3)
WITHOUT_TRACES = [law for law in LAWS.values() if not law.shrinks_itself]
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
TRIED_ON_REFERENCE = {name: law for name, law in LAWS.items() if ReferenceLayer.capabilities.issuperset(law.needs)}
each_law_tried = pytest.mark.parametrize("law", TRIED_ON_REFERENCE.values(), ids=TRIED_ON_REFERENCE.keys())


@cache
def on_broken_example(name: str) -> LawVerdict:
    return judge(LAWS[name], LAWS[name].broken_example(), diagnose=diagnose)


def test_a_law_is_in_the_file_of_its_name_and_ranks_are_unique():
    files = discover(laws)
    assert [module.LAW.id.lower() for module in files.values()] == [*files]
    assert len(LAWS) == len(files)
    assert len({law.rank for law in LAWS.values()}) == len(LAWS)


@each_law
def test_a_law_says_what_it_demands_and_what_usually_breaks_it(law: Law):
    assert law.id.isupper()
    assert len(law.statement.split()) >= 3
    assert not law.statement.endswith(".")
    assert law.suspects
    assert len(set(law.usual_bugs)) == len(law.suspects)
    assert all(bug.family for bug in law.usual_bugs)
    assert set(law.needs) <= set(CAPABILITIES)
    assert importlib.import_module(f"{laws.__name__}.{law.id.lower()}").__doc__


@each_law
def test_a_broken_example_is_caught(law: Law):
    verdict = on_broken_example(law.id)
    assert (verdict.outcome, verdict.status) == ("refuted", "refuted"), verdict
    assert verdict.error is not None
    assert verdict.tolerance is not None
    assert not verdict.error <= verdict.tolerance
    assert verdict.layer == law.broken_example().name != "reference layer"


@each_law
def test_a_broken_example_is_caught_for_any_seed(law: Law):
    caught = [judge(law, law.broken_example(), seed=seed).outcome for seed in range(1, 5)]
    assert caught == ["refuted"] * 4


@each_law
def test_a_broken_example_is_diagnosed_as_a_bug_that_the_law_is_for(law: Law):
    diagnosis = on_broken_example(law.id).diagnosis
    assert diagnosis[0].family in {law.family, *(bug.family for bug in law.usual_bugs)}
    assert all(bug.family and bug.text for bug in diagnosis)


@each_law
def test_a_counterexample_is_small_and_says_where(law: Law):
    counterexample = on_broken_example(law.id).counterexample or ""
    if law.shrinks_itself:
        assert counterexample.startswith("trace ")
        assert 2 <= counterexample.count(" · ") + 1 <= 6
        return
    found = re.match(r"batch (\d+), length (\d+)", counterexample)
    assert found is not None
    batch, length = map(int, found.groups())
    assert batch <= law.size.batch
    assert length <= law.size_for(law.broken_example().spec).length


@each_law_tried
def test_the_reference_layer_obeys_where_the_broken_example_does_not(law: Law):
    verdict = judge(law, ReferenceLayer(law.broken_example().spec))
    assert verdict.outcome == "holds", verdict


@each_law
def test_a_law_judges_alike_twice(law: Law):
    layer = ReferenceLayer(replace(ROTARY, num_kv_heads=2))
    assert judge(law, layer, seed=3) == judge(law, layer, seed=3)


@each_law
def test_a_skipped_law_says_what_the_layer_lacks(law: Law):
    class Bare(ReferenceLayer):
        capabilities = frozenset()

    verdict = judge(law, Bare(law.broken_example().spec))
    if law.needs:
        assert verdict.outcome == "skipped"
        assert CAPABILITIES[law.needs[0]][1] in (verdict.reason or "")


@pytest.mark.parametrize("name", LAWFUL)
def test_lawful_layers_pass_or_are_skipped_with_a_reason(name: str):
    """Seeds are fixed; tolerances leave a margin of ten and more over the rounding seen."""
    spec = LAWFUL[name]
    for seed in range(4 if [*LAWFUL].index(name) < NUM_KINDS else 1):
        layer = ReferenceLayer(spec, seed=seed)
        for law in LAWS.values() if seed == 0 else WITHOUT_TRACES:
            verdict = judge(law, layer, seed=seed, sizes=FEW_TRACES if law.shrinks_itself else None)
            # Controls drown in bfloat16's rounding, and the past does not matter in a window of one.
            may_be_unclear = spec.dtype == "bfloat16" or spec.window == 1
            assert verdict.outcome in ("holds", "skipped", *["inconclusive"] * may_be_unclear), (seed, verdict)
            assert verdict.reason


@each_law_tried
def test_a_law_is_tried_on_some_lawful_layers(law: Law):
    tried = (name for name, spec in LAWFUL.items() if judge(law, ReferenceLayer(spec)).outcome == "holds")
    assert len([*islice(tried, 2)]) == 2


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "broken", "spec"), BROKEN, ids=[f"{name}-{kind.__name__}" for name, kind, _ in BROKEN]
)
def test_usual_bugs_are_refuted(name: str, broken: type[ReferenceLayer], spec: Spec):
    for seed in range(3):
        verdict = judge(LAWS[name], broken(spec, seed=seed), seed=seed)
        assert verdict.outcome == "refuted", (seed, verdict)
        assert "length" in (verdict.counterexample or "")


class Dead(ReferenceLayer):
    """A layer whose weights and outputs are all zero, in any dtype."""

    def __init__(self, spec: Spec, **options: Any) -> None:
        super().__init__(spec, **options)
        self.matrices = {part: matrix * 0 for part, matrix in self.matrices.items()}

    def mix(self, weights: np.ndarray, v: np.ndarray) -> np.ndarray:
        return super().mix(weights, v) * 0


@each_law_tried
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_dead_layer_is_inconclusive(law: Law, dtype: str):
    verdict = judge(law, Dead(replace(law.broken_example().spec, dtype=dtype)))
    assert (verdict.outcome, verdict.status) == ("inconclusive", "undecided"), verdict


@each_law_tried
def test_a_crash_is_a_verdict(law: Law):
    class Raises(ReferenceLayer):
        def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
            raise RuntimeError("no kernel for this device")

    verdict = judge(law, Raises(law.broken_example().spec))
    assert verdict.outcome == "crashed"
    assert "no kernel for this device" in (verdict.reason or "")


class NanFromTheSecondCallOn(ReferenceLayer):
    calls = 0

    def mix(self, weights: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.calls += 1
        return super().mix(weights, v) * self.dtype.type(np.nan if self.calls > 1 else 1)


@each_law_tried
def test_nan_never_passes(law: Law):
    verdict = judge(law, NanFromTheSecondCallOn(law.broken_example().spec))
    # Whether a call leaves its arguments alone does not depend on what it gives.
    assert verdict.outcome != "holds" or law.family == "in-place", verdict
    assert Comparison(what="", error=np.nan, tolerance=1.0).is_broken


@pytest.mark.parametrize(
    ("name", "spec", "why"),
    [
        ("CAUSAL", Spec(), "nothing is declared"),
        ("PREFIX", Spec(causal=False), "the layer declares False"),
        ("SUPPORT", Spec(), "nothing is declared"),
        ("SUPPORT", Spec(causal=True, window=1000), "reach 1000 tokens"),
        ("SUPPORT", Spec(causal=True, window=10, max_positions=10), "reach 10 tokens"),
        ("CONST", Spec(positions="sinusoidal"), "the layer declares sinusoidal"),
        ("CONST", Spec(positions="relative"), "the layer declares relative"),
        ("CONST", Spec(), "nothing is declared"),
        ("CONST", Spec(positions="none", sink=True), "sink"),
        ("PERM", Spec(causal=True, positions="none"), "causal = False"),
        ("PERM", replace(PLAIN, window=3), "window"),
        ("POSLIVE", Spec(positions="none"), "the layer declares none"),
        ("POSLIVE", Spec(), "nothing is declared"),
        ("POSLIVE", Spec(positions="rotary", window=2), "window"),
        ("POSLIVE", Spec(positions="rotary", causal=True, depth=2), "masks alone"),
        ("SPEC", Spec(positions="rotary"), "causal"),
    ],
)
def test_a_law_binds_only_layers_that_declare_it(name: str, spec: Spec, why: str):
    verdict = judge(LAWS[name], ReferenceLayer(spec))
    assert verdict.outcome == "skipped"
    assert why in (verdict.reason or "")
