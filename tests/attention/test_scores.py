"""Scores against sums written out, and the order of scale, cap and bias."""

import math

import numpy as np
import pytest

from regard.attention import Rule, attention_scores
from regard.core.errors import InputError


def written_out(queries, keys, *, scale, softcap=None, bias=None):
    logits = np.zeros((len(queries), len(keys)))
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            z = scale * math.fsum(q * k for q, k in zip(query, key, strict=True))
            z = z if softcap is None else softcap * math.tanh(z / softcap)
            logits[i, j] = z if bias is None else z + bias[i, j]
    return logits


def test_default_scale_is_one_over_root_width():
    scores = attention_scores(np.ones((1, 4)), np.ones((1, 4)))
    assert scores == pytest.approx(np.array([[2.0]]))
    assert scores != pytest.approx(np.array([[4.0]]))


def test_scores_equal_sums_written_out(rng):
    queries, keys, bias = rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), rng.normal(size=(3, 5))
    scores = attention_scores(queries, keys, rule=Rule(scale=0.7, softcap=1.5, bias=bias))
    np.testing.assert_allclose(scores, written_out(queries, keys, scale=0.7, softcap=1.5, bias=bias), rtol=1e-13)


def test_cap_comes_before_bias(rng):
    queries, keys, bias = rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), rng.normal(size=(3, 5))
    scores = attention_scores(queries, keys, rule=Rule(scale=0.7, softcap=1.5, bias=bias))
    capped_last = 1.5 * np.tanh((0.7 * queries @ keys.T + bias) / 1.5)
    assert np.abs(scores - capped_last).max() > 0.1


def test_cap_bounds_scores():
    scores = attention_scores(np.full((1, 2), 100.0), np.full((1, 2), 100.0), rule=Rule(softcap=50.0))
    assert 49.9 < scores[0, 0] <= 50.0


def test_bias_does_not_widen_the_result(rng):
    queries = rng.normal(size=(2, 4)).astype(np.float32)
    assert attention_scores(queries, queries, rule=Rule(bias=np.zeros((2, 2)))).dtype == np.float32


def test_bias_spreads_over_batch(rng):
    queries, bias = rng.normal(size=(7, 2, 3, 4)), rng.normal(size=(2, 3, 3))
    scores = attention_scores(queries, queries, rule=Rule(bias=bias))
    np.testing.assert_allclose(scores[5], attention_scores(queries[5], queries[5], rule=Rule(bias=bias)), rtol=1e-13)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("queries", "keys", "message"),
    [((3, 4), (3, 5), "width 4 and keys have width 5"), ((4, 3, 8), (2, 3, 8), "repeat_heads")],
)
def test_shapes_that_do_not_match(queries, keys, message):
    with pytest.raises(InputError, match=message):
        attention_scores(np.ones(queries), np.ones(keys))


@pytest.mark.parametrize("shape", [(3, 2), (1, 2, 2), (2, 3)])
def test_bias_that_does_not_spread(shape):
    with pytest.raises(InputError, match="bias has shape"):
        attention_scores(np.ones((2, 4)), np.ones((2, 4)), rule=Rule(bias=np.zeros(shape)))


@pytest.mark.parametrize("softcap", [0.0, -1.0, math.nan, math.inf])
def test_softcap_is_positive(softcap):
    with pytest.raises(InputError, match="softcap is"):
        Rule(softcap=softcap)


@pytest.mark.usefixtures("unchecked")
def test_unknown_policy_is_named():
    with pytest.raises(InputError, match="'ignore', which names no policy"):
        Rule(empty="ignore")


@pytest.mark.usefixtures("unchecked")
def test_integers_are_refused_rather_than_rounded():
    with pytest.raises(InputError, match="dtype int64"):
        attention_scores(np.ones((2, 3), dtype=np.int64), np.ones((2, 3), dtype=np.int64))
