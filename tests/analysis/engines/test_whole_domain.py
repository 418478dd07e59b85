import pytest

from regard.analysis.engines import SquaredError, certified, unproved_parts
from regard.analysis.scenarios import course_keys, one_head, two_heads
from regard.core.errors import InputError

HALF_AND_HALF = SquaredError(target={"a": 0.5, "b": 0.5})


def two_heads_win(low, high):
    one, two = (course_keys(n=10).logits(design(1.0)) for design in (one_head, two_heads))
    errors = [certified.answer(law, HALF_AND_HALF, scale=(low, high)) for law in (two, one)]
    return errors[0].upper < errors[1].lower


def test_two_heads_win_on_a_whole_range_of_scales():
    assert unproved_parts(two_heads_win, 2.5, 20.0) == ()


def test_what_is_false_stays_unproved_around_and_below_the_crossover():
    [(low, high)] = unproved_parts(two_heads_win, 2.1, 2.4, finest=5e-2)
    assert low == 2.1
    assert 2.17373685971 < high < 2.25


def test_an_empty_interval_is_refused():
    with pytest.raises(InputError, match="no interval"):
        unproved_parts(lambda x, y: True, 1.0, 1.0)
