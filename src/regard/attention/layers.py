"""Layers made of attention: linear maps, heads, and a block with a feed-forward layer."""

from dataclasses import dataclass

from array_api_compat import array_namespace

from regard.attention.dot_product import attend, widened
from regard.core.axes import Array, Bool, Float
from regard.core.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class Linear:
    """A matrix and a bias applied to each row.

        y = xW + b

    torch's `nn.Linear` stores Wᵀ. The result has the dtype of x.

    >>> import numpy as np
    >>> Linear(weight=2 * np.eye(2), bias=np.array([0.0, 1.0]))(np.ones((1, 2)))
    array([[2., 3.]])
    """

    weight: Float[Array, "input output"]
    bias: Float[Array, " output"] | None = None

    def __call__(self, x: Float[Array, "*batch input"]) -> Float[Array, "*batch output"]:
        """xW + b."""
        if x.shape[-1] != self.weight.shape[0]:
            raise InputError(
                f"The rows have width {x.shape[-1]}, but the matrix takes width {self.weight.shape[0]}. "
                "Give rows of that width, or transpose the matrix if it comes from torch."
            )
        xp = array_namespace(x, self.weight)
        wide = widened(x)
        y = xp.matmul(wide, xp.astype(self.weight, wide.dtype))
        if self.bias is not None:
            y = y + xp.astype(self.bias, wide.dtype)
        return xp.astype(y, x.dtype)


def split_heads(
    x: Float[Array, "*batch position width"], num_heads: int
) -> Float[Array, "*batch head position head_width"]:
    """Each embedding cut into consecutive pieces, one per head.

        y[h, t, i] = x[t, h·w + i],   w = width / num_heads

    >>> import numpy as np
    >>> split_heads(np.array([[1.0, 2.0, 3.0, 4.0]]), 2)
    array([[[1., 2.]],
    <BLANKLINE>
           [[3., 4.]]])
    """
    *batch, position, width = x.shape
    if num_heads < 1 or width % num_heads:
        raise InputError(
            f"Width {width} does not divide into {num_heads} heads. Use a number of heads that divides the width."
        )
    xp = array_namespace(x)
    pieces = xp.reshape(x, (*batch, position, num_heads, width // num_heads))
    return xp.moveaxis(pieces, -2, -3)


def merge_heads(x: Float[Array, "*batch head position head_width"]) -> Float[Array, "*batch position width"]:
    """The heads of each position concatenated: the inverse of `split_heads`.

    >>> import numpy as np
    >>> merge_heads(np.array([[[1.0, 2.0]], [[3.0, 4.0]]]))
    array([[1., 2., 3., 4.]])
    """
    xp = array_namespace(x)
    *batch, head, position, head_width = x.shape
    return xp.reshape(xp.moveaxis(x, -3, -2), (*batch, position, head * head_width))


def repeat_heads(
    x: Float[Array, "*batch kv_head position width"], num_heads: int
) -> Float[Array, "*batch head position width"]:
    """Key/value heads repeated, so that consecutive query heads share one.

        y[h] = x[⌊h / g⌋],   g = num_heads / num_kv_heads

    The heads are repeated (0, 0, 1, 1), not tiled (0, 1, 0, 1).

    >>> import numpy as np
    >>> repeat_heads(np.array([[[5.0]], [[7.0]]]), 4).ravel()
    array([5., 5., 7., 7.])
    """
    num_kv_heads = x.shape[-3]
    if num_kv_heads < 1 or num_heads < 1 or num_heads % num_kv_heads:
        raise InputError(
            f"{num_heads} query heads cannot share {num_kv_heads} key/value heads evenly. "
            "Make the number of query heads a multiple of the number of key/value heads."
        )
    return array_namespace(x).repeat(x, num_heads // num_kv_heads, axis=-3)


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """The weights of one head of self-attention and a feed-forward layer: W_Q, W_K, W_V, (W_1, b_1), (W_2, b_2)."""

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
) -> Float[Array, "*batch position output"]:
    """Self-attention followed by a feed-forward layer, with no residual and no normalization.

        Q = XW_Q,  K = XW_K,  V = XW_V,  H = softmax(QKᵀ/√d)V,  Z = ReLU(HW_1 + 1b_1)W_2 + 1b_2

    Without a mask, permuting the rows of X permutes the rows of Z in the same way.

    >>> import numpy as np
    >>> same = Linear(weight=np.eye(2))
    >>> attention_block(np.eye(2), Block(query=same, key=same, value=same, hidden=same, output=same)).round(3)
    array([[0.67, 0.33],
           [0.33, 0.67]])
    """
    mixed = attend(block.query(x), block.key(x), block.value(x), mask=mask)
    return feed_forward(mixed, block.hidden, block.output)


def feed_forward(
    x: Float[Array, "*batch position width"], hidden: Linear, output: Linear
) -> Float[Array, "*batch position output"]:
    """Two linear maps with a ReLU between them, applied to each position separately.

        Z = ReLU(XW_1 + 1b_1)W_2 + 1b_2

    ReLU is max(0, ·), and NaN stays NaN.
    """
    inner = hidden(x)
    xp = array_namespace(inner)
    return output(xp.maximum(inner, xp.zeros_like(inner)))
