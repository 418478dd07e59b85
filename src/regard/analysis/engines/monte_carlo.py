"""Answers by sampling logits: any law, bounded memory, an interval at a stated confidence."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regard.analysis.engines.questions import Quantity, Question
from regard.analysis.engines.sampling import Draws, SamplingRun, estimates
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.axes import Bool, Float
from regard.core.estimate import Estimate
from regard.core.random_streams import stream

_NUMBERS_PER_CHUNK = 2**15


def answer(
    law: LogitLaw, question: Question, *, draws: int = 100_000, seed: int = 0, confidence: float = 0.999
) -> Estimate:
    """The answer up to sampling error, with an interval that is correct with probability `confidence`.

    >>> from regard.analysis.engines import Mean, weight
    >>> from regard.analysis.scenarios import course_keys, one_head
    >>> answer(course_keys(n=10).logits(one_head(5.0)), Mean(of=weight("a")), seed=1).contains(0.494699341579)
    True
    """
    return answers(law, [question], draws=draws, seed=seed, confidence=confidence)[0]


def answers(
    law: LogitLaw, questions: Sequence[Question], *, draws: int = 100_000, seed: int = 0, confidence: float = 0.999
) -> tuple[Estimate, ...]:
    """Several answers from the same draws; each interval has the stated confidence on its own."""
    arrays = LawArrays.of(law)
    run = SamplingRun(
        method="monte_carlo", draws=draws, seed=seed, confidence=confidence, numbers_per_draw=numbers_per_draw(arrays)
    )
    return estimates(law, questions, lambda *block: sample(arrays, *block), noiseless(arrays), run)


def values(
    law: LogitLaw, quantity: Quantity, *, draws: int = 20_000, seed: int = 0, given: Deviation | None = None
) -> Float[np.ndarray, " draw"]:
    """Independent draws of a quantity, for a histogram."""
    quantity.heads(law)
    if given is not None:
        law.check_condition(given)
    return sample(LawArrays.of(law), stream(seed, "monte_carlo", "values"), draws, given).values(quantity, law)


@dataclass(frozen=True, kw_only=True, eq=False)
class LawArrays:
    """The numbers of a LogitLaw as arrays."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    means: Float[np.ndarray, "group head"]
    directions: Float[np.ndarray, "group head rank"]
    variances: Float[np.ndarray, "group rank"]
    normalized: frozenset[str]

    @classmethod
    def of(cls, law: LogitLaw) -> "LawArrays":
        """The arrays of this law."""
        shape = (len(law.names), law.num_heads, law.rank)
        return cls(
            names=law.names,
            counts=law.counts,
            means=np.array(law.means, dtype=np.float64),
            directions=np.array(law.directions, dtype=np.float64).reshape(shape),
            variances=np.array(law.variances, dtype=np.float64).reshape(shape[0], shape[2]),
            normalized=law.normalized,
        )

    @property
    def num_heads(self) -> int:
        """Number of heads, one query each."""
        return self.means.shape[1]

    @cached_property
    def singles(self) -> list[int]:
        """Groups of one key."""
        return [group for group, count in enumerate(self.counts) if count == 1]

    @cached_property
    def is_random(self) -> Bool[np.ndarray, "group rank"]:
        """True for each deviation to draw: those that move a logit, and the own one of a named key."""
        moves = np.any(self.directions != 0, axis=1)
        is_own_of_single = np.zeros_like(moves)
        is_own_of_single[self.singles, :1] = True
        return (moves | is_own_of_single) & (self.variances > 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sums:
    """Σ exp(z − top) over the keys of each group, their products over heads, and the first key's term."""

    top: Float[np.ndarray, "group head draw"]
    first: Float[np.ndarray, "group head draw"]
    total: Float[np.ndarray, "group head draw"]
    cross: Float[np.ndarray, "group head head draw"]


def numbers_per_draw(law: LawArrays) -> int:
    """How many numbers a draw needs: noise and logits of the random keys, and the sums of each group."""
    ranks = law.is_random.sum(axis=1).tolist()
    noise = sum(count * (rank + law.num_heads) for count, rank in zip(law.counts, ranks, strict=True) if rank)
    return noise + len(law.names) * law.num_heads**2


def noiseless(law: LawArrays) -> Draws:
    """The weights when every key is at its mean."""
    still = replace(law, variances=np.zeros_like(law.variances), normalized=frozenset())
    return sample(still, np.random.default_rng(0), 1, None)


def sample(law: LawArrays, rng: np.random.Generator, num_draws: int, given: Deviation | None) -> Draws:
    """Independent draws of the weights of all keys under all heads, given a condition."""
    deviations = np.zeros((*law.variances.shape, num_draws))
    deviations[law.singles] = _single_deviations(law, rng, num_draws, given)
    logits = np.repeat(law.means[:, :, None], num_draws, axis=2)
    for group, column in np.argwhere(law.is_random).tolist():
        if law.counts[group] == 1:
            seen = _seen(law, group, deviations[group, column])
            logits[group] += np.multiply.outer(law.directions[group, :, column], seen)
    ones = np.ones_like(logits)
    cross = np.ones((len(law.counts), law.num_heads, law.num_heads, num_draws))
    sums = _Sums(top=logits, first=ones, total=ones.copy(), cross=cross)
    for group, count in enumerate(law.counts):
        if count > 1:
            _fill_group(law, group, rng, sums)
    own = deviations[:, 0] if law.variances.shape[1] else np.zeros((len(law.counts), num_draws))
    return _weights(sums, own)


def _single_deviations(
    law: LawArrays, rng: np.random.Generator, num_draws: int, given: Deviation | None
) -> Float[np.ndarray, "single rank draw"]:
    """Deviations of the keys that are alone in their group, redrawn until the condition holds."""
    columns = law.is_random[law.singles]
    spreads = np.sqrt(law.variances[law.singles][columns])
    deviations = np.zeros((*columns.shape, num_draws))
    deviations[columns] = rng.standard_normal((len(spreads), num_draws)) * spreads[:, None]
    place = None if given is None else law.names.index(given.group)
    if given is not None and place is not None and law.is_random[place, :1].any():
        own, spread = deviations[law.singles.index(place), 0], np.sqrt(law.variances[place, 0])
        while len(outside := np.flatnonzero(~((given.lower <= own) & (own <= given.upper)))):
            own[outside] = rng.standard_normal(len(outside)) * spread
    return deviations


def _seen(law: LawArrays, group: int, deviation: Float[np.ndarray, "*draws"]) -> Float[np.ndarray, "*draws"]:
    """The deviation that queries see: sign(1 + δ) − 1 if the key was divided by its norm, otherwise δ."""
    return np.sign(1 + deviation) - 1 if law.names[group] in law.normalized else deviation


def _fill_group(law: LawArrays, group: int, rng: np.random.Generator, sums: _Sums) -> None:
    """Computes the sums over a group of several keys, one chunk of keys at a time, rescaling as the maximum rises."""
    columns = np.flatnonzero(law.is_random[group])
    count, num_draws = law.counts[group], sums.top.shape[2]
    if len(columns) == 0:
        sums.total[group], sums.cross[group] = count, count
        return
    sums.top[group], sums.total[group], sums.cross[group] = -np.inf, 0.0, 0.0
    chunk = min(max(_NUMBERS_PER_CHUNK // num_draws, 1), count)
    # Allocated once, the buffer stays in the processor's cache from chunk to chunk.
    buffer = np.empty((len(columns) + 1 + law.num_heads, num_draws * chunk))
    for start in range(0, count, chunk):
        size = min(chunk, count - start)
        arrays = buffer[:, : num_draws * size].reshape(-1, num_draws, size)
        noise, logits = arrays[: len(columns) + 1], arrays[len(columns) + 1 :]
        _draw_logits(law, group, rng, noise, logits)
        _add_chunk(logits, group, sums, is_first=start == 0)


def _draw_logits(
    law: LawArrays,
    group: int,
    rng: np.random.Generator,
    noise: Float[np.ndarray, "column draw key"],
    logits: Float[np.ndarray, "head draw key"],
) -> None:
    """Fills in the logits of some keys of a group; the last column of the noise is scratch space."""
    *deviations, product = noise
    columns = np.flatnonzero(law.is_random[group])
    spreads = np.sqrt(law.variances[group, columns])
    for each in deviations:
        rng.standard_normal(out=each)
    if law.names[group] in law.normalized:
        deviations[0][...] = _seen(law, group, spreads[0] * deviations[0])
        spreads = np.ones(1)
    for head, logit in enumerate(logits):
        logit[...] = law.means[group, head]
        for column, spread, each in zip(columns, spreads, deviations, strict=True):
            if slope := law.directions[group, head, column] * spread:
                np.add(logit, np.multiply(each, slope, out=product), out=logit)


def _add_chunk(logits: Float[np.ndarray, "head draw key"], group: int, sums: _Sums, *, is_first: bool) -> None:
    """Adds a chunk of keys to the sums of a group; overwrites the logits with exp(z − top)."""
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
    """Softmax over all groups: the sums of each group, rescaled to the common maximum and normalized."""
    shrink = np.exp(sums.top - sums.top.max(axis=0))
    shrink /= (sums.total * shrink).sum(axis=0)
    return Draws(
        first=sums.first * shrink,
        total=sums.total * shrink,
        overlap=(sums.cross * shrink[:, :, None] * shrink[:, None]).sum(axis=0),
        deviation=deviation,
    )
