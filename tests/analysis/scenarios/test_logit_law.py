import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from analysis.logit_covariances import covariances
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.analysis.scenarios.factor import factor_covariance
from regard.analysis.scenarios.limits import require_memory
from regard.core.errors import InputError

SMALL = st.floats(-3, 3, allow_subnormal=False)


def law(**changes):
    fields = {
        "names": ("a", "other"),
        "counts": (1, 4),
        "means": [[1.0], [0.0]],
        "directions": [[[1.0]], [[0.0]]],
        "variances": [[0.5], [0.0]],
    }
    return LogitLaw(**{**fields, **changes})


def test_counts_add_up_and_covariances_are_directions_times_variances():
    assert law().num_keys == 5
    assert law().num_heads == 1
    assert covariances(law()).tolist() == [[[0.5]], [[0.0]]]


@given(hnp.arrays(np.float64, (3, 3), elements=SMALL))
def test_a_covariance_is_rebuilt_from_its_directions(root):
    covariance = root @ root.T
    directions, variances = factor_covariance(covariance, whose="a test")
    assert np.allclose((directions * variances) @ directions.T, covariance, atol=1e-10)
    assert np.all(variances > 0)


@given(hnp.arrays(np.float64, 3, elements=st.integers(-50, 50).map(float)), st.integers(1, 64))
def test_one_direction_with_exact_entries_stays_one_direction(direction, quarters):
    covariance = quarters / 4 * np.outer(direction, direction)
    directions, variances = factor_covariance(covariance, whose="a test")
    assert directions.shape[1] == len(variances) == int(np.any(direction))


def test_a_negative_eigenvalue_is_named_with_its_owner():
    with pytest.raises(InputError, match=r"group 'b' has the eigenvalue -1"):
        factor_covariance(np.array([[0.0, 1.0], [1.0, 0.0]]), whose="group 'b'")


def test_an_asymmetric_covariance_is_refused():
    with pytest.raises(InputError, match="not symmetric"):
        factor_covariance(np.array([[1.0, 0.5], [0.0, 1.0]]), whose="a test")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ("a", "a")}, "name of its own"),
        ({"counts": (1, 0)}, "at least one key"),
        ({"counts": (1,)}, "at least one key"),
        ({"means": [[math.nan], [0.0]]}, "not finite"),
        ({"variances": [[-0.5], [0.0]]}, "'a' has the variance -0.5"),
        ({"normalised": frozenset({"c"})}, "No key is named 'c'"),
        ({"normalised": frozenset({"a"}), "means": [[2.0], [0.0]]}, "line of their mean"),
    ],
)
def test_what_is_no_law_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        law(**changes)


@pytest.mark.parametrize("means", [[[0.0]] * 3, [[], []], [[1.0], [1.0, 2.0]], []])
def test_a_law_with_the_wrong_shapes_is_refused(means):
    with pytest.raises(InputError, match="has shape"):
        law(means=means)


def test_the_numbers_of_a_law_cannot_be_changed():
    means = [[1.0], [0.0]]
    some = law(means=means)
    means[0][0] = 7.0
    assert some.means == ((1.0,), (0.0,))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (Deviation(group="other", lower=0), "stands for 4 keys"),
        (Deviation(group="z", lower=0), "No key is named 'z'"),
        (Deviation(group="a", lower=1, upper=1), "probability zero"),
    ],
)
def test_conditions_that_make_no_sense_are_refused(condition, message):
    with pytest.raises(InputError, match=message):
        law().check_condition(condition)


def test_a_condition_is_possible_or_not_when_nothing_is_random():
    still = law(variances=[[0.0], [0.0]])
    still.check_condition(Deviation(group="a", lower=-1))
    with pytest.raises(InputError, match="probability zero"):
        still.check_condition(Deviation(group="a", lower=1))


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(InputError, match="No deviation"):
        Deviation(group="a", lower=1, upper=0)


@given(st.floats(-3, 3), st.floats(0.01, 4))
def test_a_condition_and_its_complement_have_probability_one(bound, variance):
    below, above = Deviation(group="a", upper=bound), Deviation(group="a", lower=bound)
    assert below.probability(variance) + above.probability(variance) == pytest.approx(1, abs=1e-12)


def test_far_tails_keep_their_digits():
    assert Deviation(group="a", lower=30.0).probability(1.0) == pytest.approx(4.906713927148187e-198, rel=1e-12)


def test_absurd_sizes_are_refused_with_what_they_would_need():
    require_memory(1000, what="A trifle", instead="")
    with pytest.raises(InputError, match=r"8\.0 TB of memory.*Buy less"):
        require_memory(10**12, what="A cathedral", instead="Buy less.")
