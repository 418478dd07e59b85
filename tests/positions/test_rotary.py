import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.positions.rotary import LinearScaling, NtkScaling, Rotary, RotaryScaling, YarnScaling

LAYOUTS = ["interleaved", "half-split"]


def by_complex_numbers(x, positions, layout, base=10_000.0):
    """Pairs as complex numbers, each multiplied by e^{itθ}."""
    half = x.shape[-1] // 2
    z = x[..., ::2] + 1j * x[..., 1::2] if layout == "interleaved" else x[..., :half] + 1j * x[..., half:]
    turned = z * np.exp(1j * positions[:, None] / base ** (np.arange(half) / half))
    out = np.empty_like(x)
    if layout == "interleaved":
        out[..., ::2], out[..., 1::2] = turned.real, turned.imag
    else:
        out[..., :half], out[..., half:] = turned.real, turned.imag
    return out


def by_matrix(x, t, base=10_000.0):
    """One vector times its block-diagonal rotation."""
    matrix = np.zeros((len(x), len(x)))
    for i in range(0, len(x), 2):
        cos, sin = np.cos(t / base ** (i / len(x))), np.sin(t / base ** (i / len(x)))
        matrix[i : i + 2, i : i + 2] = [[cos, -sin], [sin, cos]]
    return matrix @ x


@settings(deadline=None)
@given(st.sampled_from(LAYOUTS), st.integers(1, 5), st.floats(2, 1e6), st.integers(0, 2**32 - 1))
def test_rotation_is_complex_multiplication(layout, num_pairs, base, seed):
    rng = np.random.default_rng(seed)
    x, positions = rng.normal(size=(3, 4, 2 * num_pairs)), rng.integers(0, 5000, size=4)
    turned = Rotary(layout=layout, base=base).rotate(x, positions)
    np.testing.assert_allclose(turned, by_complex_numbers(x, positions, layout, base), atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-12)


def test_rotation_is_a_block_diagonal_matrix(rng):
    x = rng.normal(size=6)
    turned = Rotary().rotate(x[None], np.array([37]))[0]
    np.testing.assert_allclose(turned, by_matrix(x, 37), rtol=1e-12)
    assert np.abs(turned - by_matrix(x, -37)).max() > 0.1


@settings(deadline=None)
@given(st.sampled_from(LAYOUTS), st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 2**32 - 1))
def test_scores_are_relative(layout, t, u, seed):
    q, k = np.random.default_rng(seed).normal(size=(2, 1, 8))
    code = Rotary(layout=layout)

    def score(here, there):
        return code.rotate(q, np.array([here]))[0] @ code.rotate(k, np.array([there]))[0]

    assert score(t, u) == pytest.approx(score(t - u, 0), abs=1e-10)


def test_layouts_are_one_permutation_apart_and_must_not_be_mixed(rng):
    q, k, positions = rng.normal(size=(5, 8)), rng.normal(size=(5, 8)), np.arange(5)
    interleaved, half = Rotary(layout="interleaved"), Rotary(layout="half-split")
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    np.testing.assert_allclose(half.rotate(q[:, order], positions), interleaved.rotate(q, positions)[:, order])

    def scores(of_queries, of_keys, shift):
        return of_queries.rotate(q, positions + shift) @ of_keys.rotate(k, positions + shift).T

    np.testing.assert_allclose(scores(half, half, 9), scores(half, half, 0), atol=1e-12)
    assert np.abs(scores(half, interleaved, 9) - scores(half, interleaved, 0)).max() > 0.1


def test_layouts_coincide_for_one_pair(rng):
    x = rng.normal(size=(3, 2))
    turned = [Rotary(layout=layout).rotate(x, np.arange(3)) for layout in LAYOUTS]
    np.testing.assert_array_equal(*turned)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_partial_rotation_turns_the_first_dims_only(layout, rng):
    x, positions = rng.normal(size=(3, 8)), np.arange(3)
    turned = Rotary(layout=layout, rotary_dims=4).rotate(x, positions)
    np.testing.assert_array_equal(turned[:, 4:], x[:, 4:])
    np.testing.assert_array_equal(turned[:, :4], Rotary(layout=layout).rotate(x[:, :4], positions))
    assert np.abs(turned - Rotary(layout=layout).rotate(x, positions)).max() > 0.1


def test_frequencies_of_a_partial_rotation_count_its_dims_only():
    np.testing.assert_allclose(Rotary(rotary_dims=4).frequencies(8), [1, 0.01])
    np.testing.assert_allclose(Rotary().frequencies(8), [1, 0.1, 0.01, 0.001])


