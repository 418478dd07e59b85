"""Scalings against numbers worked out by hand."""

import math

import numpy as np
import pytest

from regard.core.errors import InputError
from regard.positions.rotary import Rotary
from regard.positions.rotary_scaling import Linear, Ntk, Scaling, Yarn

BASE = 10_000.0


def test_unscaled_frequencies_are_powers_of_the_base():
    np.testing.assert_allclose(Scaling().frequencies(BASE, 8), [1, 1e-1, 1e-2, 1e-3])
    assert Scaling().gain == 1


def test_linear_scaling_divides_positions(rng):
    x, positions = rng.normal(size=(5, 8)), np.arange(5)
    stretched = Rotary(scaling=Linear(factor=4.0)).rotate(x, positions)
    np.testing.assert_allclose(stretched, Rotary().rotate(x, positions / 4), rtol=1e-12)
    assert np.abs(stretched - Rotary().rotate(x, positions * 4)).max() > 0.1


def test_ntk_keeps_the_fastest_pair_and_slows_the_slowest():
    plain, stretched = (scaling.frequencies(BASE, 16) for scaling in (Scaling(), Ntk(factor=8.0)))
    assert stretched[0] == plain[0]
    assert stretched[-1] == pytest.approx(plain[-1] / 8, rel=1e-12)
    ratios = plain / stretched
    np.testing.assert_allclose(ratios[1:] / ratios[:-1], 8 ** (1 / 7), rtol=1e-12)
    naive = (BASE * 8) ** (-np.arange(8) / 8)
    assert naive[-1] != pytest.approx(plain[-1] / 8, rel=0.1)


def test_yarn_as_released_worked_out_by_hand():
    """Eight dims, L = 4096: 32 turns fall at pair 1.31 and one turn at pair 2.81, so the ramp runs from 1 to 3."""
    frequencies = Yarn(factor=4.0, original_length=4096).frequencies(BASE, 8)
    np.testing.assert_allclose(frequencies, [1, 0.1, 0.01 * (1 + 1 / 4) / 2, 0.001 / 4], rtol=1e-14)


def test_yarn_of_the_paper_worked_out_by_hand():
    """Pair 2 turns 4096·0.01/2π ≈ 6.52 times, so it keeps (6.52 − 1)/31 of its frequency."""
    kept = (4096 * 0.01 / (2 * math.pi) - 1) / 31
    frequencies = Yarn(factor=4.0, original_length=4096, ramp="rotations").frequencies(BASE, 8)
    np.testing.assert_allclose(frequencies, [1, 0.1, 0.01 * (kept + (1 - kept) / 4), 0.001 / 4], rtol=1e-14)


def test_yarn_without_rounding_worked_out_by_hand():
    first, last = (8 * math.log(4096 / (2 * math.pi * turns)) / (2 * math.log(BASE)) for turns in (32, 1))
    assert first == pytest.approx(1.31, abs=0.005)
    assert last == pytest.approx(2.81, abs=0.005)
    kept = 1 - (2 - first) / (last - first)
    frequencies = Yarn(factor=4.0, original_length=4096, ramp="pairs").frequencies(BASE, 8)
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
    frequencies = Yarn(factor=4.0, original_length=original_length).frequencies(base, dims)
    np.testing.assert_allclose(frequencies, Scaling().frequencies(base, dims) * (kept + (1 - kept) / 4), rtol=1e-14)


def test_the_paper_and_the_released_code_disagree():
    paper, code = (
        Yarn(factor=4.0, original_length=4096, ramp=ramp).frequencies(BASE, 128)
        for ramp in ("rotations", "whole-pairs")
    )
    assert np.max(code / paper) > 1.5
    np.testing.assert_allclose(paper[[0, -1]], code[[0, -1]])


def test_yarn_lies_between_unscaled_and_linear():
    for ramp in ("rotations", "pairs", "whole-pairs"):
        frequencies = Yarn(factor=16.0, original_length=2048, ramp=ramp).frequencies(500_000.0, 64)
        plain = Scaling().frequencies(500_000.0, 64)
        assert np.all(frequencies <= plain)
        assert np.all(frequencies >= plain / 16 * (1 - 1e-15))
        assert np.all(np.diff(frequencies) < 0)


def test_yarn_cools_attention(rng):
    scaling = Yarn(factor=32.0, original_length=4096)
    assert scaling.gain == pytest.approx(0.1 * math.log(32) + 1, rel=1e-15)
    assert Yarn(factor=1.0, original_length=4096).gain == 1
    q, k = rng.normal(size=(2, 1, 8))
    here = np.array([0])
    scored = (Rotary(scaling=scaling).rotate(x, here)[0] for x in (q, k))
    assert np.dot(*scored) == pytest.approx(np.dot(q[0], k[0]) * scaling.gain**2)


def test_a_given_gain_replaces_the_formula(rng):
    code = Rotary(scaling=Yarn(factor=32.0, original_length=4096, attention_gain=1.0))
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
    scaling = Yarn(factor=8.0, original_length=8192, beta_fast=4.0, ramp="rotations", attention_gain=1.0)
    np.testing.assert_allclose(scaling.frequencies(500_000.0, 128), theirs, rtol=1e-12)


@pytest.mark.parametrize("factor", [0.5, 0.0, -1.0, math.nan, math.inf])
def test_factors_stretch(factor):
    for make in (Linear, Ntk, lambda factor: Yarn(factor=factor, original_length=4096)):
        with pytest.raises(InputError, match="would not stretch"):
            make(factor=factor)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ntk(factor=2.0).frequencies(BASE, 2), "2 rotary dims make one pair"),
        (lambda: Yarn(factor=2.0, original_length=6), "length of 6 even the fastest pair"),
        (lambda: Yarn(factor=2.0, original_length=99, beta_fast=1.0), "the ramp has no length"),
        (lambda: Yarn(factor=2.0, original_length=99, ramp="dims"), "'dims', which names no ramp"),
    ],
)
def test_scalings_that_cannot_work(make, message):
    with pytest.raises(InputError, match=message):
        make()
