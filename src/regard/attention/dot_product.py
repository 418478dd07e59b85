"""Dot-product attention: scores, weights, and the weighted mean of the values.

Inside, the precision is never narrower than float32.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from regard.core.axes import Array, Bool, Float
from regard.core.errors import InputError

Empty: TypeAlias = Literal["raise", "zero", "uniform", "nan"]
"""What a query gets that may attend to no key: an error, zeros, 1/n for each of all n keys, or NaN."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionRule:
    """How queries and keys become weights: scale, softcap, bias, and what a query without keys gets.

        z = C tanh(s q·k / C) + b

    with s the scale (1/√width unless given), C the softcap (without one, z = s q·k + b) and b the bias.
    The softcap comes after the scale and before the bias, as in Gemma 2. T5 has s = 1.
    """

    scale: float | None = None
    softcap: float | None = None
    bias: Float[Array, "..."] | None = None
    empty: Empty = "raise"

    def __post_init__(self) -> None:
        if self.softcap is not None and not (self.softcap > 0 and math.isfinite(self.softcap)):
            raise InputError(
                f"The softcap is {self.softcap}, which is not a positive number. Give one above zero, or leave it out."
            )
        if self.empty not in get_args(Empty):
            policies = ", ".join(get_args(Empty))
            raise InputError(f"empty is {self.empty!r}, which is not a policy. Use one of {policies}.")


PLAIN = AttentionRule()
"""Scaled dot-product attention as first published: s = 1/√width, no softcap, no bias."""


def attention_scores(
    queries: Float[Array, "*batch query width"], keys: Float[Array, "*batch key width"], *, rule: AttentionRule = PLAIN
) -> Float[Array, "*batch query key"]:
    """The logit of each query for each key, before any mask.

        z = C tanh(s q·k / C) + b

    The result has the dtype of the queries.

    >>> import numpy as np
    >>> attention_scores(np.array([[2.0, 0.0]]), np.eye(2), rule=AttentionRule(scale=0.5))
    array([[1., 0.]])
    """
    _check_queries_and_keys(queries, keys)
    xp = array_namespace(queries, keys)
    scale = 1 / math.sqrt(queries.shape[-1]) if rule.scale is None else rule.scale
    logits = scale * xp.matmul(widened(queries), xp.matrix_transpose(widened(keys)))
    if rule.softcap is not None:
        logits = rule.softcap * xp.tanh(logits / rule.softcap)
    if rule.bias is not None:
        _check_broadcast("bias", rule.bias, logits.shape)
        logits = logits + xp.astype(rule.bias, logits.dtype)
    return xp.astype(logits, queries.dtype)


def masked_softmax(
    logits: Float[Array, "*batch query key"],
    mask: Bool[Array, "*#batch #query #key"] | None = None,
    *,
    empty: Empty = "raise",
) -> Float[Array, "*batch query key"]:
    """The softmax of each row over its visible keys; masked keys get exactly zero.

        a_j = e^{z_j − m} / Σ_i e^{z_i − m},   m = max_i z_i,   z_i = −∞ where masked

    A row is empty if all its logits are −∞, with or without the mask; `empty` says what it becomes.

    >>> import numpy as np
    >>> masked_softmax(np.array([[0.0, 0.0, 9.0]]), np.array([[True, True, False]]))
    array([[0.5, 0.5, 0. ]])
    """
    if logits.shape[-1] == 0:
        raise InputError("There are no keys to attend to. Give at least one key.")
    xp = array_namespace(logits)
    wide = widened(logits)
    if mask is not None:
        wide = xp.where(_mask_like(mask, wide), wide, xp.full_like(wide, -xp.inf))
    peak = xp.max(wide, axis=-1, keepdims=True)
    is_empty = peak == -xp.inf
    mass = xp.exp(wide - xp.where(is_empty, xp.zeros_like(peak), peak))
    total = xp.sum(mass, axis=-1, keepdims=True)
    weights = mass / xp.where(is_empty, xp.ones_like(total), total)
    return xp.astype(_with_policy(weights, is_empty, empty), logits.dtype)


def attention_weights(
    queries: Float[Array, "*batch query width"],
    keys: Float[Array, "*batch key width"],
    *,
    mask: Bool[Array, "*#batch #query #key"] | None = None,
    rule: AttentionRule = PLAIN,
) -> Float[Array, "*batch query key"]:
    """The attention weights of each query; every row sums to one.

        a = softmax(z),   z the scores of the rule, −∞ where masked

    >>> import numpy as np
    >>> attention_weights(np.zeros((1, 2)), np.eye(2))
    array([[0.5, 0.5]])
    """
    xp = array_namespace(queries, keys)
    logits = attention_scores(widened(queries), widened(keys), rule=rule)
    return xp.astype(masked_softmax(logits, mask, empty=rule.empty), queries.dtype)


