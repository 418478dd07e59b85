"""Draws from a law of logits: n·H numbers a draw, and only for the keys that are random."""

from dataclasses import dataclass, replace

import numpy as np

from regard.axes import Bool, Float, Int
from regard.engines.draws import Draws
from regard.scenarios import Deviation, LogitLaw

__all__ = ["noiseless", "numbers_per_draw", "sample"]

_NUMBERS_PER_CHUNK = 2**15


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sums:
    """Σ exp(z − top) over the keys of each group, their products over heads, and the first key's term."""

    top: Float[np.ndarray, "group head draw"]
    first: Float[np.ndarray, "group head draw"]
    total: Float[np.ndarray, "group head draw"]
    cross: Float[np.ndarray, "group head head draw"]


def numbers_per_draw(law: LogitLaw) -> int:
    """Numbers that a draw needs: the noise and logits of random keys, and the sums of each group."""
    ranks = _random_columns(law).sum(axis=1).tolist()
    noise = sum(count * (rank + law.num_heads) for count, rank in zip(law.counts, ranks, strict=True) if rank)
    return noise + len(law.names) * law.num_heads**2


def noiseless(law: LogitLaw) -> Draws:
    """The weights when every key sits at its mean."""
    still = replace(law, variances=np.zeros_like(law.variances), normalised=frozenset())
    return sample(still, np.random.default_rng(0), 1, None)


def sample(law: LogitLaw, rng: np.random.Generator, num_draws: int, given: Deviation | None) -> Draws:
    """Independent draws of the weights of all keys under all heads, given a condition."""
    counts = np.array(law.counts)
    singles, several = np.flatnonzero(counts == 1), np.flatnonzero(counts > 1)
    deviations = np.zeros((*law.variances.shape, num_draws))
    deviations[singles] = _single_deviations(law, singles, rng, num_draws, given)
    logits = np.repeat(law.means[:, :, None], num_draws, axis=2)
    for group, column in np.argwhere(_random_columns(law)).tolist():
        if counts[group] == 1:
            seen = _seen(law, group, deviations[group, column])
            logits[group] += np.multiply.outer(law.directions[group, :, column], seen)
    ones = np.ones_like(logits)
    cross = np.ones((len(counts), law.num_heads, law.num_heads, num_draws))
    sums = _Sums(top=logits, first=ones, total=ones.copy(), cross=cross)
    for group in several:
        _fill_group(law, int(group), rng, sums)
    own = deviations[:, 0] if law.variances.shape[1] else np.zeros((len(counts), num_draws))
    return _weights(sums, own)


def _random_columns(law: LogitLaw) -> Bool[np.ndarray, "group rank"]:
    """True for deviations to be drawn: those that move a logit, and a named key's own, which may be asked for."""
    moves = np.any(law.directions != 0, axis=1)
    is_own_of_single = np.equal.outer(law.counts, 1)[:, None] & (np.arange(law.variances.shape[1]) == 0)
    return (moves | is_own_of_single) & (law.variances > 0)


def _single_deviations(
    law: LogitLaw,
    singles: Int[np.ndarray, " single"],
    rng: np.random.Generator,
    num_draws: int,
    given: Deviation | None,
) -> Float[np.ndarray, "single rank draw"]:
    """Deviations of the keys that are alone in their group, redrawn where the condition fails."""
    columns = _random_columns(law)[singles]
    spreads = np.sqrt(law.variances[singles][columns])
    deviations = np.zeros((*columns.shape, num_draws))
    deviations[columns] = rng.standard_normal((len(spreads), num_draws)) * spreads[:, None]
    if given is not None and law.own_variance(given.group) > 0:
        own = deviations[list(singles).index(law.index(given.group)), 0]
        spread = np.sqrt(law.own_variance(given.group))
        while len(outside := np.flatnonzero(~((given.lower <= own) & (own <= given.upper)))):
            own[outside] = rng.standard_normal(len(outside)) * spread
    return deviations


