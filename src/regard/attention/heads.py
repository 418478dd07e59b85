"""Heads: several attentions side by side, whose keys and values may be shared by groups."""

from collections.abc import Callable
from dataclasses import dataclass

from array_api_compat import array_namespace

from regard.attention.linear import Linear
from regard.attention.rule import PLAIN, Rule
from regard.attention.weights import attend
from regard.core.axes import Array, Bool, Float
from regard.core.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class MultiHead:
    """The weights of a multi-head layer and how they divide into heads.

    Fewer key/value heads than query heads make it grouped-query attention; one makes it multi-query attention.
    """

    query: Linear
    key: Linear
    value: Linear
    output: Linear
    num_heads: int
    num_kv_heads: int | None = None

    def __post_init__(self) -> None:
        _group_size(self.num_heads, self.kv_heads)

    @property
    def kv_heads(self) -> int:
        """Number of key/value heads; as many as query heads unless given."""
        return self.num_heads if self.num_kv_heads is None else self.num_kv_heads


def split_heads(
    x: Float[Array, "*batch position width"], num_heads: int
) -> Float[Array, "*batch head position head_width"]:
    """Each embedding is cut into consecutive pieces, one a head.

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
    """The heads of each position are laid end to end: the inverse of `split_heads`.

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
    """Consecutive query heads share a key/value head.

        y[h] = x[⌊h / g⌋],   g = num_heads / num_kv_heads

    So the heads are repeated (0, 0, 1, 1), not tiled (0, 1, 0, 1).

    >>> import numpy as np
    >>> repeat_heads(np.array([[[5.0]], [[7.0]]]), 4).ravel()
    array([5., 5., 7., 7.])
    """
    return array_namespace(x).repeat(x, _group_size(num_heads, x.shape[-3]), axis=-3)


def multi_head(
    x: Float[Array, "*batch position width"],
    layer: MultiHead,
    *,
    mask: Bool[Array, "..."] | None = None,
    rule: Rule = PLAIN,
    rotate: Callable[[Array], Array] | None = None,
) -> Float[Array, "*batch position output"]:
    """Multi-head self-attention: heads attend on their own, then one linear map mixes them.

        y = [c_1 … c_H] W_O + b_O,   c_h = attend(x W_Q^h, x W_K^⌊h/g⌋, x W_V^⌊h/g⌋)

    `rotate` acts on queries and keys after they are split: `partial(code.rotate, positions=positions)`.
    The mask has the axes query and key, or all of them: batch, head, query and key.
    """
    _require_unambiguous(mask, x.ndim + 1)
    queries = split_heads(layer.query(x), layer.num_heads)
    keys = split_heads(layer.key(x), layer.kv_heads)
    values = repeat_heads(split_heads(layer.value(x), layer.kv_heads), layer.num_heads)
    if rotate is not None:
        queries, keys = rotate(queries), rotate(keys)
    mixed = attend(queries, repeat_heads(keys, layer.num_heads), values, mask=mask, rule=rule)
    return layer.output(merge_heads(mixed))


def _group_size(num_heads: int, num_kv_heads: int) -> int:
    """Number of query heads that share one key/value head."""
    if num_kv_heads < 1 or num_heads < 1 or num_heads % num_kv_heads:
        raise InputError(
            f"{num_heads} query heads cannot share {num_kv_heads} key/value heads evenly. "
            "Make the number of query heads a multiple of the number of key/value heads."
        )
    return num_heads // num_kv_heads


def _require_unambiguous(mask: Array | None, num_axes: int) -> None:
    """A mask between two axes and all of them could mean batch or head by its first axis."""
    if mask is not None and 2 < mask.ndim < num_axes:
        raise InputError(
            f"The mask has {mask.ndim} axes where the logits have {num_axes}, so its first could be batch or head. "
            "Give it all axes, of length 1 where it does not vary: mask[:, None] adds one for the heads."
        )
