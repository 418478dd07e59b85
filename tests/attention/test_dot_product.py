import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import AttentionRule, attend, attention_scores, attention_weights, masked_softmax
from regard.core.errors import InputError


def scores_written_out(queries, keys, *, scale, softcap=None, bias=None):
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


def test_scores_equal_sums_scores_written_out(rng):
    queries, keys, bias = rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), rng.normal(size=(3, 5))
    scores = attention_scores(queries, keys, rule=AttentionRule(scale=0.7, softcap=1.5, bias=bias))
    np.testing.assert_allclose(scores, scores_written_out(queries, keys, scale=0.7, softcap=1.5, bias=bias), rtol=1e-13)


def test_cap_comes_before_bias(rng):
    queries, keys, bias = rng.normal(size=(3, 6)), rng.normal(size=(5, 6)), rng.normal(size=(3, 5))
    scores = attention_scores(queries, keys, rule=AttentionRule(scale=0.7, softcap=1.5, bias=bias))
    capped_last = 1.5 * np.tanh((0.7 * queries @ keys.T + bias) / 1.5)
    assert np.abs(scores - capped_last).max() > 0.1


def test_cap_bounds_scores():
    scores = attention_scores(np.full((1, 2), 100.0), np.full((1, 2), 100.0), rule=AttentionRule(softcap=50.0))
    assert 49.9 < scores[0, 0] <= 50.0


def test_bias_does_not_widen_the_result(rng):
    queries = rng.normal(size=(2, 4)).astype(np.float32)
    assert attention_scores(queries, queries, rule=AttentionRule(bias=np.zeros((2, 2)))).dtype == np.float32


def test_bias_spreads_over_batch(rng):
    queries, bias = rng.normal(size=(7, 2, 3, 4)), rng.normal(size=(2, 3, 3))
    scores = attention_scores(queries, queries, rule=AttentionRule(bias=bias))
    np.testing.assert_allclose(
        scores[5], attention_scores(queries[5], queries[5], rule=AttentionRule(bias=bias)), rtol=1e-13
    )


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
        attention_scores(np.ones((2, 4)), np.ones((2, 4)), rule=AttentionRule(bias=np.zeros(shape)))


@pytest.mark.parametrize("softcap", [0.0, -1.0, math.nan, math.inf])
def test_softcap_is_positive(softcap):
    with pytest.raises(InputError, match="softcap is"):
        AttentionRule(softcap=softcap)


@pytest.mark.usefixtures("unchecked")
def test_unknown_policy_is_named():
    with pytest.raises(InputError, match="'ignore', which is not a policy"):
        AttentionRule(empty="ignore")


@pytest.mark.usefixtures("unchecked")
def test_integers_are_refused_rather_than_rounded():
    with pytest.raises(InputError, match="dtype int64"):
        attention_scores(np.ones((2, 3), dtype=np.int64), np.ones((2, 3), dtype=np.int64))


def written_out(queries, keys, values, mask, scale):
    outputs = np.zeros((len(queries), values.shape[-1]))
    for i, query in enumerate(queries):
        visible = [j for j in range(len(keys)) if mask[i, j]]
        odds = [math.exp(scale * math.fsum(query * keys[j])) for j in visible]
        for j, share in zip(visible, odds, strict=True):
            outputs[i] += share / math.fsum(odds) * values[j]
    return outputs


def random_mask(rng, *shape):
    mask = rng.random(shape) < 0.5
    mask[..., 0] = True
    return mask


