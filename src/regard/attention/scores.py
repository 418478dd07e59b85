"""Scores: how strongly each query matches each key."""

import math

from array_api_compat import array_namespace

from regard.attention._shapes import require_comparable, require_spreads
from regard.attention.precision import widened
from regard.attention.rule import PLAIN, Rule
from regard.core.axes import Array, Float


def attention_scores(
    queries: Float[Array, "*batch query width"], keys: Float[Array, "*batch key width"], *, rule: Rule = PLAIN
) -> Float[Array, "*batch query key"]:
    """Logit of each query for each key, before any mask.

        z = C tanh(s q·k / C) + b

    The result has the dtype of the queries.

    >>> import numpy as np
    >>> attention_scores(np.array([[2.0, 0.0]]), np.eye(2), rule=Rule(scale=0.5))
    array([[1., 0.]])
    """
    require_comparable(queries, keys)
    xp = array_namespace(queries, keys)
    scale = 1 / math.sqrt(queries.shape[-1]) if rule.scale is None else rule.scale
    logits = scale * xp.matmul(widened(queries), xp.matrix_transpose(widened(keys)))
    if rule.softcap is not None:
        logits = rule.softcap * xp.tanh(logits / rule.softcap)
    if rule.bias is not None:
        require_spreads("bias", rule.bias, logits.shape)
        logits = logits + xp.astype(rule.bias, logits.dtype)
    return xp.astype(logits, queries.dtype)
