import math

import pytest

from regard.analysis.engines import Estimate, certified_root
from regard.core.errors import InputError


def sure(low, high=None):
    high = low if high is None else high
    return Estimate(value=(low + high) / 2, lower=low, upper=high, method="certified")


def sampled(low, high, confidence=0.99):
    return Estimate(
        value=(low + high) / 2, lower=low, upper=high, method="monte_carlo", confidence=confidence, draws=100, seed=0
    )


@pytest.mark.parametrize(
    ("function", "low", "high", "root"),
    [
        (lambda x: x**3 - 2, 0.0, 2.0, 2 ** (1 / 3)),
        (lambda x: x**9, -1.0, 3.0, 0.0),
        (lambda x: math.atan(1e6 * (x - 0.1)), -5.0, 3.0, 0.1),
        (lambda x: 0.5 - x, 0.0, 1.0, 0.5),
        (lambda x: x - 1e6 / 3, 0.0, 1e6, 1e6 / 3),
    ],
)
def test_roots_are_bracketed_to_the_tolerance(function, low, high, root):
    found = certified_root(lambda x: sure(function(x)), low, high)
    assert found.contains(root)
    assert found.width <= max(1e-12, 1e-15 * abs(root))


def test_a_root_stops_where_the_sign_is_unknown():
    found = certified_root(lambda x: sure(x - 0.3 - 1e-3, x - 0.3 + 1e-3), 0.0, 1.0)
    assert found.contains(0.3)
    assert 2e-3 <= found.width < 4.1e-3


def test_roots_need_certainty_and_a_change_of_sign():
    with pytest.raises(InputError, match="sampled"):
        certified_root(lambda x: sampled(x - 1, x + 1), -5.0, 5.0)
    with pytest.raises(InputError, match="does not certainly"):
        certified_root(sure, 1.0, 2.0)
