import numpy as np
import pytest

pytest.importorskip("tokenizers")

from hypothesis import given
from hypothesis import strategies as st

from regard.training.data.corruption import corrupt
from regard.training.data.tokenizing import MASK


@given(st.integers(1, 300), st.integers(16, 200), st.integers(0, 2**32))
def test_prefix_masked_and_suffix_rebuild_the_truncated_text(length, block, seed):
    tokens = np.arange(10, 10 + length)
    read, masked = corrupt(tokens, np.random.default_rng(seed), block=block)
    first, second = np.flatnonzero(read == MASK)
    rebuilt = np.concatenate([read[:first], masked, read[first + 1 : second]])
    assert second == len(read) - 1
    assert rebuilt.tolist() == tokens[: len(rebuilt)].tolist()
    assert min(4, length) <= len(rebuilt) <= block * 7 // 8 or len(rebuilt) == min(length, 4)
    assert len(masked) >= 1


def test_a_quarter_is_masked_on_average():
    rng = np.random.default_rng(0)
    pairs = [corrupt(np.arange(10, 200), rng, block=128) for _ in range(4000)]
    shares = [len(masked) / (len(read) + len(masked) - 2) for read, masked in pairs]
    # 4000 draws with a standard deviation of 0.15: a false alarm in less than one of 10⁸ runs.
    assert abs(np.mean(shares) - 0.25) < 0.015
    lengths = [len(read) + len(masked) - 2 for read, masked in pairs]
    assert min(lengths) == 4
    assert max(lengths) == 112
