"""What a spec says is visible: by causality and window, or by a condition on places."""

import numpy as np
import pytest

from regard.conformance.judging import judge
from regard.conformance.laws.spec import LAW as SPEC
from regard.conformance.laws.support import LAW as SUPPORT
from regard.conformance.laws.support import declared_support
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, spec_from_text
from regard.conformance.visibility import visible_pairs
from regard.core.errors import InputError

PREFIX = "j <= i or j < 4"


class Declared(ReferenceLayer):
    """A layer that sees what one spec says, and declares another."""

    def __init__(self, inside: str, declared: str) -> None:
        super().__init__(Spec(support=declared, positions="none"), name="declared")
        self.inside = Spec(support=inside)

    def visible(self, query_places, num_keys, mask):
        return visible_pairs(self.inside, query_places, np.arange(num_keys))[None] & mask[:, None, :]


def pairs(spec: Spec, length: int = 7) -> np.ndarray:
    return visible_pairs(spec, np.arange(length), np.arange(length))


@pytest.mark.parametrize(
    ("support", "spec"),
    [
        ("j <= i", Spec(causal=True)),
        ("0 <= i - j < 3", Spec(causal=True, window=3)),
        ("abs(i - j) < 2", Spec(causal=False, window=2)),
        ("j >= 0", Spec(causal=False)),
    ],
)
def test_a_condition_says_what_causality_and_window_say(support, spec):
    assert (pairs(Spec(support=support)) == pairs(spec)).all()


def test_blocks_of_three():
    assert pairs(Spec(support="i // 3 == j // 3 and not j > i"))[4].tolist() == [False] * 3 + [True] * 2 + [False] * 2


def test_two_layers_see_what_one_sees_twice():
    seen = declared_support(Spec(support="0 <= i - j < 2", depth=2), 5)
    assert (seen == pairs(Spec(causal=True, window=3), 5)).all()


@pytest.mark.parametrize("inside", ["j <= i or j < 3", "j <= i", "j < i - 1 or j < 4", "j >= 0"])
def test_another_support_than_the_declared_one_is_refuted(inside):
    assert judge(SUPPORT, Declared(PREFIX, PREFIX)).outcome == "holds"
    assert judge(SUPPORT, Declared(inside, PREFIX)).outcome == "refuted"
    assert judge(SPEC, Declared(inside, PREFIX)).outcome == "refuted"


@pytest.mark.parametrize(
    "condition",
    [
        "import os",
        "i",
        "k < i",
        "i.real < 2",
        "__import__('os')",
        "j <= i or",
        "i ** 9 < 2",
        "f(i) < 2",
        "j <= 1.5",
        "x" * 900,
        "(" * 90 + "i" + ")" * 90,
    ],
)
def test_anything_but_a_condition_on_places_is_refused(condition):
    with pytest.raises(InputError, match=r"support|condition"):
        Spec(support=condition)


def test_a_support_leaves_nothing_to_causality():
    with pytest.raises(InputError, match="Leave out causal and window"):
        Spec(support=PREFIX, causal=True)


def test_support_and_frequencies_can_be_typed():
    spec = spec_from_text(f"positions=rotary,support={PREFIX},frequencies=1 0.1 0.01 0.001")
    assert (spec.support, spec.frequencies, spec.rotary_width) == (PREFIX, (1.0, 0.1, 0.01, 0.001), 8)
    with pytest.raises(InputError, match="numbers with spaces"):
        spec_from_text("frequencies=1;2")


def test_there_is_one_frequency_per_pair():
    with pytest.raises(InputError, match="one per pair"):
        Spec(rotary_width=8, frequencies=(1.0, 0.1))
