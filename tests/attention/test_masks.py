"""Masks against their definitions, entry by entry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.attention import causal_mask, combine_masks, padding_mask, window_mask
from regard.core.errors import InputError

sizes = st.integers(1, 7)


def test_alignments_differ_when_lengths_do():
    np.testing.assert_array_equal(causal_mask(2, 4, align="top-left"), [[1, 0, 0, 0], [1, 1, 0, 0]])
    np.testing.assert_array_equal(causal_mask(2, 4, align="bottom-right"), [[1, 1, 1, 0], [1, 1, 1, 1]])


def test_more_queries_than_keys_leave_the_first_queries_empty_at_the_bottom_right():
    np.testing.assert_array_equal(causal_mask(3, 2, align="bottom-right"), [[0, 0], [1, 0], [1, 1]])
    assert causal_mask(3, 2, align="top-left").any(axis=-1).all()


def test_bottom_right_is_the_last_rows_of_the_whole_mask():
    np.testing.assert_array_equal(causal_mask(3, 8, align="bottom-right"), causal_mask(8, 8)[-3:])
    np.testing.assert_array_equal(causal_mask(3, 8, align="top-left"), causal_mask(8, 8)[:3])


@pytest.mark.parametrize("align", ["top-left", "bottom-right"])
def test_causal_equals_torch(torch, align):
    bias = pytest.importorskip("torch.nn.attention.bias", reason="this torch has no causal biases")
    theirs = {"top-left": bias.causal_upper_left, "bottom-right": bias.causal_lower_right}[align](3, 5)
    values = torch.eye(5, dtype=torch.float64)[None, None]
    flat = torch.zeros(1, 1, 3, 5, dtype=torch.float64)
    seen = torch.nn.functional.scaled_dot_product_attention(flat, torch.zeros_like(values), values, attn_mask=theirs)
    np.testing.assert_array_equal(causal_mask(3, 5, align=align), seen[0, 0].numpy() > 0)


@given(sizes, sizes, st.integers(1, 8), st.sampled_from(["top-left", "bottom-right"]))
def test_window_equals_its_definition(num_queries, num_keys, window, align):
    mask = combine_masks(
        causal_mask(num_queries, num_keys, align=align), window_mask(num_queries, num_keys, window=window, align=align)
    )
    offset = 0 if align == "top-left" else num_keys - num_queries
    for i in range(num_queries):
        here = i + offset
        assert set(np.flatnonzero(mask[i])) == set(range(max(0, here - window + 1), min(here, num_keys - 1) + 1))


def test_window_counts_the_query_itself():
    last = combine_masks(causal_mask(8, 8), window_mask(8, 8, window=4))[-1]
    assert last.sum() == 4
    one_too_many = np.abs(np.subtract.outer(np.arange(8), np.arange(8))) <= 4
    assert combine_masks(causal_mask(8, 8), one_too_many)[-1].sum() == 5


def test_padding_stands_on_the_declared_side():
    lengths = np.array([1, 3])
    np.testing.assert_array_equal(padding_mask(lengths, 3), [[[1, 0, 0]], [[1, 1, 1]]])
    np.testing.assert_array_equal(padding_mask(lengths, 3, side="left"), [[[0, 0, 1]], [[1, 1, 1]]])
    assert padding_mask(lengths[:, None], 3).shape == (2, 1, 1, 3)


def test_padding_takes_torch_lengths(torch):
    np.testing.assert_array_equal(padding_mask(torch.tensor([2]), 3), [[[1, 1, 0]]])


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4))
def test_combined_masks_hide_what_any_hides(seeds):
    masks = [np.random.default_rng(seed).random((3, 4)) < 0.6 for seed in seeds]
    np.testing.assert_array_equal(combine_masks(*masks, None), np.all(masks, axis=0))


def test_combined_masks_spread(torch):
    both = combine_masks(torch.tensor(causal_mask(3, 3)), torch.tensor(padding_mask(np.array([2, 3]), 3)))
    np.testing.assert_array_equal(both[0], [[1, 0, 0], [1, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(both[1], causal_mask(3, 3))


def test_undeclared_alignment_is_an_error():
    with pytest.raises(InputError, match="3 queries and 16 keys can be aligned in two ways"):
        causal_mask(3, 16)
    with pytest.raises(InputError, match="aligned in two ways"):
        window_mask(3, 16, window=2)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: causal_mask(3, 3, align="centre"), "'centre', which is not an alignment"),
        (lambda: causal_mask(0, 3, align="top-left"), "0 queries"),
        (lambda: window_mask(3, 3, window=0), "window is 0, so no query would attend even to itself"),
        (lambda: padding_mask(np.array([4]), 3), "Lengths run from 4 to 4, but there are 3 keys"),
        (lambda: padding_mask(np.array([-1]), 3), "from -1"),
        (lambda: padding_mask(np.array([1]), 3, side="both"), "'both', which is not a side"),
        (lambda: combine_masks(None), "no mask to combine"),
        (lambda: combine_masks(causal_mask(2, 2), causal_mask(3, 3)), r"shapes \(2, 2\), \(3, 3\)"),
    ],
)
def test_masks_that_cannot_be_made(make, message):
    with pytest.raises(InputError, match=message):
        make()
