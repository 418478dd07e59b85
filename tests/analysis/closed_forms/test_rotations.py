"""Closed forms of rotary codes against complex numbers and against the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.rotations import (
    complex_product,
    envelope,
    envelope_floor,
    favour_lost,
    half_split_slot,
    interleaved_slot,
    mixed_score,
    relative_score,
    rotation_matrix,
    squared_norm,
)
from regard.positions.rotary import Rotary

ROTARY = Rotary()


def vectors(seed: int, half: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return *rng.normal(size=(2, 2 * half)), ROTARY.frequencies(2 * half)


@given(seed=st.integers(0, 10**6), half=st.integers(1, 6), t=st.integers(-500, 500), u=st.integers(-500, 500))
def test_products_matrices_scores_and_norms_agree_with_complex_numbers(seed, half, t, u):
    x, y, theta = vectors(seed, half)
    z, w = x[0::2] + 1j * x[1::2], y[0::2] + 1j * y[1::2]
    turned = z * np.exp(1j * t * theta)
    product = np.array(complex_product(x, t * theta))
    np.testing.assert_allclose(product, np.stack([turned.real, turned.imag], -1).ravel(), atol=1e-12)
    np.testing.assert_allclose(rotation_matrix(t * theta) @ x, product, atol=1e-12)
    np.testing.assert_allclose(ROTARY.rotate(x[None], np.array([t]))[0], product, atol=1e-11)
    expected = (z * w.conj() * np.exp(1j * (t - u) * theta)).sum().real
    assert relative_score(x, y, t * theta, u * theta) == pytest.approx(expected, abs=1e-11)
    assert squared_norm(product) == pytest.approx(x @ x)


def test_slots_of_both_layouts_fill_every_place_once():
    for width in (2, 4, 10):
        for slot in (interleaved_slot, half_split_slot):
            assert sorted(int(slot(i, p, width)) for i in range(width // 2) for p in (0, 1)) == list(range(width))
    assert [int(half_split_slot(s // 2, s % 2, 6)) for s in range(6)] == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize("width", [4, 6, 64])
def test_the_mixed_score_is_what_two_layouts_make_of_one_vector(width):
    theta, unit = ROTARY.frequencies(width), np.eye(width)[1:2]
    query = ROTARY.rotate(unit, np.array([3]))[0]
    key = Rotary(layout="half-split").rotate(unit, np.array([5]))[0]
    assert mixed_score(3 * theta, 5 * theta) == pytest.approx(query @ key)


def test_the_envelope_is_the_length_of_a_sum_of_unit_numbers():
    lags = np.arange(50)
    direct = np.abs(np.exp(1j * np.multiply.outer(lags, ROTARY.frequencies(32))).sum(-1))
    np.testing.assert_allclose(envelope(lags, 32, 10_000.0), direct)


def test_the_floor_is_the_mean_length_of_a_random_walk():
    """False alarm below one in a million: five standard errors and a hundredth for the finite number of steps."""
    walks = np.abs(np.exp(2j * np.pi * np.random.default_rng(0).random((20_000, 64))).sum(-1))
    tolerance = 5 * walks.std() / np.sqrt(len(walks)) + 0.01 * envelope_floor(128)
    assert walks.mean() == pytest.approx(envelope_floor(128), abs=tolerance)
    assert round(envelope_floor(128), 1) == 7.1


@given(seed=st.integers(0, 10**6), half=st.integers(1, 6), r=st.integers(0, 99), s=st.integers(0, 99))
def test_a_turned_query_as_key_is_favoured_at_its_turn(seed, half, r, s):
    q, _, theta = vectors(seed, half)
    key = ROTARY.rotate(q[None], np.array([r]))[0]
    score = ROTARY.rotate(q[None], np.array([s]))[0] @ key
    lost = favour_lost(q[0::2] ** 2 + q[1::2] ** 2, (s - r) * theta / 2).sum()
    assert q @ q - score == pytest.approx(lost, abs=1e-9)
