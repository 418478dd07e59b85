"""Laws that need no more than a call: what breaks them is caught, what is lawful passes, the dead prove nothing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.broken_layers import LAWFUL, OUTLAWS
from regard.conformance import Law, all_laws
from regard.conformance.judging import judge
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec

LAWS = {
    name: all_laws()[name]
    for name in """CAUSAL PREFIX SUPPORT BATCH CONST PERM PAD DET PURE DTYPE OVERFLOW LAYOUT POSLIVE RATES SLOPES
    SMOOTH""".split()
}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


class Dead(ReferenceLayer):
    """A layer whose weights are all zero, in any dtype."""

    def __init__(self, spec: Spec, **options: Any) -> None:
        super().__init__(spec, **options)
        self.matrices = {part: matrix * 0 for part, matrix in self.matrices.items()}


# Kinds that differ from others in one number are tried on fewer draws.
VARIANTS = {
    "undeclared",
    "causal",
    "interleaved",
    "encoder",
    "alibi encoder",
    "window both ways",
    "window of one",
    "capped",
    "bfloat16 full",
    "float16 encoder",
}


@pytest.mark.parametrize("name", LAWFUL)
def test_lawful_layers_pass_or_are_skipped_with_a_reason(name: str):
    spec = LAWFUL[name]
    for seed in range(2 if name in VARIANTS else 8):
        layer = ReferenceLayer(spec, seed=seed)
        for law in LAWS.values():
            verdict = judge(law, layer, seed=seed)
            assert verdict.outcome in ("holds", "skipped"), (seed, verdict)
            assert verdict.reason


@each_law
def test_a_law_is_tried_on_most_lawful_layers_it_is_about(law: Law):
    tried = [name for name, spec in LAWFUL.items() if judge(law, ReferenceLayer(spec)).outcome == "holds"]
    assert len(tried) >= 2


@pytest.mark.parametrize(("name", "outlaw", "spec"), OUTLAWS, ids=[f"{name}-{o.__name__}" for name, o, _ in OUTLAWS])
def test_usual_bugs_are_refuted(name: str, outlaw: type[ReferenceLayer], spec: Spec):
    for seed in range(3):
        verdict = judge(LAWS[name], outlaw(spec, seed=seed), seed=seed)
        assert verdict.outcome == "refuted", (seed, verdict)
        assert "length" in (verdict.counterexample or "")


@each_law
def test_a_dead_layer_is_inconclusive(law: Law):
    spec = law.broken_example().spec
    for dtype in ("float32", "bfloat16"):
        verdict = judge(law, Dead(replace(spec, dtype=dtype)))
        assert (verdict.outcome, verdict.status) == ("inconclusive", "undecided"), verdict


@each_law
def test_a_crash_is_a_verdict(law: Law):
    class Raises(ReferenceLayer):
        def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
            raise RuntimeError("no kernel for this device")

    verdict = judge(law, Raises(law.broken_example().spec))
    assert verdict.outcome == "crashed"
    assert "no kernel for this device" in (verdict.reason or "")


@each_law
def test_nan_never_passes(law: Law):
    class GivesNan(ReferenceLayer):
        """NaN in the last output, from the second call on."""

        calls = 0

        def call(self, x: np.ndarray, **options: Any) -> np.ndarray:
            self.calls += 1
            y = super().call(x, **options)
            y[:, -1] = np.nan if self.calls > 1 else 0
            return y

    if law.id not in ("PURE", "POSLIVE", "CAUSAL"):
        assert judge(law, GivesNan(law.broken_example().spec)).outcome == "refuted"


@pytest.mark.parametrize(
    ("name", "spec", "why"),
    [
        ("CAUSAL", Spec(), "nothing is declared"),
        ("PREFIX", Spec(causal=False), "it is False"),
        ("SUPPORT", Spec(), "nothing is declared"),
        ("SUPPORT", Spec(causal=True, window=1000), "reach 1000 tokens"),
        ("SUPPORT", Spec(causal=True, window=10, max_positions=10), "reach 10 tokens"),
        ("CONST", Spec(positions="sinusoidal"), "it is sinusoidal"),
        ("CONST", Spec(positions="relative"), "it is relative"),
        ("CONST", Spec(), "nothing is declared"),
        ("CONST", Spec(positions="none", sink=True), "sink"),
        ("PERM", Spec(causal=True, positions="none"), "causal = False"),
        ("PERM", Spec(causal=False, positions="none", window=3), "window"),
        ("POSLIVE", Spec(positions="none"), "it is none"),
        ("POSLIVE", Spec(), "nothing is declared"),
        ("POSLIVE", Spec(positions="rotary", window=2), "window"),
        ("POSLIVE", Spec(positions="rotary", causal=True, depth=2), "masks alone"),
    ],
)
def test_a_law_binds_only_what_declares_it(name: str, spec: Spec, why: str):
    verdict = judge(LAWS[name], ReferenceLayer(spec))
    assert verdict.outcome == "skipped"
    assert why in (verdict.reason or "")
