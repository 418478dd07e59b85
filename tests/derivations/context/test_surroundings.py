"""The words around a formula say whether it is asserted or only supposed."""

import pytest
from regard.derivations.context.surroundings import Surroundings, is_denied, is_supposed, premises_in_prose

from regard.derivations.notation.syntax import Number, Symbol


@pytest.mark.parametrize(
    "before",
    [
        "If the key is long, ",
        "Suppose that ",
        "To get this we would need ",
        "In some samples ",
        "如果 ",
        "假设",
        "Wenn ",
        "Supposons que ",
        "It can happen that ",
        "Not every permutation satisfies ",
        "Con dos posiciones haría falta ",
        "Il faudrait ",
    ],
)
def test_conditions_are_suppositions(before):
    assert is_supposed(Surroundings(before=before))


@pytest.mark.parametrize(
    "before",
    [
        "",
        "Therefore ",
        "When β is large, ",
        "if the scale β is sufficiently large, ",
        "当 β 足够大时",
        r"当 $\beta \to \infty$ 时趋于一半，从而 ",
        "Whence ",
        "设计一个 ",
    ],
)
def test_assertions_and_the_regime_are_not(before):
    assert not is_supposed(Surroundings(before=before))


@pytest.mark.parametrize("after", [" is impossible.", ", never.", " does not hold", "不成立"])
def test_what_is_denied_right_after_is_not_asserted(after):
    assert is_denied(Surroundings(after=after))
    assert is_supposed(Surroundings(after=after))


@pytest.mark.parametrize("after", [" forces it.", " together with \ufffc forces it", " would mean it", "当且仅当"])
def test_what_something_would_follow_from_is_not_asserted(after):
    assert is_supposed(Surroundings(after=after))
    assert not is_denied(Surroundings(after=after))


@pytest.mark.parametrize("after", [" would do too.", " with force.", " and only then", " together."])
def test_what_something_does_follow_from_is(after):
    assert not is_supposed(Surroundings(after=after))


@pytest.mark.parametrize("after", ["", " holds.", " and this is false for others", "成立"])
def test_what_follows_later_denies_nothing(after):
    assert not is_denied(Surroundings(after=after))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("γ is slightly larger than 1, so", [("gamma", ">", 1)]),
        (r"where \gamma is less than 2", [("gamma", "<", 2)]),
        ("γ 略大于 1", [("gamma", ">", 1)]),
        ("with β above 3 and γ below 1", [("beta", ">", 3), ("gamma", "<", 1)]),
        ("the key is larger than 1", []),
        ("γ is large", []),
    ],
)
def test_conditions_on_numbers_are_read_in_prose(before, expected):
    found = []
    for premise in premises_in_prose(Surroundings(before=before)):
        assert isinstance(premise.left, Symbol)
        assert isinstance(premise.right, Number)
        found.append((premise.left.name, premise.sign, premise.right.value))
    assert found == expected
