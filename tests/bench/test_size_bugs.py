"""The bugs that need a size are sound."""

import re

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from bugs.bug import FAMILIES  # noqa: E402
from bugs.building import LAYERS  # noqa: E402
from bugs.catalog import all_bugs  # noqa: E402
from bugs.fresh import fresh_bugs  # noqa: E402
from bugs.probing import large_difference_of  # noqa: E402
from bugs.sizes import size_bugs  # noqa: E402

BUGS = size_bugs()


def test_there_are_enough_and_each_has_a_name_of_its_own():
    names = [bug.id for bug in (*all_bugs(), *fresh_bugs(), *BUGS)]
    assert len(set(names)) == len(names)
    assert len(BUGS) >= 60
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", bug.id) for bug in BUGS)
    assert {bug.layer for bug in BUGS} == set(LAYERS)
    assert FAMILIES.issuperset(family for bug in BUGS for family in (bug.family, *bug.or_family))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.id)
def test_a_bug_changes_what_the_layer_does_with_many_rows_or_tokens(bug):
    assert large_difference_of(bug) is not None


def test_random_correct_layers_are_not_refuted():
    from check_sound import judge

    # 247 is a single ALiBi head in bfloat16, whose neighbours differ by less than rounding.
    assert [judge(seed)[1] for seed in (1, 2, 247)] == [[], [], []]