def _seen(law: LogitLaw, group: int, deviation: Float[np.ndarray, "*draws"]) -> Float[np.ndarray, "*draws"]:
    """The deviation that queries see: sign(1 + δ) − 1 if the key was divided by its norm, else δ itself."""
    return np.sign(1 + deviation) - 1 if law.names[group] in law.normalised else deviation


def _fill_group(law: LogitLaw, group: int, rng: np.random.Generator, sums: _Sums) -> None:
    """Writes the sums over a group of several keys, a chunk of keys at a time, rescaled as the top rises."""
    columns = np.flatnonzero(_random_columns(law)[group])
    count, num_draws = law.counts[group], sums.top.shape[2]
    if len(columns) == 0:
        sums.total[group], sums.cross[group] = count, count
        return
    sums.top[group], sums.total[group], sums.cross[group] = -np.inf, 0.0, 0.0
    chunk = min(max(_NUMBERS_PER_CHUNK // num_draws, 1), count)
    # The arrays are made once and stay in the processor's cache from chunk to chunk.
    room = np.empty((len(columns) + 1 + law.num_heads, num_draws * chunk))
    for start in range(0, count, chunk):
        size = min(chunk, count - start)
        arrays = room[:, : num_draws * size].reshape(-1, num_draws, size)
        noise, logits = arrays[: len(columns) + 1], arrays[len(columns) + 1 :]
        _draw_logits(law, group, rng, noise, logits)
        _add_chunk(logits, group, sums, is_first=start == 0)


def _draw_logits(
    law: LogitLaw,
    group: int,
    rng: np.random.Generator,
    noise: Float[np.ndarray, "column draw key"],
    logits: Float[np.ndarray, "head draw key"],
) -> None:
    """Writes the logits of some keys of a group; the last column of the noise is room for products."""
    *deviations, product = noise
    columns = np.flatnonzero(_random_columns(law)[group])
    spreads = np.sqrt(law.variances[group, columns])
    for each in deviations:
        rng.standard_normal(out=each)
    if law.names[group] in law.normalised:
        deviations[0][...] = _seen(law, group, spreads[0] * deviations[0])
        spreads = np.ones(1)
    for head, logit in enumerate(logits):
        logit[...] = law.means[group, head]
        for column, spread, each in zip(columns, spreads, deviations, strict=True):
            if slope := law.directions[group, head, column] * spread:
                np.add(logit, np.multiply(each, slope, out=product), out=logit)


def _add_chunk(logits: Float[np.ndarray, "head draw key"], group: int, sums: _Sums, *, is_first: bool) -> None:
    """Adds a chunk of keys to a group's sums; overwrites the logits with exp(z − top)."""
    top = np.maximum(sums.top[group], logits.max(axis=2))
    shrink = np.exp(sums.top[group] - top)
    np.exp(np.subtract(logits, top[:, :, None], out=logits), out=logits)
    sums.top[group] = top
    sums.first[group] = logits[:, :, 0] if is_first else sums.first[group] * shrink
    sums.total[group] = sums.total[group] * shrink + logits.sum(axis=2)
    sums.cross[group] *= shrink[:, None] * shrink
    for left, x in enumerate(logits):
        for right, y in enumerate(logits):
            sums.cross[group, left, right] += np.einsum("bk,bk->b", x, y)


def _weights(sums: _Sums, deviation: Float[np.ndarray, "group draw"]) -> Draws:
    """Softmax over all groups: each group's sums brought to the common top and divided by the whole."""
    shrink = np.exp(sums.top - sums.top.max(axis=0))
    shrink /= (sums.total * shrink).sum(axis=0)
    return Draws(
        first=sums.first * shrink,
        total=sums.total * shrink,
        overlap=(sums.cross * shrink[:, :, None] * shrink[:, None]).sum(axis=0),
        deviation=deviation,
    )
