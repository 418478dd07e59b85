import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from regard.analysis.gaussian_keys import isotropic_directions, require_memory
from regard.core.errors import InputError

ENTRIES = st.floats(-2, 2, allow_subnormal=False)


@given(hnp.arrays(np.float64, (3, 3), elements=ENTRIES))
def test_a_covariance_is_rebuilt_from_its_directions(rows):
    found = isotropic_directions(rows.tolist())
    rebuilt = sum((variance * np.outer(direction, direction) for direction, variance in found), np.zeros((3, 3)))
    assert np.allclose(rebuilt, rows.T @ rows, atol=1e-10)
    assert all(variance > 0 for _, variance in found)


@given(hnp.arrays(np.float64, 3, elements=st.integers(-50, 50).map(float)), st.integers(1, 64))
def test_one_direction_with_exact_entries_stays_one_direction(direction, halves):
    assert len(isotropic_directions([(halves / 2 * direction).tolist()])) == int(np.any(direction))


def test_absurd_sizes_are_refused_with_what_they_would_need():
    require_memory(1000, what="A trifle", instead="")
    with pytest.raises(InputError, match=r"8\.0 TB of memory.*Buy less"):
        require_memory(10**12, what="A cathedral", instead="Buy less.")
