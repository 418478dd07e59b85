"""The figures of sinusoidal codes, to their printed digits, and the claims away from their defaults."""

import ml_dtypes
import numpy as np
import pytest

from regard.claims import all_claims
from regard.claims._position_codes import as_format, repeats
from regard.claims.catalog.sinusoid_unique_in_floats import MEETS_AT
from regard.core.errors import DomainError
from regard.positions.sinusoidal import sinusoid

CLAIMS = all_claims()
UNIQUE = CLAIMS["sinusoid-unique-in-floats"]
LONGEST = 131_072


def lost(name: str, width: int, count: int) -> int:
    return len(repeats(as_format(sinusoid(np.arange(count), width=width), name))[1])


@pytest.mark.parametrize(
    ("name", "width", "count", "expected"),
    [
        ("bfloat16", 2, 1024, 287),
        ("float16", 2, 1024, 198),
        ("float32", 2, 1024, 0),
        ("bfloat16", 4, LONGEST, 10_304),
        ("bfloat16", 6, LONGEST, 0),
        ("float16", 4, LONGEST, 0),
        ("float32", 2, LONGEST, 0),
        ("float8_e4m3fn", 6, LONGEST, 1245),
        ("float8_e4m3fn", 8, LONGEST, 6135),
        ("float8_e4m3fn", 10, LONGEST, 0),
    ],
)
def test_as_many_positions_are_lost_as_is_known(name, width, count, expected):
    assert lost(name, width, count) == expected
    verdict = UNIQUE.decide({"d": width, "T": count}, form={"format": name})
    assert verdict.value == expected
    assert verdict.status == ("refuted" if expected else "holds")
    assert len({item.value for item in verdict.evidence}) == 1


def test_angles_formed_in_bfloat16_lose_more():
    angles = np.arange(1024).astype(ml_dtypes.bfloat16).astype(float)
    assert len(repeats(as_format(sinusoid(angles, width=2), "bfloat16"))[1]) == 583


def test_rows_are_compared_by_value_and_not_by_bits():
    earlier, later = repeats(np.array([[0.0, np.inf], [1.0, 0.0], [-0.0, np.inf]], dtype=np.float16))
    assert (earlier.tolist(), later.tolist()) == ([0], [2])


@pytest.mark.parametrize("width", [*range(6, 66, 2), 128, 1000, 10**6, 10**300])
def test_wider_codes_stay_apart_in_bfloat16(width):
    verdict = UNIQUE.decide({"d": width})
    assert verdict.status == verdict.expected == "holds"
    assert verdict.value == 0


@pytest.mark.parametrize(("width", "meets_at"), [(2, 711), (4, 84_830)])
def test_narrow_codes_stay_apart_until_they_first_meet(width, meets_at):
    before, after = (UNIQUE.decide({"d": width, "T": count}) for count in (meets_at, meets_at + 1))
    assert (before.status, after.status) == ("holds", "refuted")
    assert before.is_as_expected
    assert after.is_as_expected
    assert f"and {meets_at}" in after.counterexample


def statuses(form: dict) -> set[str]:
    places = [(2, 711), (2, 712), (4, 84_830), (4, 84_831), (6, LONGEST)]
    return {UNIQUE.decide({"d": width, "T": count}, form=form).status for width, count in places}


@pytest.mark.parametrize("wrong", [{}, {2: 711}, {2: 710, 4: 84_830}, {2: 711, 4: 84_831}, {2: 711, 4: 84_830, 6: 5}])
def test_only_the_true_first_meetings_pass_everywhere(wrong):
    assert statuses({"meets_at": MEETS_AT}) == {"holds"}
    assert "refuted" in statuses({"meets_at": wrong})


def test_the_nearest_two_positions_are_710_apart():
    verdict = CLAIMS["sinusoid-nearest"].decide()
    assert verdict.status == "holds"
    assert verdict.value == pytest.approx(6.028870673e-5, abs=0.5e-14)
    assert "710" in verdict.reason
    assert "103993" in verdict.reason
    assert CLAIMS["sinusoid-nearest"].decide({"T": 711}).status == "holds"


def test_codes_come_near_and_never_meet():
    verdict = CLAIMS["sinusoid-unique"].decide()
    assert verdict.status == "proved"
    assert verdict.value == pytest.approx(6.0289e-5, rel=1e-4)
    assert "π is irrational" in verdict.assumes


@pytest.mark.parametrize("name", ["sinusoid-shift-is-linear", "sinusoid-dot-is-relative"])
@pytest.mark.parametrize(
    "chosen", [{"d": 2}, {"d": 1000}, {"d": 10**9}, {"B": 1.001}, {"B": 1e300}, {"d": 4, "B": 2.0}]
)
def test_shifts_and_products_are_decided_at_any_width_and_base(name, chosen):
    verdict = CLAIMS[name].decide(chosen)
    assert verdict.status == "proved"
    assert [item.status for item in verdict.evidence] == ["holds", "proved"]


@pytest.mark.parametrize("name", ["sinusoid-shift-is-linear", "sinusoid-dot-is-relative", "sinusoid-unique-in-floats"])
def test_an_odd_width_is_refused(name):
    with pytest.raises(DomainError, match=r"d = 5 is odd\. Choose d with d ≥ 2, d even"):
        CLAIMS[name].decide({"d": 5})


def test_a_reduced_case_says_so():
    verdict = CLAIMS["sinusoid-dot-is-relative"].decide({"d": 10**9})
    assert "tried at d = 4096" in verdict.evidence[0].detail
