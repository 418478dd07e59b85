import math

import pytest

from regard.claims import ClaimVerdict
from regard.core.verdict import STATUSES, Evidence, Place, Verdict, count_statuses
from regard.derivations.results import Role, StepVerdict

FIELDS = (
    "id statement status outcome method reason domain assumes value bound probability seed reproduce counterexample "
    "where"
).split()


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
    evidence = Evidence(method="algebra", status="holds", detail="an identity")
    claim = ClaimVerdict(id="a", statement="s", status="holds", expected="proved", evidence=(evidence,))
    assert list(claim.to_dict()) == [*FIELDS, "expected", "evidence"]
    assert claim.to_dict()["evidence"][0]["route"] == "algebra"
    step = StepVerdict(id="a", statement="s", status="holds", role=Role.ASSERTION, source="$x$")
    assert list(step.to_dict()) == [*FIELDS, "role", "source", "question", "notes", "extent", "kind"]


@pytest.mark.parametrize("status", STATUSES)
def test_a_claim_is_as_expected_only_with_the_expected_status(status):
    claim = ClaimVerdict(id="a", statement="s", status=status, expected="refuted")
    assert claim.is_as_expected == (status == "refuted")


def test_any_other_verdict_is_as_expected_unless_refuted():
    assert [Verdict(id="a", statement="s", status=s).is_as_expected for s in STATUSES] == [True, True, False, True]


def test_an_unknown_status_is_not_a_verdict():
    with pytest.raises(Exception, match="maybe"):
        Verdict(id="a", statement="s", status="maybe")  # pyright: ignore[reportArgumentType]


def test_a_value_may_be_nan_without_becoming_a_verdict_that_passes():
    verdict = ClaimVerdict(id="a", statement="s", status="undecided", expected="holds", value=math.nan)
    assert not verdict.is_as_expected
