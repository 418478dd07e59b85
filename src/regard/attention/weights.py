"""Weights: the share of attention that each query gives each key, and what it retrieves."""

from array_api_compat import array_namespace

from regard.attention._shapes import mask_like, require_values
from regard.attention.precision import widened
from regard.attention.rule import PLAIN, Empty, Rule
from regard.attention.scores import attention_scores
from regard.core.axes import Array, Bool, Float
from regard.core.errors import InputError


def masked_softmax(
    logits: Float[Array, "*batch query key"],
    mask: Bool[Array, "*#batch #query #key"] | None = None,
    *,
    empty: Empty = "raise",
) -> Float[Array, "*batch query key"]:
    """Each row's visible keys share one; masked keys get exactly zero.

        a_j = e^{z_j − m} / Σ_i e^{z_i − m},   m = max_i z_i,   z_i = −∞ where masked

    A row is empty when all its logits are −∞, be it by the mask or by themselves; `empty` says what it becomes.

    >>> import numpy as np
    >>> masked_softmax(np.array([[0.0, 0.0, 9.0]]), np.array([[True, True, False]]))
    array([[0.5, 0.5, 0. ]])
    """
    if logits.shape[-1] == 0:
        raise InputError("There are no keys, so there is nothing to share attention among. Give at least one key.")
    xp = array_namespace(logits)
    wide = widened(logits)
    if mask is not None:
        wide = xp.where(mask_like(mask, wide), wide, xp.full_like(wide, -xp.inf))
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
    rule: Rule = PLAIN,
) -> Float[Array, "*batch query key"]:
    """Share of attention each query gives each key; every row sums to one.

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
    rule: Rule = PLAIN,
) -> Float[Array, "*batch query value_width"]:
    """Scaled dot-product attention: each query gets the mean of the values, weighted by its attention.

        c = Σ_j a_j v_j

    A value that is NaN or infinite reaches the output even where its weight is zero.
    The result has the dtype of the queries; types narrower than float32 are rounded once, at the end.

    >>> import numpy as np
    >>> attend(np.zeros((1, 2)), np.eye(2), np.array([[1.0], [3.0]]))
    array([[2.]])
    """
    require_values(keys, values)
    xp = array_namespace(queries, keys, values)
    weights = attention_weights(widened(queries), widened(keys), mask=mask, rule=rule)
    return xp.astype(xp.matmul(weights, widened(values)), queries.dtype)


def _with_policy(
    weights: Float[Array, "*batch query key"], is_empty: Bool[Array, "*batch query 1"], empty: Empty
) -> Float[Array, "*batch query key"]:
    """The weights with each empty row, zero so far, as the policy wants it."""
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