def attend(
    queries: Float[Array, "*batch query width"],
    keys: Float[Array, "*batch key width"],
    values: Float[Array, "*batch key value_width"],
    *,
    mask: Bool[Array, "*#batch #query #key"] | None = None,
    rule: AttentionRule = PLAIN,
) -> Float[Array, "*batch query value_width"]:
    """Scaled dot-product attention: each query gets the mean of the values, weighted by its attention.

        c = Σ_j a_j v_j

    A value that is NaN or infinite reaches the output even where its weight is zero.
    The result has the dtype of the queries; types narrower than float32 are rounded once, at the end.

    >>> import numpy as np
    >>> attend(np.zeros((1, 2)), np.eye(2), np.array([[1.0], [3.0]]))
    array([[2.]])
    """
    if keys.shape[:-1] != values.shape[:-1]:
        raise InputError(
            f"Keys have shape {tuple(keys.shape)} and values have shape {tuple(values.shape)}, "
            "so some keys have no value. Give one value per key."
        )
    xp = array_namespace(queries, keys, values)
    weights = attention_weights(widened(queries), widened(keys), mask=mask, rule=rule)
    return xp.astype(xp.matmul(weights, widened(values)), queries.dtype)


def widened(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The numbers in float32 if their type is narrower; float32 and float64 stay as they are.

    Sums in half precision stall: adding ones in bfloat16 never gets past 256.

    >>> import numpy as np
    >>> widened(np.ones(2, dtype=np.float16)).dtype, widened(np.ones(2)).dtype
    (dtype('float32'), dtype('float64'))
    """
    xp = array_namespace(x)
    # By name, because numpy's isdtype rejects the types of ml_dtypes.
    if "float" not in str(x.dtype):
        raise InputError(f"The numbers have dtype {x.dtype}, which cannot represent weights. Give real floats.")
    return x if x.dtype.itemsize >= 4 else xp.astype(x, xp.float32)


def _with_policy(
    weights: Float[Array, "*batch query key"], is_empty: Bool[Array, "*batch query 1"], empty: Empty
) -> Float[Array, "*batch query key"]:
    """The weights with each empty row, zero so far, filled according to the policy."""
    xp = array_namespace(weights)
    if empty == "zero" or not xp.any(is_empty):
        return weights
    if empty == "raise":
        *batch, query = (int(axis[0]) for axis in xp.nonzero(is_empty[..., 0]))
        where = f" of batch entry {tuple(batch)}" if batch else ""
        raise InputError(
            f"Query {query}{where} has every key masked, so its weights are undefined. "
            'Leave one key visible, drop the query, or declare a policy: empty="zero", "uniform" or "nan".'
        )
    content = 1 / weights.shape[-1] if empty == "uniform" else xp.nan
    return xp.where(is_empty, xp.full_like(weights, content), weights)


def _check_queries_and_keys(queries: Array, keys: Array) -> None:
    if queries.shape[-1] != keys.shape[-1]:
        raise InputError(
            f"Queries have width {queries.shape[-1]} and keys have width {keys.shape[-1]}, "
            "so they have no dot product. Project both to the same width."
        )
    if queries.shape[:-2] != keys.shape[:-2]:
        raise InputError(
            f"Queries have leading axes {tuple(queries.shape[:-2])} and keys have {tuple(keys.shape[:-2])}, "
            "so they do not match. Give both the same leading axes; repeat_heads shares key heads among query heads."
        )


def _check_broadcast(name: str, array: Array, shape: tuple[int, ...]) -> None:
    fits = array.ndim <= len(shape) and all(
        have in (1, want) for have, want in zip(array.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise InputError(
            f"The {name} has shape {tuple(array.shape)}, which does not broadcast to logits of shape {tuple(shape)}. "
            "Its last axes are query and key; each axis has the length of the logits or 1."
        )


def _mask_like(mask: Array, logits: Array) -> Array:
    """A mask as an array of the same kind, and on the same device, as the logits."""
    xp = array_namespace(logits)
    if is_numpy_array(mask):
        # A copy, because torch refuses numpy arrays with negative strides and warns about read-only ones.
        mask = xp.asarray(np.array(mask), device=device(logits))
    if mask.dtype != xp.bool:
        raise InputError(
            f"The mask has dtype {mask.dtype}, which could mean 0/1 or numbers to add. "
            "Give a bool mask, True where a query may attend; add numbers with AttentionRule(bias=...)."
        )
    _check_broadcast("mask", mask, logits.shape)
    return mask
