"""T5's buckets against the definition, computed with many digits, and against the released code's floats."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.positions.t5_buckets import T5Buckets, t5_bucket


def bucket_of_distance(n, num_buckets, max_distance):
    """Half of the buckets hold one distance each, the rest grow as logarithms up to the maximal distance."""
    exact = num_buckets // 2
    if n < exact:
        return n
    with localcontext() as context:
        context.prec = 60
        share = (Decimal(n) / exact).ln() / (Decimal(max_distance) / exact).ln()
        # A quotient that is whole in exact arithmetic may come out 1e-58 below.
        return min(exact + int(share * (num_buckets - exact) + Decimal("1e-40")), num_buckets - 1)


def bucket_of_gap(gap, num_buckets, max_distance, is_causal):
    if is_causal:
        return bucket_of_distance(max(-gap, 0), num_buckets, max_distance)
    half = num_buckets // 2
    return bucket_of_distance(abs(gap), half, max_distance) + (half if gap > 0 else 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 20), st.integers(2, 300), st.booleans())
def test_buckets_equal_the_definition(half, reach, is_causal):
    num_buckets, max_distance = 2 * half, half + reach
    gaps = np.arange(-2 * max_distance, 2 * max_distance, 3)
    buckets = t5_bucket(gaps, num_buckets=num_buckets, max_distance=max_distance, is_causal=is_causal)
    expected = [bucket_of_gap(int(gap), num_buckets, max_distance, is_causal) for gap in gaps]
    np.testing.assert_array_equal(buckets, expected)


@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (32, 256), (64, 512)])
def test_buckets_equal_the_released_code_s(num_buckets, max_distance):
    """The released code takes logarithms in float32 and truncates."""
    distances = np.arange(1, 3000)
    exact = num_buckets // 2
    ratio = np.log(distances.astype(np.float32) / np.float32(exact)) / np.float32(math.log(max_distance / exact))
    large = np.minimum(exact + np.trunc(ratio * np.float32(num_buckets - exact)), num_buckets - 1)
    theirs = np.where(distances < exact, distances, large).astype(int)
    ours = t5_bucket(-distances, num_buckets=num_buckets, max_distance=max_distance, is_causal=True)
    np.testing.assert_array_equal(ours, theirs)


def test_a_distance_on_a_boundary_needs_more_than_float64():
    """With 10 buckets and 160 the sixth starts at 5·32^{1/5} = 10 exactly; the logarithms in float64 say otherwise."""
    assert t5_bucket(np.array([-10]), num_buckets=10, max_distance=160, is_causal=True)[0] == 6
    assert 5 + int(math.log(10 / 5) / math.log(160 / 5) * 5) == 5


def test_directions_are_not_alike():
    buckets = t5_bucket(np.array([-3, 3]))
    np.testing.assert_array_equal(buckets, [3, 19])
    np.testing.assert_array_equal(t5_bucket(np.array([-3, 3]), is_causal=True), [3, 0])


def test_bias_looks_up_the_gap_from_query_to_key(rng):
    table = rng.normal(size=(32, 4))
    bias = T5Buckets(table=table).bias(np.array([0, 50]), np.array([0, 1, 200]))
    assert bias.shape == (4, 2, 3)
    for head in range(4):
        for i, t in enumerate((0, 50)):
            for j, u in enumerate((0, 1, 200)):
                assert bias[head, i, j] == table[bucket_of_gap(u - t, 32, 128, False), head]
    assert bias[0, 0, 1] != table[bucket_of_gap(-1, 32, 128, False), 0]


def test_gradients_reach_the_table(torch):
    table = torch.zeros(4, 2, requires_grad=True)
    T5Buckets(table=table, is_causal=True).bias(torch.arange(2), torch.arange(2)).sum().backward()
    assert table.grad is not None
    assert table.grad.tolist() == [[3, 3], [1, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("num_buckets", "max_distance", "is_causal", "message"),
    [
        (1, 128, True, "There are 1 buckets"),
        (2, 128, False, "There are 2 buckets"),
        (7, 128, False, "needs an even number"),
        (32, 8, False, "max_distance is 8, but distances below 8"),
        (32, 16, True, "Use a max_distance above 16"),
    ],
)
def test_buckets_that_cannot_be_made(num_buckets, max_distance, is_causal, message):
    with pytest.raises(InputError, match=message):
        T5Buckets(table=np.ones((num_buckets, 2)), max_distance=max_distance, is_causal=is_causal)
    with pytest.raises(InputError, match=message):
        t5_bucket(np.arange(3), num_buckets=num_buckets, max_distance=max_distance, is_causal=is_causal)
