"""The block: one head of self-attention, then a ReLU feed-forward layer at each position."""

from dataclasses import dataclass

from array_api_compat import array_namespace

from regard.attention.linear import Linear
from regard.attention.rule import PLAIN, Rule
from regard.attention.weights import attend
from regard.core.axes import Array, Bool, Float


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """The weights of a block: W_Q, W_K, W_V, then (W_1, b_1) and (W_2, b_2)."""

    query: Linear
    key: Linear
    value: Linear
    hidden: Linear
    output: Linear


def attention_block(
    x: Float[Array, "*batch position width"],
    block: Block,
    *,
    mask: Bool[Array, "*#batch #position #position"] | None = None,
    rule: Rule = PLAIN,
) -> Float[Array, "*batch position output"]:
    """Self-attention followed by a feed-forward layer, with no residual and no normalisation.

        Q = XW_Q,  K = XW_K,  V = XW_V,  H = softmax(QKᵀ/√d)V,  Z = ReLU(HW_1 + 1b_1)W_2 + 1b_2

    Without a mask, shuffling the rows of X shuffles the rows of Z the same way.

    >>> import numpy as np
    >>> same = Linear(weight=np.eye(2))
    >>> attention_block(np.eye(2), Block(query=same, key=same, value=same, hidden=same, output=same)).round(3)
    array([[0.67, 0.33],
           [0.33, 0.67]])
    """
    mixed = attend(block.query(x), block.key(x), block.value(x), mask=mask, rule=rule)
    return feed_forward(mixed, block.hidden, block.output)


def feed_forward(
    x: Float[Array, "*batch position width"], hidden: Linear, output: Linear
) -> Float[Array, "*batch position output"]:
    """Two linear maps with a ReLU between them, at each position on its own.

        Z = ReLU(XW_1 + 1b_1)W_2 + 1b_2

    ReLU is max(0, ·), and NaN stays NaN.
    """
    inner = hidden(x)
    xp = array_namespace(inner)
    return output(xp.maximum(inner, xp.zeros_like(inner)))
