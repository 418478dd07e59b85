"""Parts make a whole no stronger than the weakest, and NaN agrees with nothing."""

import math

import pytest

from regard.claims._comparisons import Measured, agreement, all_parts, in_balls, settled, universality
from regard.core.verdict import STATUSES, Evidence


def part(status: str, **more) -> Evidence:
    return Evidence(route="part", status=status, detail=f"it is {status}", **more)


@pytest.mark.parametrize("other", STATUSES)
def test_a_refuted_part_refutes_the_whole(other):
    whole = all_parts("route", [part(other), part("refuted", counterexample="here")])
    assert (whole.route, whole.status) == ("route", "refuted")
    assert whole.counterexample == "here"


def test_a_whole_is_as_strong_as_its_weakest_part():
    assert all_parts("route", [part("proved"), part("proved")]).status == "proved"
    assert all_parts("route", [part("proved"), part("holds")]).status == "holds"
    assert all_parts("route", [part("holds"), part("undecided"), part("proved")]).status == "undecided"


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
    found = agreement("x", claimed=claimed, measured=Measured(value=value, tolerance=tolerance), at="here", route="r")
    assert found.status == status
    assert bool(found.counterexample) == (status == "refuted")


def test_one_case_settles_only_what_it_can():
    def say(claimed: bool, differs: bool) -> str:
        return universality("case", claimed=claimed, differs=differs, route="balls", certain="proved").status

    assert say(claimed=True, differs=True) == "refuted"
    assert say(claimed=True, differs=False) == "holds"
    assert say(claimed=False, differs=True) == "proved"
    assert say(claimed=False, differs=False) == "undecided"


def test_a_proof_is_turned_against_the_contrary():
    proof = part("proved")
    assert settled(proof, claimed=True, is_so=True, shown="case") is proof
    assert settled(proof, claimed=True, is_so=False, shown="case").counterexample == "case"
    assert settled(part("undecided"), claimed=True, is_so=False, shown="case").status == "undecided"


def test_balls_neither_overflow_nor_pretend():
    assert in_balls(lambda x: x.exp() / (1 + x.exp()), 1e6) == 1.0
    assert math.isnan(in_balls(lambda x: x.exp(), 1e300))
    assert in_balls(lambda x: 3, 1.0) == 3.0
