"""Attention over fixed keys, key by key: what the brute-force routes of the retrieval claims share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from regard.analysis.engines.symbolic import Field, identity
from regard.attention import Rule, attention_weights
from regard.claims._comparisons import Measured, agreement, all_parts, in_balls, of_smaller_case
from regard.claims.claim import Route, Trial
from regard.core.axes import Float
from regard.core.verdict import Evidence

# What "≈" is taken to mean where a statement says that a weight is about ½ or about 1.
APPROXIMATELY = 0.05
MOST_KEYS = 64
LARGEST_SCALE = 1e6


def thinned(n: int, most: int = MOST_KEYS) -> int:
    """The number of keys that a brute-force route uses when n are asked for; the algebra covers every n."""
    return min(n, most)


def tempered(scale: float) -> float:
    """The scale that a float64 route uses: beyond a million a logit's own rounding would move the weights."""
    return float(np.clip(scale, -LARGEST_SCALE, LARGEST_SCALE))


def counted(n: int, most: int = MOST_KEYS) -> str:
    """How many keys a brute-force route used, for its detail.

    >>> counted(10), counted(10**6)
    ('n = 10', 'n = 64 (thinned from 1e+06)')
    """
    return f"n = {n}" if n == thinned(n, most) else f"n = {thinned(n, most)} (thinned from {n:g})"


def rounding(n: int, scale: float) -> float:
    """8nu(1+|β|), u = 2⁻⁵²: room for rounding n products and sums of size β, which exp turns into relative error."""
    return 8 * n * float(np.finfo(float).eps) * (1 + abs(scale))


def orthonormal_keys(n: int, rng: np.random.Generator) -> Float[np.ndarray, "key width"]:
    """N random orthonormal keys, a few dimensions to spare."""
    columns, _ = np.linalg.qr(rng.normal(size=(n + 3, n)))
    return columns.T


def weights(query: Float[np.ndarray, " width"], keys: Float[np.ndarray, "key width"]) -> Float[np.ndarray, " key"]:
    """The reference layer's weights for one query, without the 1/√d."""
    return attention_weights(query[None, :], keys, rule=Rule(scale=1.0))[0]


def log_odds(logits: Float[np.ndarray, " key"], num_hot: int) -> float:
    """Log of (weight on the other keys)/(weight on the first num_hot): exact where a weight is all but 0 or 1."""
    return float(np.logaddexp.reduce(logits[num_hot:]) - np.logaddexp.reduce(logits[:num_hot]))


def crossing(is_enough: Callable[[float], bool], *, within: float = 2000.0) -> float:
    """The point in (−within, within) from which on `is_enough`, found by halving until floats are exhausted."""
    low, high = -within, within
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def hot_weight(beta: Any, n: Any, num_hot: int) -> Any:
    """Softmax of num_hot logits β and n − num_hot logits 0, term by term: the weight on one of the hot keys."""
    total = sum((beta.exp() for _ in range(num_hot)), start=0 * beta)
    return beta.exp() / (total + (n - num_hot) * (0 * beta).exp())


def weight_routes(name: str, query: str, *, num_hot: int, beta: float) -> tuple[Route, Route]:
    """Two routes for a statement "q = β·(sum of num_hot of the orthonormal keys) puts about this weight on each"."""

    def by_algebra(trial: Trial) -> Evidence:
        field = Field(counts=("n",), exponentials=("beta",))
        softmax = hot_weight(field["beta"], field["n"], num_hot)
        found = identity(trial.form(field["beta"], field["n"]), softmax, rng=trial.rng("algebra"), what=name)
        if found.status == "proved":
            return found
        n = trial.at.n
        truth = in_balls(lambda scale, count: hot_weight(scale, count, num_hot), beta, n)
        found = agreement(
            name,
            claimed=in_balls(trial.form, beta, n),
            route="algebra",
            measured=Measured(value=truth, tolerance=APPROXIMATELY),
            at=f"n = {n:.12g} orthonormal keys, {query}",
        )
        return replace(found, bound=rounding(1, 0.0))

    def by_brute_force(trial: Trial) -> Evidence:
        n = thinned(trial.at.n)
        keys = orthonormal_keys(n, trial.rng("keys"))
        found = weights(beta * keys[:num_hot].sum(axis=0), keys)[:num_hot]
        claimed = in_balls(trial.form, beta, n)
        at = f"{counted(trial.at.n)} random orthonormal keys, {query}"
        parts = [
            agreement(
                name,
                claimed=claimed,
                measured=Measured(value=float(weight), tolerance=APPROXIMATELY),
                at=at,
                route="brute force",
            )
            for weight in found
        ]
        outcome = replace(all_parts("brute force", parts), bound=rounding(n, beta))
        return of_smaller_case(outcome, tried=n, asked=trial.at.n)

    return by_algebra, by_brute_force
