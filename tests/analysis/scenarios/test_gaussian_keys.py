import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jaxtyping import TypeCheckError

from analysis.logit_covariances import covariances
from regard.analysis.scenarios import GaussianKeys, Lookup
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


def test_dense_covariances_come_back():
    root = np.array([[1.0, 0.5], [0.0, 2.0]])
    some = GaussianKeys.from_covariances(means=np.eye(2), covariances=np.array([root @ root.T, np.eye(2)]))
    assert np.allclose(some.covariance(0), root @ root.T)


def test_a_dense_matrix_that_is_no_covariance_is_named():
    with pytest.raises(InputError, match="key 'right' has the eigenvalue -3"):
        GaussianKeys.from_covariances(
            means=np.eye(2), covariances=np.array([np.eye(2), -3 * np.eye(2)]), names=("left", "right")
        )


def test_absurd_dense_covariances_are_refused_before_they_are_looked_at():
    never_read = np.broadcast_to(0.0, (10**4, 10**4, 10**4))
    with pytest.raises(InputError, match=r"16\.0 TB"):
        GaussianKeys.from_covariances(means=np.broadcast_to(0.0, (10**4, 10**4)), covariances=never_read)


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
