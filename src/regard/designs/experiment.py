"""A design among random keys; each question about it is answered by the best engine: certified, else sampled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from regard.analysis.engines import Question, SquaredError, Within, certified, coefficient
from regard.analysis.engines.approximate import OutputGrid
from regard.analysis.scenarios import CourseKeys, Deviation, LogitLaw, QueryDesign
from regard.core.errors import InputError, NotCertifiable
from regard.core.estimate import Estimate

_MIN_DRAWS = 1_000
# How many times finer the grid is for a histogram.
_HISTOGRAM_FINENESS = 8
# A draw of whole keys costs n times as much as a draw of logits, so there are fewer of them.
_DRAWS_PER_WHOLE_KEY = 10
# What a report samples: its heads, its output, and the output at about twenty scales.
_NUM_RUNS = 25
_NUMBERS_PER_SECOND = 5e7
_MAX_SECONDS = 1800.0
_MAX_DRAWS_SUGGESTED = 10**7


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How to sample what cannot be certified.

    Args:
        draws: the number of random draws.
        seed: their seed.
        confidence: the probability with which an interval contains the true value.
    """

    draws: int = 100_000
    seed: int = 0
    confidence: float = 0.999

    def __post_init__(self) -> None:
        if self.draws < _MIN_DRAWS or self.seed < 0:
            raise InputError(
                f"Cannot use {self.draws} draws with seed {self.seed}. Use at least {_MIN_DRAWS} draws, and a seed ≥ 0."
            )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A design among its random keys, under a condition on them, and how near the output should be to a target."""

    keys: CourseKeys
    design: QueryDesign
    given: Deviation | None
    sampling: Sampling
    target: Mapping[str, float]
    epsilon: float

    @property
    def has_gaussian_logits(self) -> bool:
        """True unless noisy keys are normalized."""
        return not (self.keys.is_normalized and self.keys.alpha > 0)

    @cached_property
    def law(self) -> LogitLaw:
        """The law of the logits."""
        return self.keys.logits(self.design)

    @cached_property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Names of the keys that differ in law, and how many there are of each."""
        named = self.keys.names(self.design)
        rest = self.keys.n - len(named)
        return (*((name, 1) for name in named), *((("other", rest),) if rest else ()))

    def scaled(self, factor: float) -> "Experiment":
        """The same with every query multiplied by the factor."""
        rows = {name: tuple(factor * x for x in row) for name, row in self.design.coefficients.items()}
        return self.with_design(QueryDesign(coefficients=rows))

    def with_design(self, design: QueryDesign) -> "Experiment":
        """Another design among the same keys."""
        return replace(self, design=design)

    @property
    def squared_error(self) -> SquaredError:
        """Asks for the expected squared distance from the target."""
        return SquaredError(target=self.target)

    @property
    def within(self) -> Within:
        """Asks for the probability of being near the target."""
        return Within(target=self.target, radius=self.epsilon)

    # -- exact answers, or answers with intervals
    def answer(self, question: Question) -> Estimate:
        """The answer to one question."""
        return self.answers([question])[0]

    def answers(self, questions: Sequence[Question]) -> tuple[Estimate, ...]:
        """The answers: certified where each question allows it, the rest from the same draws."""
        conditional = [replace(question, given=self.given) for question in questions]
        found = self._certified(conditional)
        left = [question for question, answer in zip(conditional, found, strict=True) if answer is None]
        sampled = iter(self._sampled(left) if left else ())
        return tuple(next(sampled) if answer is None else answer for answer in found)

    def _certified(self, questions: Sequence[Question]) -> list[Estimate | None]:
        if not self.has_gaussian_logits:
            return [None for _ in questions]
        try:
            return list(certified.answers(self.law, questions))
        except NotCertifiable:
            alone = [[question] for question in questions] if len(questions) > 1 else []
            return [found for each in alone for found in self._certified(each)] or [None]

    def _sampled(self, questions: Sequence[Question]) -> tuple[Estimate, ...]:
        self._check_duration()
        engine, law, draws = self._sampler(self.sampling.draws)
        return engine.answers(law, questions, draws=draws, seed=self.sampling.seed, confidence=self.sampling.confidence)

    def _sampler(self, draws: int) -> tuple[Any, Any, int]:
        """The engine, what it draws from and how often: logits where their law is known, else whole keys."""
        # Sampling needs numpy, which takes longer to import than a certified design takes in all.
        from regard.analysis.engines import direct, monte_carlo

        if self.has_gaussian_logits:
            return monte_carlo, self.law, draws
        return direct, self.keys.in_key_space(self.design), -(-draws // _DRAWS_PER_WHOLE_KEY)

    def _check_duration(self) -> None:
        """Refuses a design whose draws would take too long, before the first of them."""
        from regard.analysis.engines.monte_carlo import LawArrays, numbers_per_draw

        n, draws = self.keys.n, self.sampling.draws
        if self.has_gaussian_logits:
            numbers, what = draws * numbers_per_draw(LawArrays.of(self.law)), "draws of all logits"
        else:
            numbers, what = draws // _DRAWS_PER_WHOLE_KEY * n * n, f"draws of whole keys, {n} numbers each,"
        seconds = _NUM_RUNS * numbers / _NUMBERS_PER_SECOND
        if seconds > _MAX_SECONDS:
            fewer = min(int(draws * _MAX_SECONDS / seconds), _MAX_DRAWS_SUGGESTED)
            raise InputError(
                f"n = {n} noisy keys need {draws} {what} at about {_NUM_RUNS} scales: {seconds / 3600:.3g} hours. "
                + (f"Use --draws {fewer}, or fewer keys." if fewer >= _MIN_DRAWS else "Use fewer keys.")
            )

    # -- approximations, for plots and the start of a search
    def grid(self, factor: float = 1.0, *, fineness: int = 1) -> OutputGrid | None:
        """The output on a grid, None unless only one direction is random."""
        return OutputGrid.of(self.law, self.given, factor, fineness=fineness) if self.has_gaussian_logits else None

    def approximate(self, factor: float, *, draws: int) -> tuple[float, float]:
        """About the squared error and the probability of being near the target, every query multiplied."""
        grid = self.grid(factor)
        if grid is not None:
            squares = grid.squared_distances(self.target)
            return grid.mean(squares), grid.probability(squares, at_most=self.epsilon**2)
        rough = replace(self.scaled(factor), sampling=replace(self.sampling, draws=draws))
        asked = (self.squared_error, self.within)
        error, probability = rough._sampled([replace(question, given=self.given) for question in asked])
        return error.value, probability.value

    def histogram(self, key: str, num_bins: int, *, draws: int) -> list[float]:
        """About how likely the key's coefficient in the output lies in each of the equal parts of [0, 1]."""
        grid = self.grid(fineness=_HISTOGRAM_FINENESS)
        if grid is not None:
            return grid.histogram(key, num_bins)
        import numpy as np

        engine, law, draws = self._sampler(draws)
        values = engine.values(law, coefficient(key), draws=draws, seed=self.sampling.seed, given=self.given)
        counts, _ = np.histogram(np.clip(values, 0, 1), bins=num_bins, range=(0, 1))
        return (counts / len(values)).tolist()
