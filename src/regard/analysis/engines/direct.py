"""Answers by sampling whole keys: simple and slow, an oracle that shares no shortcut with the other engines."""

from collections.abc import Sequence

import numpy as np

from regard.analysis.engines.questions import Quantity, Question
from regard.analysis.engines.sampling import Draws, SamplingRun, estimates
from regard.analysis.gaussian_keys import GaussianKeys, Lookup, require_memory
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.axes import Float
from regard.core.estimate import Estimate
from regard.core.random_streams import stream


def answer(
    lookup: Lookup, question: Question, *, draws: int = 10_000, seed: int = 0, confidence: float = 0.999
) -> Estimate:
    """The answer up to sampling error, from keys drawn in key space.

    >>> from regard.analysis.engines import Mean, weight
    >>> from regard.analysis.scenarios import course_keys, one_head
    >>> answer(course_keys(n=10).in_key_space(one_head(5.0)), Mean(of=weight("a")), seed=1).contains(0.494699341579)
    True
    """
    return answers(lookup, [question], draws=draws, seed=seed, confidence=confidence)[0]


def answers(
    lookup: Lookup, questions: Sequence[Question], *, draws: int = 10_000, seed: int = 0, confidence: float = 0.999
) -> tuple[Estimate, ...]:
    """Several answers from the same draws."""
    keys = lookup.keys
    numbers = keys.num_keys * (keys.width + keys.factors.shape[2])
    require_memory(
        3 * numbers,
        what=f"One draw of {keys.num_keys} keys of width {keys.width}",
        instead="Use monte_carlo with `lookup.logits()`: it needs no key space.",
    )
    outline = _outline(lookup)
    run = SamplingRun(method="direct", draws=draws, seed=seed, confidence=confidence, numbers_per_draw=numbers)
    center = _read(keys.means[None], lookup, outline)
    return estimates(outline, questions, lambda *block: _sample(lookup, outline, *block), center, run)


def values(
    lookup: Lookup, quantity: Quantity, *, draws: int = 5_000, seed: int = 0, given: Deviation | None = None
) -> Float[np.ndarray, " draw"]:
    """Independent draws of a quantity, for a histogram."""
    outline = _outline(lookup)
    quantity.heads(outline)
    return _sample(lookup, outline, stream(seed, "direct", "values"), draws, given).values(quantity, outline)


def _outline(lookup: Lookup) -> LogitLaw:
    """Names, counts, heads and own variances, against which questions are checked; its logits are never drawn."""
    keys = lookup.keys
    if not keys.is_normalised:
        lookup.logits()  # raises an InputError if keys of the same name differ in law
    names = tuple(dict.fromkeys(keys.names))
    leaders = [keys.names.index(name) for name in names]
    return LogitLaw(
        names=names,
        counts=tuple(np.bincount([names.index(name) for name in keys.names]).tolist()),
        means=(keys.means[leaders] @ lookup.queries.T).tolist(),
        directions=[[[0.0]] * len(lookup.queries)] * len(names),
        variances=[[keys.own_variance(leader)] for leader in leaders],
    )


def _sample(
    lookup: Lookup, outline: LogitLaw, rng: np.random.Generator, num_draws: int, given: Deviation | None
) -> Draws:
    """Weights from independent sets of keys; sets that fail the condition are discarded."""
    accepted: list[np.ndarray] = []
    while sum(map(len, accepted)) < num_draws:
        drawn = _draw_keys(lookup.keys, rng, num_draws)
        if given is not None:
            own = _own_deviation(drawn, lookup.keys)[:, lookup.keys.names.index(given.group)]
            drawn = drawn[(given.lower <= own) & (own <= given.upper)]
        accepted.append(drawn)
    return _read(np.concatenate(accepted)[:num_draws], lookup, outline)


def _draw_keys(keys: GaussianKeys, rng: np.random.Generator, num_draws: int) -> Float[np.ndarray, "draw key width"]:
    """k = μ + √noise·ε + F η with standard normal ε and η."""
    drawn = rng.standard_normal((num_draws, keys.num_keys, keys.width))
    drawn *= np.sqrt(keys.noise)[:, None]
    drawn += keys.means
    inner = rng.standard_normal((num_draws, keys.num_keys, keys.factors.shape[2]))
    return drawn + np.einsum("kwr,bkr->bkw", keys.factors, inner)


def _own_deviation(drawn: Float[np.ndarray, "draw key width"], keys: GaussianKeys) -> Float[np.ndarray, "draw key"]:
    """δ = μᵀ(k − μ)/‖μ‖², zero for a key whose mean is zero."""
    squared_norms = (keys.means**2).sum(axis=1)
    along = np.einsum("bkw,kw->bk", drawn - keys.means, keys.means)
    return np.divide(along, squared_norms, out=np.zeros_like(along), where=squared_norms > 0)


def _read(drawn: Float[np.ndarray, "draw key width"], lookup: Lookup, outline: LogitLaw) -> Draws:
    """The attention of every query over every drawn set of keys, summed by name."""
    keys = lookup.keys
    seen = drawn / np.linalg.norm(drawn, axis=2, keepdims=True) if keys.is_normalised else drawn
    logits = seen @ lookup.queries.T
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    leaders = [keys.names.index(name) for name in outline.names]
    places = {name: place for place, name in enumerate(outline.names)}
    membership = np.eye(len(places))[:, [places[name] for name in keys.names]]
    return Draws(
        first=weights[:, leaders].transpose(1, 2, 0),
        total=np.einsum("gk,bkh->ghb", membership, weights),
        overlap=np.einsum("bkh,bkg->hgb", weights, weights),
        deviation=_own_deviation(drawn, keys)[:, leaders].T,
    )
