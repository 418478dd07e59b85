"""Formulas are cut into chains where a reader would cut them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.tokens import NotUnderstood


def spelt(chain: Chain) -> str:
    sides = [" ".join(token.text for token in side) for side in chain.sides]
    return " ".join([sides[0], *(f"{sign.text} {side}" for sign, side in zip(chain.signs, sides[1:], strict=True))])


def chains(source: str) -> list[str]:
    return [spelt(chain).strip() for chain in read_chains(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b = c", ["a = b = c"]),
        (r"a = b, \quad c \approx d", ["a = b", "c ≈ d"]),
        (r"a = b \Rightarrow c = d", ["a = b", "c = d"]),
        ("a = b. c = d", ["a = b", "c = d"]),
        ("a = b，c = d", ["a = b", "c = d"]),
        (r"a = b \text{ and so } c = d", ["a = b", "c = d"]),
        (r"k = 0 \ \forall i \neq j", ["k = 0", "i ≠ j"]),
        (r"x \not= y", ["x ≠ y"]),
        (r"\sum_{i = 1}^n x = 1", ["\\sum _ } i = 1 } ^ n x = 1"]),
        ("a, b = c", ["a = c", "b = c"]),
        ("a + b", []),
        ("", []),
    ],
)
def test_separators_end_a_chain(source, expected):
    assert chains(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        r"a &= b \\ &= c",
        r"\begin{aligned} a &= b \\ &= c \end{aligned}",
        r"\begin{align*} a & = b \\[2pt] & = c \end{align*}",
        r"\begin{eqnarray} a &=& b \\ &=& c \end{eqnarray}",
        r"\begin{alignat}{2} a &= b \\ &= c \end{alignat}",
    ],
)
def test_a_line_that_begins_with_a_sign_continues_the_chain_above(source):
    first, second = read_chains(source)
    assert (spelt(first), second.sides[0]) == ("a = b", ())
    assert spelt(second).strip() == "= c"


def test_every_second_column_begins_a_chain_of_its_own():
    assert chains(r"\begin{aligned} a &= b & c &= d \\ &= e & &= f \end{aligned}") == ["a = b", "c = d", "= e", "= f"]


def test_columns_of_a_matrix_separate_nothing():
    (chain,) = read_chains(r"\begin{pmatrix} a & b \end{pmatrix} = M")
    assert len(chain.sides[0]) == 5


def test_a_remark_in_brackets_is_no_factor():
    assert chains(r"a = b \quad (\text{by symmetry})") == ["a = b"]
    assert chains(r"a = b\ (\text{as } x \text{ is long})") == ["a = b"]
    assert chains("a = b (c + d)") == ["a = b ) c + d )"]


@pytest.mark.parametrize(
    ("source", "inside"),
    [
        (r"a = b \quad (x = y)", "x = y"),
        (r"(x = y) \quad a = b", "x = y"),
        (r"P(\gamma > 0) = 1", "\\gamma > 0"),
        (r"\mathbf{1}[\gamma > 0] = 1", "\\gamma > 0"),
        (r"\mathbb{I}(\gamma > 0) = 1", "\\gamma > 0"),
    ],
)
def test_a_relation_in_brackets_is_nested(source, inside):
    assert [spelt(chain) for chain in read_chains(source) if chain.is_nested] == [inside]
    assert [chain.is_nested for chain in read_chains(source)].count(False) == 1


def test_an_event_stays_with_its_probability():
    assert chains(r"P(\gamma > 0) = 1")[0] == "P ) \\gamma > 0 ) = 1"


@pytest.mark.parametrize("event", [r"P(\gamma > 0)", r"\mathbf{1}[\gamma > 0]", r"\mathbb{I}(\gamma > 0)"])
def test_the_event_of_an_indicator_is_marked_like_that_of_a_probability(event):
    assert [chain.is_event for chain in read_chains(f"{event} = 1")] == [False, True]
    assert [chain.is_event for chain in read_chains(r"2(\gamma > 0) = 1")] == [False, False]


def test_conditions_of_cases_are_marked():
    found = read_chains(r"w_i = \begin{cases} a & \text{if } i = j \\ b & i \neq j \end{cases}")
    assert [chain.is_case for chain in found] == [False, True, True]
    assert [spelt(chain) for chain in found[1:]] == ["i = j", "i ≠ j"]


def test_a_list_of_exceptions_is_one_side():
    assert chains(r"i \neq a, b") == ["i ≠ a , b"]
    assert chains(r"i \in \{a, b\}") == ["i ∈ \\} a , b \\}"]
    assert chains("a = b, c") == ["a = b"]
    assert chains(r"i \neq a, j \neq b") == ["i ≠ a", "j ≠ b"]


def test_prose_before_a_chain_is_kept():
    first, second = read_chains(r"\text{if } x > 0 \text{ then } y = 1")
    assert (first.before.strip(), second.before.strip()) == ("if", "then")


def test_offsets_point_into_the_source():
    source = r"\text{so } k_a = \mathbf{q} , x \approx y"
    assert [source[chain.start : chain.end] for chain in read_chains(source)] == [r"k_a = \mathbf{q}", r"x \approx y"]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("a b = & \\\\ , ( ) { } \\quad \\neq \\text{so} ^ _ \\begin{cases} \\end{cases}".split()))
)
def test_sides_and_signs_alternate_whatever_is_written(pieces):
    try:
        found = read_chains(" ".join(pieces))
    except NotUnderstood:
        return
    for chain in found:
        assert len(chain.sides) == len(chain.signs) + 1 > 1
        assert 0 <= chain.start <= chain.end
