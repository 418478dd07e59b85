"""The reference implementation of attention, for numpy arrays and torch tensors alike.

It is exact up to rounding and meant to be read; laws and training code are compared with it.
"""

from regard.attention.dot_product import (
    PLAIN,
    AttentionRule,
    Empty,
    attend,
    attention_scores,
    attention_weights,
    masked_softmax,
    widened,
)
from regard.attention.layers import Block, Linear, attention_block, feed_forward, merge_heads, repeat_heads, split_heads
from regard.attention.masks import Alignment, Side, causal_mask, combine_masks, padding_mask, window_mask

__all__ = [
    "PLAIN",
    "Alignment",
    "AttentionRule",
    "Block",
    "Empty",
    "Linear",
    "Side",
    "attend",
    "attention_block",
    "attention_scores",
    "attention_weights",
    "causal_mask",
    "combine_masks",
    "feed_forward",
    "masked_softmax",
    "merge_heads",
    "padding_mask",
    "repeat_heads",
    "split_heads",
    "widened",
    "window_mask",
]
