"""Which letters run freely, what a sum runs over, and which conditions they are under."""

import pytest

from derivations.judging.small import expression, instance, scope
from regard.derivations.judging.indices import (
    SumContext,
    assignments,
    index_letters,
    index_range,
    index_value,
    ranges,
    satisfies,
)
from regard.derivations.notation.syntax import BigOperator, Condition, SetOf, Symbol, letters_in
from regard.derivations.notation.tokens import NotUnderstood

a, b, i, j = (Symbol(name) for name in "abij")
N = instance().sizes["n"]


def context(*excluded: str) -> SumContext:
    return SumContext(scope=scope(), indices={}, instance=instance(), excluded=excluded, shape_of=lambda _: None)


def chosen(*conditions: Condition, avoid_fixed: bool = False, is_distinct: bool = False) -> list[dict[str, int]]:
    letters = {"i": "n", "j": "n"}
    return assignments(letters, conditions, instance(), avoid_fixed=avoid_fixed, is_distinct=is_distinct)


def test_a_letter_that_a_sum_binds_is_not_free():
    setting = scope().setting
    assert index_letters([expression(r"k_i^\top k_j")], setting) == ["i", "j"]
    assert index_letters([expression(r"\sum_i k_i^\top k_j")], setting) == ["j"]
    assert letters_in(expression("x + y")) == ("x", "y")


def test_only_a_letter_that_picks_members_is_an_index():
    setting = scope().setting
    assert index_letters([expression("k_i"), expression("j x")], setting) == ["i"]


@pytest.mark.parametrize(
    ("source", "place"), [("1", 0), ("3", 2), ("a", 0), ("b", 1), ("n", N - 1), ("i", 2), ("i + 1", 3), ("i - 1", 1)]
)
def test_a_subscript_points_to_a_place(source, place):
    assert index_value(expression(source), {"i": 2}, instance()) == place


def test_a_permutation_moves_an_index():
    node = expression(r"k_{\pi(i)}")
    assert isinstance(node, Symbol)
    places = [index_value(node.subscripts[0], {"i": place}, instance()) for place in range(N)]
    assert sorted(places) == list(range(N))
    assert places != list(range(N))


def test_a_subscript_that_is_no_index_is_not_understood():
    with pytest.raises(NotUnderstood):
        index_value(expression("u"), {}, instance())


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Condition(i, "≠", (a, b)), True),
        (Condition(i, "=", (a,)), False),
        (Condition(i, "∈", (SetOf((a, b)),)), False),
        (Condition(i, "∉", (SetOf((a, b)),)), True),
        (Condition(i, ">", (b,)), True),
        (Condition(i, "≤", (b,)), False),
        (Condition(i, "<", (Symbol("n"),)), False),
        (Condition(i, "≤", (Symbol("n"),)), True),
    ],
)
def test_conditions_on_the_third_place(condition, holds):
    assert N == 3
    assert satisfies(condition, {"i": 2}, instance()) is holds


@pytest.mark.parametrize(
    ("source", "places"),
    [
        (r"\sum_i k_i", [0, 1, 2]),
        (r"\sum_{i=2}^n k_i", [1, 2]),
        (r"\sum_{i \neq a} k_i", [1, 2]),
        (r"\sum_{others} k_i", [2]),
        (r"\sum k_i", [0, 1, 2]),
        (r"\sum_{i=0}^{n-1} k_i", [0, 1, 2]),
    ],
)
def test_a_sum_runs_over(source, places):
    node = expression(source)
    assert isinstance(node, BigOperator)
    letter, found = index_range(node, context())
    assert (letter, list(found)) == ("i", places)


def test_the_others_may_be_all_but_one():
    node = expression(r"\sum_{others} k_i")
    assert isinstance(node, BigOperator)
    assert index_range(node, context("a")) == ("i", [1, 2])


def test_a_letter_runs_over_the_size_of_the_family_it_picks_from():
    inside = scope("1b.subspace")
    assert ranges([expression("b_i", inside)], inside)["i"] == "p"
    assert ranges([expression("a_i", inside)], inside)["i"] == "m"


def test_assignments_meet_the_conditions_that_are_written():
    assert {(pair["i"], pair["j"]) for pair in chosen()} >= {(0, 0), (0, 1), (1, 0), (2, 2)}
    assert all(pair["i"] != pair["j"] for pair in chosen(Condition(i, "≠", (j,))))
    assert all(pair["i"] not in (0, 1) for pair in chosen(Condition(i, "≠", (a, b))))
    assert all(len(set(pair.values())) == 2 for pair in chosen(is_distinct=True))
    assert chosen(avoid_fixed=True) == [{"i": 2, "j": 2}]


def test_a_condition_on_a_letter_that_does_not_occur_is_passed_over():
    assert chosen(Condition(Symbol("l"), "≠", (a,))) == chosen()
    assert chosen(Condition(i, "≤", (Symbol("n"),))) == chosen()