def test_the_envelope_decays_in_the_mean():
    frequencies = Rotary().frequencies(128)
    means = [
        np.abs(np.exp(1j * np.outer(np.arange(low, 10 * low), frequencies)).sum(axis=-1)).mean()
        for low in (1, 10, 100, 1000)
    ]
    np.testing.assert_allclose(means, [51.32, 34.47, 20.04, 9.31], atol=0.006)


def test_angles_do_not_take_the_precision_of_the_heads(rng):
    x, far = rng.normal(size=(1, 8)).astype(np.float16), np.array([30001])
    exact = Rotary().rotate(x.astype(np.float64), far)
    np.testing.assert_allclose(Rotary().rotate(x, far), exact, rtol=2**-10)
    rounded_position = far.astype(np.float16).astype(np.float64)
    assert np.abs(Rotary().rotate(x.astype(np.float64), rounded_position) - exact).max() > 0.1


def test_gradients_are_rotations_back(torch, rng):
    x = torch.tensor(rng.normal(size=(2, 4)), requires_grad=True)
    upstream = torch.tensor(rng.normal(size=(2, 4)))
    Rotary().rotate(x, torch.tensor([3, 5])).backward(upstream)
    torch.testing.assert_close(x.grad, Rotary().rotate(upstream, torch.tensor([-3, -5])))


@pytest.mark.parametrize("rotary_dims", [-2, 0, 3])
def test_rotary_dims_are_pairs(rotary_dims):
    with pytest.raises(InputError, match=f"rotary_dims is {rotary_dims}, which does not divide into pairs"):
        Rotary(rotary_dims=rotary_dims)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rotary().rotate(np.ones((1, 5)), np.array([0])), "head width is 5"),
        (lambda: Rotary(rotary_dims=8).rotate(np.ones((1, 4)), np.array([0])), "8, but heads have width 4"),
        (lambda: Rotary(layout="neox"), "'neox', which is not a layout"),
        (lambda: Rotary(base=1.0), "base is 1.0"),
    ],
)
def test_codes_that_cannot_turn(make, message):
    with pytest.raises(InputError, match=message):
        make()


BASE = 10_000.0


def test_unscaled_frequencies_are_powers_of_the_base():
    np.testing.assert_allclose(RotaryScaling().frequencies(BASE, 8), [1, 1e-1, 1e-2, 1e-3])
    assert RotaryScaling().gain == 1


def test_linear_scaling_divides_positions(rng):
    x, positions = rng.normal(size=(5, 8)), np.arange(5)
    stretched = Rotary(scaling=LinearScaling(factor=4.0)).rotate(x, positions)
    np.testing.assert_allclose(stretched, Rotary().rotate(x, positions / 4), rtol=1e-12)
    assert np.abs(stretched - Rotary().rotate(x, positions * 4)).max() > 0.1


def test_ntk_keeps_the_fastest_pair_and_slows_the_slowest():
    plain, stretched = (scaling.frequencies(BASE, 16) for scaling in (RotaryScaling(), NtkScaling(factor=8.0)))
    assert stretched[0] == plain[0]
    assert stretched[-1] == pytest.approx(plain[-1] / 8, rel=1e-12)
    ratios = plain / stretched
    np.testing.assert_allclose(ratios[1:] / ratios[:-1], 8 ** (1 / 7), rtol=1e-12)
    naive = (BASE * 8) ** (-np.arange(8) / 8)
    assert naive[-1] != pytest.approx(plain[-1] / 8, rel=0.1)


def test_yarn_as_released_worked_out_by_hand():
    """Eight dims, L = 4096: 32 turns fall at pair 1.31 and one turn at pair 2.81, so the ramp runs from 1 to 3."""
    frequencies = YarnScaling(factor=4.0, original_length=4096).frequencies(BASE, 8)
    np.testing.assert_allclose(frequencies, [1, 0.1, 0.01 * (1 + 1 / 4) / 2, 0.001 / 4], rtol=1e-14)


def test_yarn_of_the_paper_worked_out_by_hand():
    """Pair 2 turns 4096·0.01/2π ≈ 6.52 times, so it keeps (6.52 − 1)/31 of its frequency."""
    kept = (4096 * 0.01 / (2 * math.pi) - 1) / 31
    frequencies = YarnScaling(factor=4.0, original_length=4096, ramp="rotations").frequencies(BASE, 8)
    np.testing.assert_allclose(frequencies, [1, 0.1, 0.01 * (kept + (1 - kept) / 4), 0.001 / 4], rtol=1e-14)


def test_yarn_without_rounding_worked_out_by_hand():
    first, last = (8 * math.log(4096 / (2 * math.pi * turns)) / (2 * math.log(BASE)) for turns in (32, 1))
    assert first == pytest.approx(1.31, abs=0.005)
    assert last == pytest.approx(2.81, abs=0.005)
    kept = 1 - (2 - first) / (last - first)
    frequencies = YarnScaling(factor=4.0, original_length=4096, ramp="pairs").frequencies(BASE, 8)
    np.testing.assert_allclose(frequencies, [1, 0.1, 0.01 * (kept + (1 - kept) / 4), 0.001 / 4], rtol=1e-14)


