"""Codes and masks that act on distances: ALiBi's weights, T5's last bucket, how far windows reach."""

from typing import Any

from flint import fmpz

from regard.analysis.closed_forms.arithmetic import exp


def alibi_weight(slope: Any, drop: Any) -> Any:
    """(1 − e^{−m})e^{−mk}: the weight at distance k ≥ 0 under ALiBi's slope m, if content says nothing.

    `drop` is mk, by how much the logit is lower than at distance 0.

    >>> round(float(alibi_weight(0.5, 0.0)), 6)
    0.393469
    """
    return (1 - exp(-slope)) * exp(-drop)


def alibi_mean(slope: Any) -> Any:
    """1/(e^m − 1): the mean distance of what ALiBi's slope m looks at.

    >>> round(float(alibi_mean(0.5)), 5), round(float(alibi_mean(1 / 256)), 1)
    (1.54149, 255.5)
    """
    return 1 / (exp(slope) - 1)


def alibi_covered(drop: Any) -> Any:
    """1 − e^{−mK}: the share of attention that the K nearest keys get; `drop` is mK.

    >>> float(alibi_covered(2.5)) < 0.95 < float(alibi_covered(3.0))
    True
    """
    return 1 - exp(-drop)


def last_bucket_start(num_buckets: int, max_distance: int) -> int:
    """⌈E(D/E)^{(N−E−1)/(N−E)}⌉, E = ⌊N/2⌋: the least distance in the last of T5's N buckets for one direction.

    >>> last_bucket_start(32, 128), last_bucket_start(2, 128)
    (113, 1)
    """
    exact = num_buckets // 2
    rest = num_buckets - exact
    power = fmpz(max_distance) ** (rest - 1) * exact
    root = int(power.root(rest))
    return root if fmpz(root) ** rest == power else root + 1


def window_reach(layers: Any, window: Any) -> Any:
    """L(w−1) + 1: how many tokens, its own among them, can reach a token through L causal layers of window w.

    >>> window_reach(3, 4)
    10
    """
    return layers * (window - 1) + 1
