import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.logit_covariances import covariances
from regard.analysis.scenarios import (
    CourseKeys,
    Deviation,
    LogitLaw,
    QueryDesign,
    course_keys,
    identical_heads,
    one_head,
    read_noise,
    two_heads,
)
from regard.core.errors import DomainError, InputError

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


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="not finite"):
        law(means=[[math.nan], [0.0]])
    with pytest.raises(InputError, match="not finite"):
        course_keys(n=5, sigma2=1.5e308, alpha=1.5e308).logits(one_head(0.0))


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


DESIGNS = [one_head, two_heads, identical_heads]


def test_one_head_asks_for_both_and_two_heads_for_one_each():
    assert one_head(2.0).coefficients == {"a": (2.0,), "b": (2.0,)}
    assert two_heads(2.0).coefficients == {"a": (2.0, 0.0), "b": (0.0, 2.0)}
    assert identical_heads(2.0).coefficients == {"a": (2.0, 2.0), "b": (2.0, 2.0)}


def test_only_a_is_random_by_default():
    law = course_keys(n=10).logits(two_heads(4.0))
    assert law.counts == (1, 1, 8)
    assert covariances(law).tolist() == [[[8.0, 0.0], [0.0, 0.0]], [[0.0] * 2] * 2, [[0.0] * 2] * 2]


def test_isotropic_noise_gives_every_key_the_dot_products_of_the_queries():
    law = course_keys(n=10, sigma2=0.5, alpha=0.25).logits(one_head(2.0))
    assert covariances(law)[:, 0, 0].tolist() == [0.25 * 8 + 0.5 * 4, 0.25 * 8, 0.25 * 8]


@given(
    st.floats(0, 5), st.floats(0, 2), st.floats(0, 1), st.lists(st.floats(-4, 4), min_size=4, max_size=4), st.booleans()
)
def test_the_law_is_that_of_the_keys_in_key_space(beta, sigma2, alpha, extra, noisy_b):
    design = QueryDesign(coefficients={"a": (beta, extra[0]), "b": (extra[1], beta), "c": (extra[2], extra[3])})
    keys = CourseKeys(n=5, noise={"a": sigma2, "b": 0.3 * noisy_b}, alpha=alpha)
    law, space = keys.logits(design), keys.in_key_space(design)
    assert law.names == ("a", "b", "c", "other")
    assert space.names == ("a", "b", "c", "other", "other")
    assert np.allclose(np.repeat(law.means, law.counts, axis=0), space.queries.T, atol=1e-12)
    for key, name in enumerate(space.names):
        covariance = alpha * np.eye(5)
        covariance[key, key] += space.noise[key]
        found = covariances(law)[law.index(name)]
        assert np.allclose(found, space.queries @ covariance @ space.queries.T, atol=1e-9)
        assert name == "other" or law.own_variance(name) == pytest.approx(covariance[key, key], abs=1e-12)


def test_a_million_keys_cost_nothing():
    law = course_keys(n=10**6, alpha=1e-4).logits(two_heads(20.0))
    assert law.num_keys == 10**6
    assert law.means == ((20.0, 0.0), (0.0, 20.0), (0.0, 0.0))


def test_noise_may_sit_on_any_named_key():
    law = CourseKeys(n=6, noise=read_noise("c=0.5")).logits(one_head(1.0))
    assert law.names == ("a", "b", "c", "other")
    assert law.counts == (1, 1, 1, 3)
    assert law.own_variance("c") == 0.5


def test_every_key_may_have_a_name():
    assert CourseKeys(n=3, noise={"c": 0.1}).logits(one_head(1.0)).names == ("a", "b", "c")


@pytest.mark.parametrize("n", [2, 0, -1])
def test_too_few_keys_are_outside_the_domain(n):
    with pytest.raises(DomainError, match="n = "):
        CourseKeys(n=n, noise={})


@pytest.mark.parametrize("beta", [-1.0, math.inf, math.nan])
@pytest.mark.parametrize("design", DESIGNS)
def test_bad_scales_are_outside_the_domain(beta, design):
    with pytest.raises(DomainError, match="β = "):
        design(beta)


@pytest.mark.parametrize("changes", [{"sigma2": -0.1}, {"alpha": -1e-9}, {"sigma2": math.inf}, {"alpha": math.nan}])
def test_bad_variances_are_outside_the_domain(changes):
    with pytest.raises(DomainError, match="is not a variance"):
        course_keys(n=10, **changes)


def test_more_names_than_keys_are_refused():
    with pytest.raises(InputError, match="4 keys are named"):
        CourseKeys(n=3, noise={"c": 0.1, "d": 0.1}).logits(one_head(1.0))


def test_normalized_keys_have_a_law_only_without_isotropic_noise():
    with pytest.raises(DomainError, match="limit α → 0"):
        course_keys(n=10, alpha=0.1, is_normalized=True).logits(one_head(1.0))


def test_key_space_that_does_not_fit_is_refused_before_it_is_made():
    with pytest.raises(InputError, match=r"24\.0 TB"):
        course_keys(n=10**6).in_key_space(one_head(1.0))


@pytest.mark.parametrize("text", ["a", "a=", "=0.5", "a=half"])
def test_noise_that_cannot_be_read_is_quoted(text):
    with pytest.raises(InputError, match="name=variance"):
        read_noise(text)


@pytest.mark.parametrize(
    "coefficients", [{"a": (1.0,), "b": (1.0, 2.0)}, {"a": ()}, {"a": (math.inf,)}, {"a": (math.nan, 1.0)}]
)
def test_designs_without_finite_queries_are_refused(coefficients):
    with pytest.raises(InputError, match="The design"):
        QueryDesign(coefficients=coefficients)
