"""Conditions on γ become deviations, or one clear refusal."""

import math
from fractions import Fraction

import pytest

from regard.core.errors import InputError
from regard.designs.conditions import read_condition

ONLY_A = {"a": 0.5}


@pytest.mark.parametrize(
    ("text", "key", "lower", "upper"),
    [
        ("gamma>0", "a", -1, math.inf),
        ("γ > 0", "a", -1, math.inf),
        (r"\gamma_a \ge 0.5", "a", -0.5, math.inf),
        ("gamma_b<=1/2", "b", -math.inf, -0.5),
        ("0<gamma<2", "a", -1, 1),
        ("2>gamma>=0", "a", -1, 1),
        ("gamma > beta/40", "a", -0.5, math.inf),
        ("0 < gamma", "a", -1, math.inf),
    ],
)
def test_conditions_are_read(text, key, lower, upper):
    found = read_condition(text, ONLY_A, {"beta": Fraction(20)})
    assert (found.group, found.lower, found.upper) == (key, lower, upper)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("gamma=1", "probability zero"),
        ("gamma!=0", "probability zero or one"),
        ("2<gamma<1", "probability zero"),
        ("gamma", "not one comparison"),
        (">0", "not one comparison"),
        ("gamma>0, gamma<1", "not one comparison"),
        ("beta>0", "must speak of one γ"),
        ("gamma>gamma_b", "must speak of one γ"),
        ("gamma>0>-1", "numbers with numbers"),
        ("gamma>foo", "'foo'"),
        ("gamma>mu_a", "mu_a"),
        ("gamma>(", "cannot be read"),
        ("", "not one comparison"),
    ],
)
def test_bad_conditions_are_refused(text, complaint):
    with pytest.raises(InputError) as refusal:
        read_condition(text, ONLY_A, {"beta": Fraction(20)})
    assert complaint in str(refusal.value)


@pytest.mark.parametrize("noise", [{}, {"a": 0.5, "b": 0.5}])
def test_gamma_alone_needs_one_random_key(noise):
    with pytest.raises(InputError, match="ambiguous"):
        read_condition("gamma>0", noise, {})
