"""The layer's one formula against the reference layer, in floats and in balls."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from regard.analysis.closed_forms.order import (
    LayerWeights,
    causal_softmax,
    layer,
    mixture,
    output_row,
    relu,
    running_means,
    softmax,
    swapped_code,
)
from regard.analysis.closed_forms.softmax import uniform_weight
from regard.attention import Block, Linear, attention_block, causal_mask

TOKENS, WIDTH, INNER = 5, 3, 7


@pytest.fixture
def weights(rng) -> LayerWeights:
    square = [rng.normal(size=(WIDTH, WIDTH)) for _ in range(3)]
    return LayerWeights(
        query=square[0],
        key=square[1],
        value=square[2],
        inner=rng.normal(size=(WIDTH, INNER)),
        inner_bias=rng.normal(size=(1, INNER)),
        outer=rng.normal(size=(INNER, WIDTH)),
        outer_bias=rng.normal(size=(1, WIDTH)),
        scale=WIDTH**-0.5,
        ones=np.ones((TOKENS, 1)),
    )


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def as_block(w: LayerWeights) -> Block:
    hidden, output = (w.inner, w.inner_bias), (w.outer, w.outer_bias)
    return Block(
        query=Linear(weight=w.query),
        key=Linear(weight=w.key),
        value=Linear(weight=w.value),
        hidden=Linear(weight=hidden[0], bias=hidden[1][0]),
        output=Linear(weight=output[0], bias=output[1][0]),
    )


def test_the_formula_is_the_reference_layer(weights, rng):
    x = rng.normal(size=(TOKENS, WIDTH))
    np.testing.assert_allclose(layer(x, weights), attention_block(x, as_block(weights)), atol=1e-12)
    masked = attention_block(x, as_block(weights), mask=causal_mask(TOKENS, TOKENS))
    np.testing.assert_allclose(layer(x, weights, share=causal_softmax), masked, atol=1e-12)


def test_the_last_token_sees_everything_with_a_mask_or_without(weights, rng):
    x = rng.normal(size=(TOKENS, WIDTH))
    row = output_row(x[-1:], x, weights)
    for share in (softmax, causal_softmax):
        np.testing.assert_allclose(layer(x, weights, share=share)[-1:], row, atol=1e-12)


def test_balls_enclose_what_floats_give(rng):
    x = rng.normal(size=(3, 2))
    balls = np.vectorize(arb, otypes=[object])(x)
    eye = np.vectorize(arb, otypes=[object])(np.eye(2))
    zero, one = 0 * eye[:1], np.vectorize(arb, otypes=[object])(np.ones((3, 1)))
    in_balls = LayerWeights(
        query=eye, key=eye, value=eye, inner=eye, inner_bias=zero, outer=eye, outer_bias=zero, scale=arb(2), ones=one
    )
    in_floats = LayerWeights(
        query=np.eye(2),
        key=np.eye(2),
        value=np.eye(2),
        inner=np.eye(2),
        inner_bias=np.zeros((1, 2)),
        outer=np.eye(2),
        outer_bias=np.zeros((1, 2)),
        scale=2.0,
        ones=np.ones((3, 1)),
    )
    for share in (softmax, causal_softmax):
        enclosed = layer(balls, in_balls, share=share).astype(float)
        np.testing.assert_allclose(enclosed, layer(x, in_floats, share=share), atol=1e-12)


def test_a_ball_across_zero_keeps_its_positive_half():
    across = relu(np.array([arb(0, 1)], dtype=object))[0]
    assert across.contains(arb(0.5))
    assert across.contains(arb(0))


def test_large_scores_do_not_overflow():
    np.testing.assert_allclose(softmax(np.array([[1e4, 0.0]])), [[1.0, 0.0]])
    np.testing.assert_allclose(causal_softmax(np.array([[0.0, 1e4], [0.0, 0.0]])), [[1.0, 0.0], [0.5, 0.5]])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_without_queries_a_causal_layer_takes_running_means(depth):
    one = np.ones((1, 1))
    plain = LayerWeights(
        query=0 * one,
        key=one,
        value=one,
        inner=one,
        inner_bias=0 * one,
        outer=one,
        outer_bias=0 * one,
        scale=1.0,
        ones=np.ones((4, 1)),
    )
    x, exact = np.array([[1.0], [5.0], [2.0], [7.0]]), [Fraction(n) for n in (1, 5, 2, 7)]
    for _ in range(depth):
        x, exact = layer(x, plain, share=causal_softmax), running_means(exact)
    np.testing.assert_allclose(x.ravel(), [float(number) for number in exact])


@pytest.mark.parametrize(("tokens", "width"), [(2, 1), (5, 4)])
def test_swapped_codes_leak_as_the_formula_says(tokens, width, rng):
    """The layer Z = H of the proof: identities, and ReLU(h) − ReLU(−h) = h."""
    codes = rng.normal(size=(tokens, width))
    eye = np.eye(width)
    weights = LayerWeights(
        query=eye,
        key=eye,
        value=eye,
        inner=np.hstack([eye, -eye]),
        inner_bias=np.zeros((1, 2 * width)),
        outer=np.vstack([eye, -eye]),
        outer_bias=np.zeros((1, width)),
        scale=width**-0.5,
        ones=np.ones((tokens, 1)),
    )
    swap = np.array([1, 0, *range(2, tokens)])
    found = layer((-codes)[swap] + codes, weights)
    difference = codes[0] - codes[1]
    growth = np.exp(difference @ difference / np.sqrt(width))
    np.testing.assert_allclose(found[0], swapped_code(growth, tokens) * difference, atol=1e-12)
    np.testing.assert_allclose(layer(-codes + codes, weights), 0, atol=1e-12)


def test_a_mixture_is_what_softmax_makes_of_two_kinds_of_value(rng):
    logits, values = rng.normal(size=(1, 5)), np.array([2.0, 7.0, 7.0, 7.0, 7.0])
    own, *rest = np.exp(logits[0])
    assert mixture(own, sum(rest), 2.0, 7.0) == pytest.approx(float(softmax(logits)[0] @ values))
    assert mixture(own, sum(rest), 7.0, 7.0) == pytest.approx(7.0)


def test_the_first_tokens_weight_is_that_of_a_causal_layer_with_equal_logits():
    np.testing.assert_allclose(causal_softmax(np.zeros((9, 9)))[:, 0], uniform_weight(np.arange(1, 10)), rtol=1e-15)
