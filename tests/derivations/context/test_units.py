"""Units after numbers."""

import pytest

from derivations.context.notes import last_status


@pytest.mark.parametrize(
    "claim",
    [
        "512\\text{ MB} = 0.5\\text{ GB}",
        "14/2000 = 0.007\\text{ s}",
        "4.5\\times10^{-5}\\text{ s} = 45\\ \\mu\\text{s}",
        "2^{25}=32\\text{ MiB}",
        "18874368\\approx 18.9\\text{M}",
    ],
)
def test_a_unit_scales_its_number(claim):
    assert last_status(f"So ${claim}$.") == "holds"


@pytest.mark.parametrize("claim", ["0.007\\text{ s} = 9\\text{ ms}", "2^{25}=64\\text{ MiB}"])
def test_a_wrong_number_of_units_is_not_confirmed_and_not_refuted(claim):
    assert last_status(f"So ${claim}$.") == "undecided"


@pytest.mark.parametrize("claim", ["5\\text{ s} = 5\\text{ min}", "8\\text{ ms} = 8\\text{ MB}"])
def test_units_of_different_kinds_are_not_compared_by_their_numbers(claim):
    assert last_status(f"So ${claim}$.") == "undecided"


def test_thousands_stand_in_groups():
    assert last_status("So $12\\cdot768^2=7{,}077{,}888$.") == "holds"
    assert last_status("So $0.25 \\times 8,000.00 = 2,000$.") == "holds"
