"""Reference recurrences against sums written out, public code, and each other's forms."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention.recurrences import RECURRENCES, RecurrenceKind, gated_delta, linear, mamba, rwkv, short_conv

BATCH, HEADS, KEY, VALUE, CHANNELS = 2, 2, 4, 3, 5


def drawn(kind: str, length: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal((BATCH, length, *shape))

    def share(*shape: int) -> np.ndarray:
        return rng.random((BATCH, length, *shape))

    q, k, v = normal(HEADS, KEY), normal(HEADS, KEY), normal(HEADS, VALUE)
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    return {
        "linear": (q, k, v),
        "gated_linear": (q, k, v, -share(HEADS, KEY)),
        "delta": (q, k, v, share(HEADS)),
        "gated_delta": (q, k, v, -share(HEADS), share(HEADS)),
        "mamba": (normal(CHANNELS), share(CHANNELS), -rng.random((CHANNELS, KEY)), normal(KEY), normal(KEY)),
        "mamba2": (v, share(HEADS), -rng.random(HEADS), normal(KEY), normal(KEY)),
        "rwkv": (q, k, v, -share(HEADS, KEY), rng.standard_normal((HEADS, KEY))),
        "short_conv": (normal(CHANNELS), rng.standard_normal((CHANNELS, 4))),
    }[kind]


def test_every_kind_has_a_recurrence():
    assert set(RECURRENCES) == set(get_args(RecurrenceKind))


@pytest.mark.parametrize("kind", RECURRENCES)
@settings(max_examples=15, deadline=None)
@given(length=st.integers(1, 20), size=st.integers(1, 21), cut=st.integers(0, 20), seed=st.integers(0, 99))
def test_recurrent_chunked_and_cut_anywhere_agree(kind, length, size, cut, seed):
    inputs = drawn(kind, length, np.random.default_rng(seed))
    y, state = RECURRENCES[kind](*inputs).recurrent()
    chunked, end = RECURRENCES[kind](*inputs).chunked(size)
    np.testing.assert_allclose(chunked, y, atol=1e-12)
    np.testing.assert_allclose(end, state, atol=1e-12)
    cut = min(cut, length)
    # What is the same for all tokens is not cut: it has the same shape for one more.
    longer = drawn(kind, length + 1, np.random.default_rng(seed))
    per_token = [each.shape != other.shape for each, other in zip(inputs, longer, strict=True)]
    first, last = (
        [each[:, part] if is_cut else each for each, is_cut in zip(inputs, per_token, strict=True)]
        for part in (slice(cut), slice(cut, None))
    )
    start, between = RECURRENCES[kind](*first).recurrent()
    rest, end = RECURRENCES[kind](*last).chunked(size, between)
    np.testing.assert_allclose(np.concatenate([start, rest], axis=1), y, atol=1e-12)
    np.testing.assert_allclose(end, state, atol=1e-12)


def test_linear_attention_is_attention_without_softmax(rng):
    q, k, v = drawn("linear", 7, rng)
    scores = np.tril(np.einsum("bthk,bshk->bhts", q, k))
    np.testing.assert_allclose(linear(q, k, v).recurrent()[0], np.einsum("bhts,bshv->bthv", scores, v), atol=1e-12)


def test_rwkv_and_mamba_equal_sums_written_out(rng):
    r, k, v, w, u = drawn("rwkv", 6, rng)
    y = np.zeros_like(v)
    for t in range(6):
        y[:, t] += np.einsum("bhk,hk,bhk,bhv->bhv", r[:, t], u, k[:, t], v[:, t])
        for s in range(t):
            left = np.exp(w[:, s + 1 : t].sum(axis=1))
            y[:, t] += np.einsum("bhk,bhk,bhk,bhv->bhv", r[:, t], left, k[:, s], v[:, s])
    np.testing.assert_allclose(rwkv(r, k, v, w, u).recurrent()[0], y, atol=1e-12)
    x, dt, a, b, c = drawn("mamba", 6, rng)
    y = np.zeros_like(x)
    for t in range(6):
        for s in range(t + 1):
            left = np.exp(dt[:, s + 1 : t + 1].sum(axis=1)[..., None] * a)
            y[:, t] += np.einsum("bd,bdn,bn,bn->bd", dt[:, s] * x[:, s], left, b[:, s], c[:, t])
    np.testing.assert_allclose(mamba(x, dt, a, b, c).recurrent()[0], y, atol=1e-12)


def test_a_key_written_with_full_strength_is_read_back(rng):
    q, k, v, g, _ = drawn("gated_delta", 5, rng)
    y = gated_delta(k, k, v, g, np.ones(k.shape[:3])).recurrent()[0]
    np.testing.assert_allclose(y, v, atol=1e-12)
    assert np.abs(gated_delta(q, k, v, g, np.ones(k.shape[:3])).recurrent()[0] - v).max() > 0.1


def test_the_convolution_is_numpys(rng):
    x, weight = drawn("short_conv", 9, rng)
    y = short_conv(x, weight).recurrent()[0]
    for row in range(BATCH):
        for channel in range(CHANNELS):
            full = np.convolve(x[row, :, channel], weight[channel, ::-1])[:9]
            np.testing.assert_allclose(y[row, :, channel], full, atol=1e-12)


def test_the_gated_delta_rule_is_that_of_public_code(rng, torch):
    qwen = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    q, k, v, g, beta = drawn("gated_delta", 11, rng)
    tensors = [torch.tensor(each, dtype=torch.float32) for each in (q, k, v, g, beta)]
    found, state = qwen.torch_recurrent_gated_delta_rule(
        *tensors, initial_state=None, output_final_state=True, use_qk_l2norm_in_kernel=False
    )
    y, end = gated_delta(q * KEY**-0.5, k, v, g, beta).recurrent()
    np.testing.assert_allclose(found.numpy(), y, atol=1e-5)
    np.testing.assert_allclose(state.numpy(), end, atol=1e-5)
