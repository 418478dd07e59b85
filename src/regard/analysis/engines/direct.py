"""Answers by sampling whole keys: simple and slow, an oracle that shares no shortcut with the other engines."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.analysis.engines.questions import Quantity, Question
from regard.analysis.engines.sampling import Draws, SamplingRun, estimates
from regard.analysis.gaussian_keys import KeySpace
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.axes import Float
from regard.core.estimate import Estimate
from regard.core.random_streams import stream


def answers(
    keys: KeySpace, questions: Sequence[Question], *, draws: int = 10_000, seed: int = 0, confidence: float = 0.999
) -> tuple[Estimate, ...]:
    """The answers up to sampling error, all from the same keys drawn in key space.

    >>> from regard.analysis.engines import Mean, weight
    >>> from regard.analysis.scenarios import course_keys, one_head
    >>> [mean] = answers(course_keys(n=10).in_key_space(one_head(5.0)), [Mean(of=weight("a"))], seed=1)
    >>> mean.contains(0.494699341579)
    True
    """
    num_keys = len(keys.names)
    numbers = num_keys * (num_keys + 1)
    outline = _outline(keys)
    run = SamplingRun(method="direct", draws=draws, seed=seed, confidence=confidence, numbers_per_draw=numbers)
    center = _read(np.eye(num_keys)[None], keys, outline)
    return estimates(outline, questions, lambda *block: _sample(keys, outline, *block), center, run)


def values(
    keys: KeySpace, quantity: Quantity, *, draws: int = 5_000, seed: int = 0, given: Deviation | None = None
) -> Float[np.ndarray, " draw"]:
    """Independent draws of a quantity, for a histogram."""
    outline = _outline(keys)
    quantity.heads(outline)
    return _sample(keys, outline, stream(seed, "direct", "values"), draws, given).values(quantity, outline)


def _outline(keys: KeySpace) -> LogitLaw:
    """Names, counts, heads and own variances, against which questions are checked; its logits are never drawn."""
    counts = Counter(keys.names)
    leaders = [keys.names.index(name) for name in counts]
    return LogitLaw(
        names=tuple(counts),
        counts=tuple(counts.values()),
        means=keys.queries.T[leaders].tolist(),
        directions=[[[0.0]] * len(keys.queries)] * len(counts),
        variances=[[float(keys.alpha + keys.noise[leader])] for leader in leaders],
    )


def _sample(
    keys: KeySpace, outline: LogitLaw, rng: np.random.Generator, num_draws: int, given: Deviation | None
) -> Draws:
    """Weights from independent sets of keys; sets that fail the condition are discarded."""
    accepted: list[np.ndarray] = []
    while sum(map(len, accepted)) < num_draws:
        drawn = _draw_keys(keys, rng, num_draws)
        if given is not None:
            own = _own_deviation(drawn)[:, keys.names.index(given.group)]
            drawn = drawn[(given.lower <= own) & (own <= given.upper)]
        accepted.append(drawn)
    return _read(np.concatenate(accepted)[:num_draws], keys, outline)


def _draw_keys(keys: KeySpace, rng: np.random.Generator, num_draws: int) -> Float[np.ndarray, "draw key width"]:
    """k_i = e_i + √α ε + √noise_i η e_i with standard normal ε and η."""
    num_keys = len(keys.names)
    drawn = rng.standard_normal((num_draws, num_keys, num_keys)) * np.sqrt(keys.alpha) + np.eye(num_keys)
    own = np.arange(num_keys)
    drawn[:, own, own] += np.sqrt(keys.noise) * rng.standard_normal((num_draws, num_keys))
    return drawn


def _own_deviation(drawn: Float[np.ndarray, "draw key width"]) -> Float[np.ndarray, "draw key"]:
    """δ = μᵀ(k − μ), the means being unit vectors."""
    return np.diagonal(drawn, axis1=1, axis2=2) - 1


def _read(drawn: Float[np.ndarray, "draw key width"], keys: KeySpace, outline: LogitLaw) -> Draws:
    """The attention of every query over every drawn set of keys, summed by name."""
    seen = drawn / np.linalg.norm(drawn, axis=2, keepdims=True) if keys.is_normalized else drawn
    logits = seen @ keys.queries.T
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    leaders = [keys.names.index(name) for name in outline.names]
    membership = np.array(outline.names)[:, None] == np.array(keys.names)
    return Draws(
        first=weights[:, leaders].transpose(1, 2, 0),
        total=np.einsum("gk,bkh->ghb", membership.astype(float), weights),
        overlap=np.einsum("bkh,bkg->hgb", weights, weights),
        deviation=_own_deviation(drawn)[:, leaders].T,
    )
