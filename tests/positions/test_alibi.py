"""ALiBi against the paper's slopes and the weights that they lead to."""

import math

import numpy as np
import pytest

from regard.attention import AttentionRule, attention_weights, causal_mask
from regard.core.errors import InputError
from regard.positions.alibi import Alibi, alibi_slopes

EIGHT = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


def test_slopes_of_eight_heads_are_the_paper_s():
    np.testing.assert_array_equal(alibi_slopes(8), EIGHT)


def test_slopes_of_sixteen_heads_are_the_paper_s():
    np.testing.assert_allclose(alibi_slopes(16), [2 ** (-k / 2) for k in range(1, 17)], rtol=1e-15)


def test_twelve_heads_take_eight_and_then_every_other_of_sixteen():
    slopes = alibi_slopes(12)
    np.testing.assert_allclose(slopes, [*EIGHT, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5], rtol=1e-15)
    assert np.abs(slopes - 2.0 ** (-8 * np.arange(1, 13) / 12)).max() > 0.1


@pytest.mark.parametrize("num_heads", range(1, 41))
def test_every_head_has_a_slope_of_its_own(num_heads):
    slopes = alibi_slopes(num_heads)
    assert len(set(slopes)) == num_heads
    assert np.all((slopes >= 2**-8) & (slopes < 1))


def test_bias_is_minus_slope_times_distance():
    bias = Alibi(num_heads=3).bias(np.array([5, 0]), np.array([0, 5, 7]))
    expected = [[[-m * abs(t - u) for u in (0, 5, 7)] for t in (5, 0)] for m in alibi_slopes(3)]
    np.testing.assert_array_equal(bias, expected)


@pytest.mark.parametrize(("head", "mean"), [(0, 1.54149), (7, 255.5)])
def test_flat_content_gives_geometric_weights(head, mean):
    slope, length = EIGHT[head], 8192
    positions = np.arange(length)
    rule = AttentionRule(bias=Alibi(num_heads=8).bias(positions[-1:], positions)[head])
    weights = attention_weights(np.zeros((1, 2)), np.zeros((length, 2)), rule=rule)[0, ::-1]
    np.testing.assert_allclose(weights[:40], (1 - math.exp(-slope)) * np.exp(-slope * np.arange(40)), rtol=1e-9)
    assert weights @ positions == pytest.approx(mean, rel=1e-4)


def test_the_paper_s_own_form_gives_the_same_causal_weights(rng):
    """The released code adds m·u, which differs from −m(t − u) by a constant of the row."""
    queries, keys, positions = rng.normal(size=(8, 6, 4)), rng.normal(size=(8, 6, 4)), np.arange(6)
    mask = causal_mask(6, 6)
    ours = attention_weights(
        queries, keys, mask=mask, rule=AttentionRule(bias=Alibi(num_heads=8).bias(positions, positions))
    )
    growing = np.array(EIGHT)[:, None, None] * positions[None, None, :]
    np.testing.assert_allclose(
        attention_weights(queries, keys, mask=mask, rule=AttentionRule(bias=growing)), ours, rtol=1e-12
    )
    falling = attention_weights(queries, keys, mask=mask, rule=AttentionRule(bias=-growing))
    assert np.abs(falling - ours).max() > 0.1


@pytest.mark.parametrize("num_heads", [0, -1])
def test_no_heads_have_no_slopes(num_heads):
    with pytest.raises(InputError, match=f"{num_heads} heads have no slopes"):
        Alibi(num_heads=num_heads)