@pytest.mark.parametrize(
    ("base", "dims", "original_length", "kept"),
    [
        (BASE, 4, 64, [1, 0]),  # 32 turns fall at pair −0.25, clamped to 0; one turn at 0.50
        (10.0, 4, 357, [1, 2 / 3]),  # 32 turns fall at pair 0.50; one turn at 3.51, rounded to 4, clamped to dim 3
        (10.0, 2, 4096, [1]),  # every pair turns more than 32 times, so the ends cross
    ],
)
def test_the_ends_of_the_ramp_are_clamped(base, dims, original_length, kept):
    kept = np.array(kept)
    frequencies = YarnScaling(factor=4.0, original_length=original_length).frequencies(base, dims)
    np.testing.assert_allclose(
        frequencies, RotaryScaling().frequencies(base, dims) * (kept + (1 - kept) / 4), rtol=1e-14
    )


def test_the_paper_and_the_released_code_disagree():
    paper, code = (
        YarnScaling(factor=4.0, original_length=4096, ramp=ramp).frequencies(BASE, 128)
        for ramp in ("rotations", "whole-pairs")
    )
    assert np.max(code / paper) > 1.5
    np.testing.assert_allclose(paper[[0, -1]], code[[0, -1]])


def test_yarn_lies_between_unscaled_and_linear():
    for ramp in ("rotations", "pairs", "whole-pairs"):
        frequencies = YarnScaling(factor=16.0, original_length=2048, ramp=ramp).frequencies(500_000.0, 64)
        plain = RotaryScaling().frequencies(500_000.0, 64)
        assert np.all(frequencies <= plain)
        assert np.all(frequencies >= plain / 16 * (1 - 1e-15))
        assert np.all(np.diff(frequencies) < 0)


def test_yarn_cools_attention(rng):
    scaling = YarnScaling(factor=32.0, original_length=4096)
    assert scaling.gain == pytest.approx(0.1 * math.log(32) + 1, rel=1e-15)
    assert YarnScaling(factor=1.0, original_length=4096).gain == 1
    q, k = rng.normal(size=(2, 1, 8))
    here = np.array([0])
    scored = (Rotary(scaling=scaling).rotate(x, here)[0] for x in (q, k))
    assert np.dot(*scored) == pytest.approx(np.dot(q[0], k[0]) * scaling.gain**2)


def test_a_given_gain_replaces_the_formula(rng):
    code = Rotary(scaling=YarnScaling(factor=32.0, original_length=4096, attention_gain=1.0))
    x = rng.normal(size=(3, 8))
    np.testing.assert_allclose(np.linalg.norm(code.rotate(x, np.arange(3))), np.linalg.norm(x))


def test_llama_3_is_the_ramp_of_the_paper():
    """Llama 3.1's rule by wavelengths: short ones kept, long ones divided by 8, a blend between L/4 and L."""
    theirs = []
    for i in range(64):
        frequency = 500_000.0 ** (-2 * i / 128)
        wavelength = 2 * math.pi / frequency
        blend = (8192 / wavelength - 1) / 3
        if wavelength < 8192 / 4:
            theirs.append(frequency)
        elif wavelength > 8192:
            theirs.append(frequency / 8)
        else:
            theirs.append((1 - blend) * frequency / 8 + blend * frequency)
    scaling = YarnScaling(factor=8.0, original_length=8192, beta_fast=4.0, ramp="rotations", attention_gain=1.0)
    np.testing.assert_allclose(scaling.frequencies(500_000.0, 128), theirs, rtol=1e-12)


@pytest.mark.parametrize("factor", [0.5, 0.0, -1.0, math.nan, math.inf])
def test_factors_stretch(factor):
    for make in (LinearScaling, NtkScaling, lambda factor: YarnScaling(factor=factor, original_length=4096)):
        with pytest.raises(InputError, match="would not stretch"):
            make(factor=factor)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NtkScaling(factor=2.0).frequencies(BASE, 2), "2 rotary dims make only one pair"),
        (lambda: YarnScaling(factor=2.0, original_length=6), "length of 6 even the fastest pair"),
        (lambda: YarnScaling(factor=2.0, original_length=99, beta_fast=1.0), "the ramp has no length"),
        (lambda: YarnScaling(factor=2.0, original_length=99, ramp="dims"), "'dims', which is not a ramp"),
    ],
)
def test_scalings_that_cannot_work(make, message):
    with pytest.raises(InputError, match=message):
        make()
