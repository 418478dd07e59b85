import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jaxtyping import TypeCheckError

from analysis.logit_covariances import covariances
from regard.analysis.gaussian_keys import GaussianKeys, Lookup, factor_covariance, require_memory
from regard.core.errors import InputError

ENTRIES = st.floats(-2, 2, allow_subnormal=False)


def keys(**changes):
    fields = {"means": np.eye(3), "noise": np.full(3, 0.1), "factors": np.zeros((3, 3, 1))}
    return GaussianKeys(**{**fields, **changes})


@given(
    hnp.arrays(np.float64, (2, 3), elements=ENTRIES),
    hnp.arrays(np.float64, (2, 3, 2), elements=ENTRIES),
    hnp.arrays(np.float64, (2, 3), elements=ENTRIES),
    st.floats(0, 1),
)
def test_the_law_of_the_logits_is_the_projected_gaussian(means, factors, queries, noise):
    some = GaussianKeys(means=means, noise=np.full(2, noise), factors=factors)
    law = some.logits(queries)
    assert np.allclose(law.means, means @ queries.T)
    for key in range(2):
        assert np.allclose(covariances(law)[key], queries @ some.covariance(key) @ queries.T, atol=1e-9)


def test_own_deviation_is_the_part_of_the_noise_along_the_mean():
    assert keys(means=2 * np.eye(3)).own_variance(0) == pytest.approx(0.1 / 4)
    assert keys(means=np.zeros((3, 3))).own_variance(0) == 0.0


def test_keys_of_one_name_that_differ_are_refused():
    with pytest.raises(InputError, match="share the name 'same'"):
        keys(names=("same", "same", "rest")).logits(np.array([[1.0, 0.0, 0.0]]))


def test_keys_of_one_name_that_only_look_different_form_a_group():
    law = keys(names=("same", "same", "rest")).logits(np.array([[0.0, 0.0, 1.0]]))
    assert law.names == ("same", "rest")
    assert law.counts == (2, 1)


@pytest.mark.parametrize(
    "changes",
    [{"noise": np.zeros(2)}, {"factors": np.zeros((3, 2, 1))}, {"names": ("a",)}, {"means": np.zeros((0, 3))}],
)
def test_parts_that_do_not_fit_together_are_refused(changes):
    with pytest.raises((InputError, TypeCheckError), match=r"do not fit together|Type-check"):
        keys(**changes)


def test_negative_and_infinite_noise_are_refused():
    with pytest.raises(InputError, match="Key 'key 2' has noise -1"):
        keys(noise=np.array([0.0, -1.0, 0.0]))
    with pytest.raises(InputError, match="not finite"):
        keys(noise=np.array([0.0, np.inf, 0.0]))


def test_normalised_keys_have_no_gaussian_logits():
    with pytest.raises(InputError, match="not Gaussian"):
        keys(is_normalised=True).logits(np.eye(3))


def test_queries_must_fit_the_keys():
    with pytest.raises(InputError, match="the keys width 3"):
        Lookup(keys=keys(), queries=np.ones((1, 2)))


@given(hnp.arrays(np.float64, (3, 3), elements=ENTRIES))
def test_a_covariance_is_rebuilt_from_its_directions(root):
    covariance = root @ root.T
    directions, variances = factor_covariance(covariance)
    assert np.allclose((directions * variances) @ directions.T, covariance, atol=1e-10)
    assert np.all(variances > 0)


@given(hnp.arrays(np.float64, 3, elements=st.integers(-50, 50).map(float)), st.integers(1, 64))
def test_one_direction_with_exact_entries_stays_one_direction(direction, quarters):
    covariance = quarters / 4 * np.outer(direction, direction)
    directions, variances = factor_covariance(covariance)
    assert directions.shape[1] == len(variances) == int(np.any(direction))


def test_absurd_sizes_are_refused_with_what_they_would_need():
    require_memory(1000, what="A trifle", instead="")
    with pytest.raises(InputError, match=r"8\.0 TB of memory.*Buy less"):
        require_memory(10**12, what="A cathedral", instead="Buy less.")
