"""The reference: attention as it is defined, for numpy arrays and torch tensors alike.

Everything here is exact up to rounding and meant to be read; the laws and the training code are held against it.
"""

from regard.attention.block import Block, attention_block, feed_forward
from regard.attention.heads import MultiHead, merge_heads, multi_head, repeat_heads, split_heads
from regard.attention.linear import Linear
from regard.attention.masks import Alignment, Side, causal_mask, combine_masks, padding_mask, window_mask
from regard.attention.precision import widened
from regard.attention.rule import PLAIN, Empty, Rule
from regard.attention.scores import attention_scores
from regard.attention.weights import attend, attention_weights, masked_softmax

__all__ = [
    "PLAIN",
    "Alignment",
    "Block",
    "Empty",
    "Linear",
    "MultiHead",
    "Rule",
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
    "multi_head",
    "padding_mask",
    "repeat_heads",
    "split_heads",
    "widened",
    "window_mask",
]