def test_query_equal_to_an_orthonormal_key_does_not_copy():
    weights = attention_weights(np.eye(10)[:1], np.eye(10), rule=AttentionRule(scale=1.0))
    assert weights[0, 0] == pytest.approx(math.e / (math.e + 9), rel=1e-15)
    assert weights[0, 0] == pytest.approx(0.232, abs=5e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_attend_equals_loops(num_queries, num_keys, width, seed):
    rng = np.random.default_rng(seed)
    queries, keys = rng.normal(size=(num_queries, width)), rng.normal(size=(num_keys, width))
    values, mask = rng.normal(size=(num_keys, 3)), random_mask(rng, num_queries, num_keys)
    output = attend(queries, keys, values, mask=mask, rule=AttentionRule(scale=1.3))
    np.testing.assert_allclose(output, written_out(queries, keys, values, mask, 1.3), rtol=1e-12, atol=1e-14)


def test_loops_tell_a_wrong_axis_and_a_late_mask(rng):
    queries, keys, values = (rng.normal(size=(5, 4)) for _ in range(3))
    mask = random_mask(rng, 5, 5)
    truth = written_out(queries, keys, values, mask, 1.0)
    odds = np.exp(queries @ keys.T)
    wrong_axis = (odds / odds.sum(axis=0)) @ values
    late_mask = (odds / odds.sum(axis=1, keepdims=True) * mask) @ values
    assert min(np.abs(wrong - truth).max() for wrong in (wrong_axis, late_mask)) > 0.1


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.floats(-1e4, 1e4), st.integers(0, 2**32 - 1))
def test_weights_are_a_distribution_that_ignores_a_shift(num_keys, shift, seed):
    rng = np.random.default_rng(seed)
    logits, mask = 10 * rng.normal(size=(3, num_keys)), random_mask(rng, 3, num_keys)
    weights = masked_softmax(logits, mask)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-14)
    assert np.all(weights[~mask] == 0)
    assert np.all(weights >= 0)
    np.testing.assert_allclose(masked_softmax(logits + shift, mask), weights, rtol=1e-10, atol=1e-12)


def test_attend_equals_torch(torch, rng):
    queries, keys, values = (torch.tensor(rng.normal(size=(2, 3, 5, 8))) for _ in range(3))
    mask = torch.tensor(random_mask(rng, 2, 1, 5, 5))
    theirs = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, scale=0.3)
    torch.testing.assert_close(attend(queries, keys, values, mask=mask, rule=AttentionRule(scale=0.3)), theirs)
    assert not torch.allclose(attend(queries, keys, values, mask=mask), theirs)


def test_bias_equals_torch_float_mask(torch, rng):
    queries, keys, values = (torch.tensor(rng.normal(size=(3, 5, 8))) for _ in range(3))
    bias = torch.tensor(rng.normal(size=(5, 5)))
    theirs = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=bias)
    torch.testing.assert_close(attend(queries, keys, values, rule=AttentionRule(bias=bias)), theirs)


def test_numpy_and_torch_give_the_same_numbers(torch, rng):
    queries, keys, values = (rng.normal(size=(2, 4, 6)) for _ in range(3))
    mask, rule = random_mask(rng, 4, 4), AttentionRule(softcap=2.0)
    tensors = attend(*map(torch.tensor, (queries, keys, values)), mask=mask, rule=rule)
    np.testing.assert_allclose(attend(queries, keys, values, mask=mask, rule=rule), tensors.numpy(), rtol=1e-13)


def test_gradients_equal_finite_differences_and_vanish_under_the_mask(torch, rng):
    arrays = [torch.tensor(rng.normal(size=(3, 2)), requires_grad=True) for _ in range(3)]
    mask = np.array([[True, False, False], [False, False, False], [True, True, False]])
    rule = AttentionRule(softcap=2.0, empty="zero")
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, mask=mask, rule=rule), arrays)
    attend(*arrays, mask=mask, rule=rule).sum().backward()
    _, keys, values = arrays
    assert torch.all(keys.grad[2] == 0)
    assert torch.all(values.grad[2] == 0)
    assert torch.any(keys.grad[0] != 0)


@pytest.mark.parametrize("size", [1e5, 1e300])
def test_large_logits_stay_finite(size):
    logits = np.array([[size, 0.0, size]])
    np.testing.assert_array_equal(masked_softmax(logits), [[0.5, 0.0, 0.5]])
    with np.errstate(over="ignore", invalid="ignore"):
        naive = np.exp(logits) / np.exp(logits).sum()
    assert np.isnan(naive).any()


def test_very_negative_logits_are_not_a_mask():
    np.testing.assert_array_equal(masked_softmax(np.full((1, 2), -1e300)), [[0.5, 0.5]])


