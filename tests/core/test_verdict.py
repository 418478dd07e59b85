import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.core.verdict import STATUSES, ClaimVerdict, Evidence, Place, StepVerdict, Verdict, combine, count_statuses

FIELDS = (
    "id statement status outcome method reason domain assumes value bound probability seed reproduce counterexample "
    "where"
).split()


def evidence(*statuses: str) -> list[Evidence]:
    return [Evidence(route=f"route {i}", status=status, detail=f"says {status}") for i, status in enumerate(statuses)]


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
def test_routes_are_weighed(found, status):
    assert combine(evidence(*found))[0] == status


@given(st.lists(st.sampled_from(STATUSES), max_size=6))
def test_no_status_comes_out_that_no_route_gave_except_undecided(found):
    status, reason = combine(evidence(*found))
    assert status in found or status == "undecided"
    assert reason


@given(st.lists(st.sampled_from(STATUSES), max_size=6), st.randoms())
def test_the_order_of_the_routes_does_not_matter(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    assert combine(evidence(*found))[0] == combine(evidence(*shuffled))[0]


def test_contradicting_routes_are_named():
    _, reason = combine(evidence("proved", "refuted"))
    assert "route 0" in reason
    assert "route 1" in reason


def test_counts_name_all_four_statuses():
    verdicts = [Verdict(id="a", statement="s", status="holds"), Verdict(id="b", statement="s", status="holds")]
    assert count_statuses(verdicts) == {"proved": 0, "holds": 2, "refuted": 0, "undecided": 0}


def test_a_verdict_has_the_fields_of_the_schema_and_null_for_what_does_not_apply():
    row = Verdict(id="a", statement="s", status="undecided").to_dict()
    assert list(row) == FIELDS
    assert all(row[name] is None for name in FIELDS[3:])


def test_a_place_is_written_as_a_mapping_and_reads_like_a_compilers():
    place = Place(file="answers.md", line=3, column=7)
    assert str(place) == "answers.md:3:7"
    row = Verdict(id="a", statement="s", status="holds", where=place, assumes=("π is irrational",)).to_dict()
    assert row["where"] == {"file": "answers.md", "line": 3, "column": 7}
    assert row["assumes"] == ["π is irrational"]


def test_claims_and_steps_add_their_own_fields():
    claim = ClaimVerdict(id="a", statement="s", status="holds", expected="proved", evidence=tuple(evidence("holds")))
    assert list(claim.to_dict()) == [*FIELDS, "expected", "evidence"]
    assert claim.to_dict()["evidence"][0]["route"] == "route 0"
    step = StepVerdict(id="a", statement="s", status="holds", kind="step", source="$x$")
    assert list(step.to_dict()) == [*FIELDS, "kind", "source", "question", "notes"]


@pytest.mark.parametrize("status", STATUSES)
def test_a_claim_is_as_it_should_be_only_with_the_expected_status(status):
    claim = ClaimVerdict(id="a", statement="s", status=status, expected="refuted")
    assert claim.is_as_expected == (status == "refuted")


def test_any_other_verdict_is_as_it_should_be_unless_refuted():
    assert [Verdict(id="a", statement="s", status=s).is_as_expected for s in STATUSES] == [True, True, False, True]


def test_an_unknown_status_is_not_a_verdict():
    with pytest.raises(Exception, match="maybe"):
        Verdict(id="a", statement="s", status="maybe")  # pyright: ignore[reportArgumentType]


def test_a_value_may_be_nan_without_becoming_a_verdict_that_passes():
    verdict = ClaimVerdict(id="a", statement="s", status="undecided", expected="holds", value=math.nan)
    assert not verdict.is_as_expected
