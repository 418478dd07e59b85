from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.analysis.closed_forms.position_codes import (
    FirstPair,
    alibi_covered,
    alibi_mean,
    alibi_weight,
    best_returns,
    code,
    code_product,
    complex_product,
    envelope,
    envelope_floor,
    favour_lost,
    gap,
    half_split_slot,
    interleaved_slot,
    interpolation_slowdown,
    last_bucket_start,
    mixed_score,
    ntk_slowdown,
    relative_score,
    rotation_matrix,
    shift_matrix,
    squared_norm,
    turned_product,
    window_reach,
    yarn_logit_gain,
    yarn_ramp,
)
from regard.positions.alibi import Alibi
from regard.positions.rotary import LinearScaling, NtkScaling, Rotary, YarnScaling, rotary_frequencies
from regard.positions.sinusoidal import sinusoid
from regard.positions.t5_buckets import t5_bucket


@given(t=st.integers(0, 1000), s=st.integers(-1000, 1000), half=st.integers(1, 8))
def test_a_shift_is_the_matrix_and_a_product_sees_the_lag(t, s, half):
    theta = rotary_frequencies(10_000.0, 2 * half)
    here, there = (sinusoid(np.array([x]), width=2 * half)[0] for x in (t, t + s))
    np.testing.assert_allclose(code(t * theta), here, atol=1e-11)
    np.testing.assert_allclose(shift_matrix(s * theta) @ here, there, atol=1e-11)
    assert code_product(t * theta, (t + s) * theta) == pytest.approx(here @ there, abs=1e-10)


def test_the_gap_at_710_is_the_known_one():
    assert float(gap(710)) == pytest.approx(6.028870673e-5, abs=0.5e-14)
    assert gap(103_993) < gap(710) < gap(1420)


def test_best_returns_are_the_records_of_a_search():
    lags = np.arange(1, 200_000)
    gaps = np.abs(np.arctan2(np.sin(lags), np.cos(lags)))
    is_record = gaps < np.concatenate([[np.inf], np.minimum.accumulate(gaps)[:-1]])
    assert best_returns(200_000) == lags[is_record].tolist()


def test_best_returns_go_on_for_ever():
    far = best_returns(10**40)
    assert far[:9] == [1, 6, 19, 25, 44, 333, 710, 103_993, 312_689]
    assert far[-1] > 10**38
    assert gap(far[-1]) > 0


@given(k=st.integers(1, 60), m=st.integers(1, 60))
def test_a_rational_wavelength_repeats_after_its_period(k, m):
    pair = FirstPair(wavelength=(Fraction(k, m), 0))
    assert pair.period == Fraction(m, k).denominator
    angles = pair.angles(np.array([0, pair.period]))
    assert np.cos(angles[1]) == pytest.approx(1.0, abs=1e-9)


def test_whole_positions_and_the_wavelength_2_pi_have_no_period():
    assert FirstPair().period is None
    assert FirstPair(spacing=(1, 1)).period is None
    assert FirstPair(spacing=(0, Fraction(1, 8))).period == 16


@given(a=st.integers(-5, 5), b=st.integers(-5, 5), t=st.floats(-9, 9), u=st.floats(-9, 9))
def test_a_turned_product_is_that_of_the_block(a, b, t, u):
    block = np.array([[a, -b], [b, a]])
    assert turned_product(a, b, t, u) == pytest.approx(code([t]) @ block @ code([u]), abs=1e-12)


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


@given(half=st.integers(2, 64), factor=st.floats(1, 100))
def test_slowdowns_are_those_of_the_code(half, factor):
    pairs, plain = np.arange(half), rotary_frequencies(10_000.0, 2 * half)
    grown, divided = (kind(factor=factor).frequencies(10_000.0, 2 * half) for kind in (NtkScaling, LinearScaling))
    np.testing.assert_allclose(plain / grown, factor ** ntk_slowdown(pairs, 2 * half), rtol=1e-12)
    np.testing.assert_allclose(plain / divided, factor ** interpolation_slowdown(pairs, 2 * half), rtol=1e-12)


def test_the_ramp_along_rotations_is_that_of_the_code():
    plain = rotary_frequencies(10_000.0, 128)
    kept = np.clip(yarn_ramp(4096 * plain / (2 * np.pi), 1.0, 32.0), 0, 1)
    found = YarnScaling(factor=16.0, original_length=4096, ramp="rotations").frequencies(10_000.0, 128)
    np.testing.assert_allclose(found, plain * (kept + (1 - kept) / 16), rtol=1e-14)


def test_the_gain_of_the_logits_is_the_square_of_the_codes():
    gain = YarnScaling(factor=16.0, original_length=4096).gain
    assert yarn_logit_gain(np.log(16.0)) == pytest.approx(gain**2, rel=1e-15)


@given(m=st.floats(0.05, 5))
def test_alibi_is_a_geometric_law(m):
    k = np.arange(2000)
    weights = alibi_weight(m, m * k)
    assert weights.sum() == pytest.approx(1.0)
    assert k @ weights == pytest.approx(alibi_mean(m))
    assert weights[:7].sum() == pytest.approx(alibi_covered(7 * m))


def test_alibi_figures():
    assert alibi_mean(0.5) == pytest.approx(1.54149, abs=5e-6)
    assert alibi_mean(1 / 256) == pytest.approx(255.5, abs=0.05)
    assert alibi_covered(0.5 * 5) < 0.95 <= alibi_covered(0.5 * 6)
    assert alibi_covered(766 / 256) < 0.95 <= alibi_covered(767 / 256)


def test_alibis_steepest_head_of_eight_falls_by_a_half():
    logits = Alibi(num_heads=8).bias(np.array([300]), np.arange(301))[0, 0]
    weights = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(weights[::-1][:20], alibi_weight(0.5, 0.5 * np.arange(20)), rtol=1e-12)


@given(num_buckets=st.integers(2, 40), max_distance=st.integers(21, 600))
def test_the_last_bucket_starts_where_the_code_puts_it(num_buckets, max_distance):
    start = last_bucket_start(num_buckets, max_distance)
    near = t5_bucket(np.array([-start, 1 - start]), num_buckets=num_buckets, max_distance=max_distance, is_causal=True)
    assert near[0] == num_buckets - 1 > near[1]
    assert start <= max_distance


@given(layers=st.integers(0, 5), window=st.integers(1, 6))
def test_windows_reach_as_far_as_a_walk(layers, window):
    reached = {0}
    for _ in range(layers):
        reached = {lag + step for lag in reached for step in range(window)}
    assert reached == set(range(window_reach(layers, window)))