def test_any_numpy_mask_serves_tensors(torch, rng):
    x = torch.tensor(rng.normal(size=(3, 4)))
    mask = np.array([False, True, True])
    views = [np.broadcast_to(mask, (3, 3)), np.tile(mask[::-1], (3, 1))[:, ::-1]]
    plain = attend(x, x, x, mask=torch.tensor(mask)[None])
    assert all(torch.equal(attend(x, x, x, mask=view), plain) for view in views)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_dtype_is_kept(dtype, rng):
    queries = rng.normal(size=(3, 4)).astype(dtype)
    assert attend(queries, queries, queries).dtype == dtype
    assert attention_weights(queries, queries).dtype == dtype


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_dtype_is_kept_in_torch(torch, name, rng):
    queries = torch.tensor(rng.normal(size=(3, 4))).to(getattr(torch, name))
    assert attend(queries, queries, queries).dtype == queries.dtype


def test_half_precision_sums_do_not_stall():
    weights = masked_softmax(np.zeros((1, 1024), dtype=ml_dtypes.bfloat16)).astype(np.float64)
    assert weights.sum() == 1
    stalled = np.ones(1024, dtype=ml_dtypes.bfloat16).sum()
    assert float(stalled) == 256


def test_low_precision_is_rounded_once(rng):
    exact = [rng.normal(size=(6, 8)).astype(np.float16).astype(np.float64) for _ in range(3)]
    rounded = attend(*(x.astype(np.float16) for x in exact))
    np.testing.assert_allclose(rounded, attend(*exact), rtol=2**-10, atol=1e-6)


def test_nan_under_the_mask_is_irrelevant_in_keys(rng):
    queries, keys, values = (rng.normal(size=(3, 4)) for _ in range(3))
    mask = np.array([True, True, False])[None, :]
    spoiled = np.concatenate([keys[:2], np.full((1, 4), np.nan)])
    np.testing.assert_array_equal(attend(queries, spoiled, values, mask=mask), attend(queries, keys, values, mask=mask))
    assert np.isnan(attend(queries, spoiled, values)).all()


@pytest.mark.parametrize(("empty", "row"), [("zero", [0, 0]), ("uniform", [0.5, 0.5]), ("nan", [np.nan, np.nan])])
def test_empty_rows_follow_the_policy(empty, row):
    mask = np.array([[True, False], [False, False]])
    weights = masked_softmax(np.zeros((2, 2)), mask, empty=empty)
    np.testing.assert_array_equal(weights, [[1, 0], row])


def test_an_empty_row_is_an_error_that_names_the_query():
    mask = np.ones((5, 2), dtype=bool)
    mask[3] = False
    with pytest.raises(InputError, match=r"^Query 3 has every key masked, so its weights are undefined\. Leave one"):
        masked_softmax(np.zeros((5, 2)), mask)
    with pytest.raises(InputError, match=r"^Query 3 of batch entry \(0, 0\) has every key masked"):
        masked_softmax(np.zeros((2, 4, 5, 2)), mask)


def test_minus_infinity_in_the_bias_empties_a_row_too():
    rule = AttentionRule(bias=np.array([[0.0, 0.0], [-np.inf, -np.inf]]), empty="zero")
    output = attend(np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3)), rule=rule)
    np.testing.assert_array_equal(output, [[1, 1, 1], [0, 0, 0]])


def test_inputs_are_left_alone(rng):
    arrays = [rng.normal(size=(3, 3)) for _ in range(3)]
    mask = np.tri(3, dtype=bool)
    copies = [x.copy() for x in (*arrays, mask)]
    attend(*arrays, mask=mask)
    for before, after in zip(copies, (*arrays, mask), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((2, 2)), "dtype float64, which could mean"),
        (np.ones((2, 2), dtype=np.int64), "Give a bool mask"),
        (np.ones((2, 3), dtype=bool), r"mask has shape \(2, 3\)"),
        (np.ones((4, 2, 2), dtype=bool), r"mask has shape \(4, 2, 2\)"),
    ],
)
def test_masks_that_cannot_work(mask, message):
    with pytest.raises(InputError, match=message):
        masked_softmax(np.zeros((2, 2)), mask)


@pytest.mark.usefixtures("unchecked")
def test_values_that_do_not_match_their_keys():
    with pytest.raises(InputError, match="some keys have no value"):
        attend(np.ones((2, 4)), np.ones((3, 4)), np.ones((2, 4)))


def test_no_keys_is_an_error():
    with pytest.raises(InputError, match="no keys"):
        attend(np.ones((2, 4)), np.ones((0, 4)), np.ones((0, 4)))
