"""Rotary codes against complex multiplication, and the facts about them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.core.errors import InputError
from regard.positions.rotary import Rotary

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
        (lambda: Rotary(layout="neox"), "'neox', which pairs nothing"),
        (lambda: Rotary(base=1.0), "base is 1.0"),
    ],
)
def test_codes_that_cannot_turn(make, message):
    with pytest.raises(InputError, match=message):
        make()
