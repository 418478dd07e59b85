"""Evidence is as strong as its weakest part, methods are weighed, and NaN agrees with nothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.claims._evidence import agreement, combine, conjunction, from_one_case, in_balls, worst_entry, yes_or_no
from regard.core.verdict import STATUSES, Evidence


def part(status: str, **more) -> Evidence:
    return Evidence(status=status, detail=f"it is {status}", **more)


@pytest.mark.parametrize("other", STATUSES)
def test_a_refuted_part_refutes_the_whole(other):
    whole = conjunction(part(other), part("refuted", counterexample="here"))
    assert whole.status == "refuted"
    assert whole.counterexample == "here"


def test_a_whole_is_as_strong_as_its_weakest_part():
    assert conjunction(part("proved"), part("proved")).status == "proved"
    assert conjunction(part("proved"), part("holds")).status == "holds"
    assert conjunction(part("holds"), part("undecided"), part("proved")).status == "undecided"


@pytest.mark.parametrize(
    ("claimed", "value", "tolerance", "status"),
    [
        (1.0, 1.0, 0.0, "holds"),
        (1.0, 1.1, 0.2, "holds"),
        (1.0, 1.3, 0.2, "refuted"),
        (math.nan, 1.0, 0.2, "refuted"),
        (1.0, math.nan, 0.2, "refuted"),
        (1.0, 1.0, math.nan, "refuted"),
        (1.0, 5.0, math.inf, "refuted"),
    ],
)
def test_agreement_is_within_a_finite_tolerance_and_never_nan(claimed, value, tolerance, status):
    found = agreement("x", claimed=claimed, found=value, tolerance=tolerance, at="here")
    assert found.status == status
    assert bool(found.counterexample) == (status == "refuted")


def test_one_case_settles_only_what_it_can():
    def say(claimed: bool, differs: bool) -> str:
        return from_one_case("case", claimed=claimed, differs=differs, certain="proved").status

    assert say(claimed=True, differs=True) == "refuted"
    assert say(claimed=True, differs=False) == "holds"
    assert say(claimed=False, differs=True) == "proved"
    assert say(claimed=False, differs=False) == "undecided"


def test_a_proof_is_turned_against_the_contrary():
    proof = part("proved")
    assert yes_or_no(proof, claimed=True, truth=True, counterexample="case") is proof
    assert yes_or_no(proof, claimed=True, truth=False, counterexample="case").counterexample == "case"
    assert yes_or_no(part("undecided"), claimed=True, truth=False, counterexample="case").status == "undecided"


def test_balls_neither_overflow_nor_pretend():
    assert in_balls(lambda x: x.exp() / (1 + x.exp()), 1e6) == 1.0
    assert math.isnan(in_balls(lambda x: x.exp(), 1e300))
    assert in_balls(lambda x: 3, 1.0) == 3.0


def methods(*statuses: str) -> list[Evidence]:
    return [Evidence(method=f"method {i}", status=status, detail=f"says {status}") for i, status in enumerate(statuses)]


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (["proved", "holds"], "proved"),
        (["holds", "undecided"], "holds"),
        (["holds", "refuted"], "refuted"),
        (["undecided", "undecided"], "undecided"),
        (["proved", "refuted"], "undecided"),
        (["proved", "refuted", "holds"], "undecided"),
        ([], "undecided"),
    ],
)
def test_methods_are_weighed(found, status):
    assert combine(methods(*found))[0] == status


@given(st.lists(st.sampled_from(STATUSES), max_size=6))
def test_no_status_comes_out_that_no_method_gave_except_undecided(found):
    status, reason = combine(methods(*found))
    assert status in found or status == "undecided"
    assert reason


@given(st.lists(st.sampled_from(STATUSES), max_size=6), st.randoms())
def test_the_order_of_the_methods_does_not_matter(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    assert combine(methods(*found))[0] == combine(methods(*shuffled))[0]


def test_contradicting_methods_are_named():
    _, reason = combine(methods("proved", "refuted"))
    assert "method 0" in reason
    assert "method 1" in reason


def test_a_nan_is_the_worst_entry():
    ones, at = np.ones((2, 2)), "row {}, column {}".format
    broken = np.array([[1.0, 5.0], [np.nan, 1.0]])
    evidence = worst_entry("x", claimed=ones, found=broken, tolerance=1e9, at=at)
    assert evidence.status == "refuted"
    assert "row 1, column 0" in evidence.counterexample
