"""Heads and blocks against torch's layers, and a grouping that must fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import (
    Block,
    Linear,
    attend,
    attention_block,
    causal_mask,
    feed_forward,
    merge_heads,
    repeat_heads,
    split_heads,
)
from regard.core.errors import InputError
from regard.positions.sinusoidal import Sinusoidal


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


@pytest.mark.parametrize("is_masked", [False, True])
def test_heads_attend_as_in_torchs_layer(torch, is_masked, rng):
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    torch.nn.init.normal_(theirs.in_proj_bias)
    weights, biases = theirs.in_proj_weight.detach().chunk(3), theirs.in_proj_bias.detach().chunk(3)
    x = torch.tensor(rng.normal(size=(3, 5, 8)))
    projected = (Linear(weight=w.T, bias=b)(x) for w, b in zip(weights, biases, strict=True))
    mask = causal_mask(5, 5) if is_masked else None
    mixed = merge_heads(attend(*(split_heads(each, 2) for each in projected), mask=mask))
    output = Linear(weight=theirs.out_proj.weight.detach().T, bias=theirs.out_proj.bias.detach())
    hidden = torch.tensor(~mask) if mask is not None else None
    expected, _ = theirs(x, x, x, attn_mask=hidden, need_weights=False)
    torch.testing.assert_close(output(mixed), expected.detach())


@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(4, 3), (2, 4), (0, 1)])
def test_heads_that_cannot_share(num_heads, num_kv_heads):
    with pytest.raises(InputError, match=f"{num_heads} query heads cannot share {num_kv_heads} key/value heads"):
        repeat_heads(np.ones((num_kv_heads, 2, 2)), num_heads)


@pytest.mark.parametrize("num_heads", [0, 3])
def test_width_that_does_not_divide_into_heads(num_heads):
    with pytest.raises(InputError, match=f"Width 4 does not divide into {num_heads} heads"):
        split_heads(np.ones((2, 4)), num_heads)


@pytest.mark.usefixtures("unchecked")
def test_linear_says_which_width_it_takes():
    with pytest.raises(InputError, match="width 3, but the matrix takes width 4"):
        Linear(weight=np.ones((4, 2)))(np.ones((1, 3)))


def test_linear_keeps_the_dtype_of_its_input(rng):
    half = rng.normal(size=(2, 4)).astype(np.float16)
    assert Linear(weight=np.ones((4, 2)), bias=np.ones(2))(half).dtype == np.float16


def random_block(rng, *, width=4, hidden=6):
    query, key, value = (Linear(weight=rng.normal(size=(width, width))) for _ in range(3))
    return Block(
        query=query,
        key=key,
        value=value,
        hidden=Linear(weight=rng.normal(size=(width, hidden)), bias=rng.normal(size=hidden)),
        output=Linear(weight=rng.normal(size=(hidden, width)), bias=rng.normal(size=width)),
    )


def written_out(x, block):
    queries, keys, values = x @ block.query.weight, x @ block.key.weight, x @ block.value.weight
    odds = np.exp(queries @ keys.T / np.sqrt(x.shape[1]))
    mixed = np.diag(1 / odds.sum(axis=1)) @ odds @ values
    ones = np.ones((len(x), 1))
    inner = mixed @ block.hidden.weight + ones @ block.hidden.bias[None, :]
    return inner.clip(min=0) @ block.output.weight + ones @ block.output.bias[None, :]


def test_block_equals_its_formula(rng):
    block, x = random_block(rng), rng.normal(size=(5, 4))
    np.testing.assert_allclose(attention_block(x, block), written_out(x, block), rtol=1e-11)


def test_feed_forward_keeps_negatives_out(rng):
    same = Linear(weight=np.eye(2))
    np.testing.assert_array_equal(feed_forward(np.array([[-1.0, 2.0]]), same, same), [[0, 2]])
    assert np.isnan(feed_forward(np.array([[np.nan, 2.0]]), same, same)[0, 0])


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_block_is_permutation_equivariant(num_tokens, seed):
    rng = np.random.default_rng(seed)
    block, x, order = random_block(rng), rng.normal(size=(num_tokens, 4)), rng.permutation(num_tokens)
    np.testing.assert_allclose(attention_block(x[order], block), attention_block(x, block)[order], rtol=1e-8, atol=1e-9)


def test_block_is_not_permutation_invariant(rng):
    block, x = random_block(rng), rng.normal(size=(3, 4))
    assert np.abs(attention_block(x[::-1], block) - attention_block(x, block)).max() > 0.1


def test_a_causal_mask_breaks_equivariance_but_for_the_last_row(rng):
    block, x, order, mask = random_block(rng), rng.normal(size=(4, 4)), [2, 0, 1, 3], causal_mask(4, 4)
    shuffled, plain = attention_block(x[order], block, mask=mask), attention_block(x, block, mask=mask)
    assert np.abs(shuffled - plain[order]).max() > 0.1
    np.testing.assert_allclose(shuffled[-1], plain[-1], rtol=1e-10)
    twice = [attention_block(y, block, mask=mask)[-1] for y in (shuffled, plain)]
    assert np.abs(twice[0] - twice[1]).max() > 1e-3


def test_positions_break_equivariance(rng):
    block, x, order = random_block(rng), rng.normal(size=(4, 4)), [2, 0, 1, 3]
    placed = [attention_block(Sinusoidal().add(y, np.arange(4)), block) for y in (x[order], x)]
    assert np.abs(placed[0] - placed[1][order]).max() > 0.1


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_block_keeps_the_dtype(dtype, rng):
    assert attention_block(rng.normal(size=(2, 4)).astype(dtype), random_block(rng)).dtype == dtype


def test_block_takes_tensors(torch, rng):
    block, x = random_block(rng), rng.normal(size=(2, 5, 4))

    def as_torch(linear):
        return Linear(
            weight=torch.tensor(linear.weight), bias=None if linear.bias is None else torch.tensor(linear.bias)
        )

    tensors = Block(**{name: as_torch(getattr(block, name)) for name in ("query", "key", "value", "hidden", "output")})
    np.testing.assert_allclose(attention_block(torch.tensor(x), tensors), attention_block(x, block), rtol=1e-11)
