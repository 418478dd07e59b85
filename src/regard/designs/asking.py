"""Questions about a design, each answered by the best engine that can: certified, else sampled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from regard.analysis.engines import Question, SquaredError, Within, certified, coefficient
from regard.analysis.scenarios import CourseKeys, Deviation, LogitLaw, QueryDesign
from regard.core.errors import InputError, NotCertifiable
from regard.core.estimate import Estimate
from regard.designs.rough import Look

FEWEST_DRAWS = 1_000
# How many times finer than a glance a histogram looks.
_FINE = 8


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How to sample what cannot be certified."""

    draws: int = 100_000
    seed: int = 0
    confidence: float = 0.999

    def __post_init__(self) -> None:
        if self.draws < FEWEST_DRAWS or self.seed < 0:
            raise InputError(
                f"{self.draws} draws with seed {self.seed} cannot be. Give at least {FEWEST_DRAWS}, and a seed ≥ 0."
            )


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A design among its random keys, ready to be asked."""

    keys: CourseKeys
    design: QueryDesign
    given: Deviation | None
    sampling: Sampling

    @property
    def has_law(self) -> bool:
        """True unless the logits are no longer Gaussian: noisy keys that are normalised."""
        return not (self.keys.is_normalised and self.keys.alpha > 0)

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

    def scaled(self, factor: float) -> "Bench":
        """The same with every query multiplied."""
        rows = {name: tuple(factor * x for x in row) for name, row in self.design.coefficients.items()}
        return replace(self, design=QueryDesign(coefficients=rows))

    def instead(self, design: QueryDesign) -> "Bench":
        """Another design among the same keys."""
        return replace(self, design=design)

    def answer(self, question: Question) -> Estimate:
        """The answer to one question."""
        return self.answers([question])[0]

    def answers(self, questions: Sequence[Question]) -> tuple[Estimate, ...]:
        """The answers: certified where each question allows it, the rest from the same draws."""
        asked = [replace(question, given=self.given) for question in questions]
        if not self.has_law:
            return self._sampled(asked)
        found = self._certified(asked)
        left = [question for question, answer in zip(asked, found, strict=True) if answer is None]
        rest = iter(self._sampled(left) if left else ())
        return tuple(next(rest) if answer is None else answer for answer in found)

    def sampled(self, questions: Sequence[Question], *, draws: int) -> tuple[Estimate, ...]:
        """Quick answers, from the same draws at every scale."""
        rough = replace(self, sampling=replace(self.sampling, draws=draws))
        return rough._sampled([replace(question, given=self.given) for question in questions])

    def look(self, factor: float = 1.0, *, fineness: int = 1) -> Look | None:
        """A quick look without draws, where only one direction is random."""
        return Look.at(self.law, self.given, factor, fineness=fineness) if self.has_law else None

    def glance(self, factor: float, target: Mapping[str, float], radius: float, *, draws: int) -> tuple[float, float]:
        """About the squared error and the chance of being within the radius, every query multiplied by the factor."""
        look = self.look(factor)
        if look is not None:
            squares = look.squared_distances(target)
            return look.mean(squares), look.chance(squares, at_most=radius**2)
        questions = [SquaredError(target=target), Within(target=target, radius=radius)]
        error, chance = self.scaled(factor).sampled(questions, draws=draws)
        return error.value, chance.value

    def histogram(self, key: str, num_bins: int, *, draws: int) -> list[float]:
        """About how likely the key's coefficient in the output lies in each part of [0, 1]."""
        look = self.look(fineness=_FINE)
        if look is not None:
            return look.histogram(key, num_bins)
        from regard.designs import drawing

        return drawing.histogram(self, coefficient(key), num_bins, draws=draws)

    def _certified(self, questions: Sequence[Question]) -> list[Estimate | None]:
        try:
            return list(certified.answers(self.law, questions))
        except NotCertifiable:
            return [self._certified_alone(question) for question in questions]

    def _certified_alone(self, question: Question) -> Estimate | None:
        try:
            return certified.answer(self.law, question)
        except NotCertifiable:
            return None

    def _sampled(self, questions: Sequence[Question]) -> tuple[Estimate, ...]:
        # Draws need numpy, which takes longer to import than a certified design takes in all.
        from regard.designs import drawing

        return drawing.answers(self, questions)
