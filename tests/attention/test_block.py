"""The block against its formula, and what order means to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention import Block, Linear, attention_block, causal_mask, feed_forward
from regard.positions.sinusoidal import Sinusoidal


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
