"""Questions about a design, each answered by the best engine that can: certified, else sampled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regard.axes import Float
from regard.designs.rough import Look
from regard.engines import Quantity, Question, certified
from regard.errors import InputError, NotCertifiable
from regard.estimate import Estimate
from regard.scenarios import CourseKeys, Deviation, LogitLaw, QueryDesign

__all__ = ["Bench", "Sampling"]

# A draw of whole keys costs n times as much as a draw of logits.
_DIRECT_SHARE = 10
_FEWEST_DRAWS = 1_000


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How to sample what cannot be certified."""

    draws: int = 100_000
    seed: int = 0
    confidence: float = 0.999

    def __post_init__(self) -> None:
        if self.draws < _FEWEST_DRAWS or self.seed < 0:
            raise InputError(
                f"{self.draws} draws with seed {self.seed} cannot be. Give at least {_FEWEST_DRAWS}, and a seed ≥ 0."
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

    def look(self, factor: float = 1.0, nodes: int = 2001) -> Look | None:
        """A quick look without draws, where only one direction is random."""
        return Look.at(self.law, self.given, factor, nodes) if self.has_law else None

    def values(self, quantity: Quantity, *, draws: int) -> Float[np.ndarray, " draw"]:
        """Draws of a quantity."""
        from regard.engines import direct, monte_carlo

        seed, given = self.sampling.seed, self.given
        if self.has_law:
            return monte_carlo.values(self.law, quantity, draws=draws, seed=seed, given=given)
        lookup = self.keys.in_key_space(self.design)
        return direct.values(lookup, quantity, draws=-(-draws // _DIRECT_SHARE), seed=seed, given=given)

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
        from regard.engines import direct, monte_carlo

        draws, seed, confidence = self.sampling.draws, self.sampling.seed, self.sampling.confidence
        if self.has_law:
            return monte_carlo.answers(self.law, questions, draws=draws, seed=seed, confidence=confidence)
        lookup, draws = self.keys.in_key_space(self.design), -(-draws // _DIRECT_SHARE)
        return direct.answers(lookup, questions, draws=draws, seed=seed, confidence=confidence)
