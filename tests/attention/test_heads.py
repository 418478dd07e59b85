"""Heads against torch's multi-head layer, loops over heads, and a grouping that must fail."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import (
    Linear,
    MultiHead,
    Rule,
    attend,
    causal_mask,
    merge_heads,
    multi_head,
    padding_mask,
    repeat_heads,
    split_heads,
)
from regard.core.errors import InputError
from regard.positions.rotary import Rotary


def random_layer(rng, *, width=8, num_heads=4, num_kv_heads=2):
    head_width = width // num_heads
    sizes = [num_heads, num_kv_heads, num_kv_heads, num_heads]
    query, key, value, output = (
        Linear(weight=rng.normal(size=(width, heads * head_width)), bias=rng.normal(size=heads * head_width))
        for heads in sizes
    )
    return MultiHead(query=query, key=key, value=value, output=output, num_heads=num_heads, num_kv_heads=num_kv_heads)


def written_out(x, layer, mask):
    head_width = layer.query.weight.shape[1] // layer.num_heads
    group = layer.num_heads // layer.num_kv_heads
    columns = []
    for head in range(layer.num_heads):
        own = slice(head * head_width, (head + 1) * head_width)
        shared = slice(head // group * head_width, (head // group + 1) * head_width)
        queries, keys, values = layer.query(x)[:, own], layer.key(x)[:, shared], layer.value(x)[:, shared]
        odds = np.exp(queries @ keys.T / np.sqrt(head_width)) * mask
        columns.append(odds / odds.sum(axis=-1, keepdims=True) @ values)
    return np.hstack(columns) @ layer.output.weight + layer.output.bias


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_merge_undoes_split(num_heads, position, head_width):
    x = np.arange(2.0 * position * num_heads * head_width).reshape(2, position, num_heads * head_width)
    np.testing.assert_array_equal(merge_heads(split_heads(x, num_heads)), x)


def test_split_is_not_a_bare_reshape():
    x = np.arange(8.0).reshape(2, 4)
    np.testing.assert_array_equal(split_heads(x, 2), [[[0, 1], [4, 5]], [[2, 3], [6, 7]]])
    assert not np.array_equal(split_heads(x, 2), x.reshape(2, 2, 2))


def test_heads_are_repeated_not_tiled(rng):
    heads = rng.normal(size=(2, 3, 5))
    np.testing.assert_array_equal(repeat_heads(heads, 4), heads[[0, 0, 1, 1]])
    assert not np.array_equal(repeat_heads(heads, 4), np.tile(heads, (2, 1, 1)))


def test_grouped_attention_equals_torch_and_tiling_does_not(torch, rng):
    queries = torch.tensor(rng.normal(size=(2, 6, 5, 4)))
    keys, values = (torch.tensor(rng.normal(size=(2, 3, 5, 4))) for _ in range(2))
    theirs = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, enable_gqa=True)
    torch.testing.assert_close(attend(queries, repeat_heads(keys, 6), repeat_heads(values, 6)), theirs)
    tiled = attend(queries, keys.tile(1, 2, 1, 1), values.tile(1, 2, 1, 1))
    assert not torch.allclose(tiled, theirs)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
def test_multi_head_equals_loops(num_kv_heads, rng):
    layer, x = random_layer(rng, num_kv_heads=num_kv_heads), rng.normal(size=(5, 8))
    output = multi_head(x, layer, mask=causal_mask(5, 5))
    np.testing.assert_allclose(output, written_out(x, layer, causal_mask(5, 5)), rtol=1e-11)


@pytest.mark.parametrize("is_masked", [False, True])
def test_multi_head_equals_torch(torch, is_masked, rng):
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    torch.nn.init.normal_(theirs.in_proj_bias)
    weights, biases = theirs.in_proj_weight.detach().chunk(3), theirs.in_proj_bias.detach().chunk(3)
    query, key, value = (Linear(weight=w.T, bias=b) for w, b in zip(weights, biases, strict=True))
    output = Linear(weight=theirs.out_proj.weight.detach().T, bias=theirs.out_proj.bias.detach())
    layer = MultiHead(query=query, key=key, value=value, output=output, num_heads=2)
    x = torch.tensor(rng.normal(size=(3, 5, 8)))
    mask = causal_mask(5, 5) if is_masked else None
    hidden = torch.tensor(~mask) if mask is not None else None
    expected, _ = theirs(x, x, x, attn_mask=hidden, need_weights=False)
    torch.testing.assert_close(multi_head(x, layer, mask=mask), expected.detach())


def test_heads_in_another_order_give_another_answer(rng):
    layer, x = random_layer(rng), rng.normal(size=(5, 8))
    reversed_heads = MultiHead(
        query=Linear(weight=layer.query.weight[:, ::-1], bias=layer.query.bias),
        key=layer.key,
        value=layer.value,
        output=layer.output,
        num_heads=4,
        num_kv_heads=2,
    )
    assert np.abs(multi_head(x, layer) - multi_head(x, reversed_heads)).max() > 0.1


def test_padding_leaves_real_rows_alone(rng):
    layer, x = random_layer(rng), rng.normal(size=(2, 5, 8))
    mask = padding_mask(np.array([[3], [5]]), 5)
    np.testing.assert_allclose(multi_head(x, layer, mask=mask)[0, :3], multi_head(x[0, :3], layer), rtol=1e-12)
    assert np.abs(multi_head(x, layer)[0, :3] - multi_head(x[0, :3], layer)).max() > 0.01


def test_rotary_codes_go_in_by_rotate(rng):
    layer, x, code = random_layer(rng), rng.normal(size=(5, 8)), Rotary()
    plain = multi_head(x, layer)
    turned, moved = (multi_head(x, layer, rotate=partial(code.rotate, positions=np.arange(5) + s)) for s in (0, 1000))
    np.testing.assert_allclose(turned, moved, rtol=1e-9)
    assert np.abs(turned - plain).max() > 0.01


def test_bias_of_each_head_goes_in_by_the_rule(rng):
    layer, x = random_layer(rng), rng.normal(size=(3, 5, 8))
    only_self = np.where(np.eye(5, dtype=bool), 0.0, -np.inf) * np.ones((4, 1, 1))
    values = repeat_heads(split_heads(layer.value(x), 2), 4)
    np.testing.assert_allclose(
        multi_head(x, layer, rule=Rule(bias=only_self)), layer.output(merge_heads(values)), rtol=1e-12
    )


@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(4, 3), (2, 4), (4, 0), (0, 1)])
def test_heads_that_cannot_share(num_heads, num_kv_heads):
    one = Linear(weight=np.eye(4))
    with pytest.raises(InputError, match=f"{num_heads} query heads cannot share {num_kv_heads} key/value heads"):
        MultiHead(query=one, key=one, value=one, output=one, num_heads=num_heads, num_kv_heads=num_kv_heads)
    if num_kv_heads:
        with pytest.raises(InputError, match="multiple of the number of key/value heads"):
            repeat_heads(np.ones((num_kv_heads, 2, 2)), num_heads)


@pytest.mark.parametrize("num_heads", [0, 3])
def test_width_that_does_not_divide_into_heads(num_heads):
    with pytest.raises(InputError, match=f"Width 4 does not divide into {num_heads} heads"):
        split_heads(np.ones((2, 4)), num_heads)


def test_a_mask_that_could_be_of_batch_or_of_head_is_refused(rng):
    layer, x = random_layer(rng), rng.normal(size=(4, 5, 8))
    per_example = np.ones((4, 5, 5), dtype=bool)
    with pytest.raises(InputError, match="could be batch or head"):
        multi_head(x, layer, mask=per_example)
    assert multi_head(x, layer, mask=per_example[:, None]).shape == x.shape
    assert multi_head(x[0], layer, mask=per_example).shape == x[0].shape


@pytest.mark.usefixtures("unchecked")
def test_linear_says_which_width_it_takes():
    with pytest.raises(InputError, match="width 3, but the matrix takes width 4"):
        Linear(weight=np.ones((4, 2)))(np.ones((1, 3)))


def test_linear_keeps_the_dtype_of_its_input(rng):
    half = rng.normal(size=(2, 4)).astype(np.float16)
    assert Linear(weight=np.ones((4, 2)), bias=np.ones(2))(half).dtype == np.float16
