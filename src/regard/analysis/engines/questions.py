"""Questions that every engine answers, as values.

`answer(law, question)` of each engine gives an Estimate. Every question takes `given`, a condition on a key.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from regard.analysis.engines.quantities import Quantity
from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Mean:
    """E Q."""

    of: Quantity
    given: Deviation | None = None


@dataclass(frozen=True, kw_only=True)
class Variance:
    """E (Q − E Q)²."""

    of: Quantity
    given: Deviation | None = None


@dataclass(frozen=True, kw_only=True)
class RawMoment:
    """E Q^order."""

    of: Quantity
    order: int
    given: Deviation | None = None

    def __post_init__(self) -> None:
        if self.order < 1:
            raise InputError(f"A moment of order {self.order} says nothing. Ask for order 1 or more.")


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """The smallest x with P(Q ≤ x) ≥ level."""

    of: Quantity
    level: float
    given: Deviation | None = None

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise InputError(f"The level {self.level} of a quantile must lie strictly between 0 and 1.")


@dataclass(frozen=True, kw_only=True)
class Probability:
    """P(at_least ≤ Q ≤ at_most)."""

    of: Quantity
    at_least: float = -math.inf
    at_most: float = math.inf
    given: Deviation | None = None

    def __post_init__(self) -> None:
        if not self.at_least <= self.at_most:
            raise InputError(f"No value is at least {self.at_least} and at most {self.at_most}. Swap the bounds.")


@dataclass(frozen=True, kw_only=True)
class Chance:
    """P(δ between the bounds): the probability of the very condition that others are `given`."""

    of: Deviation
    given: None = None


@dataclass(frozen=True, kw_only=True)
class SquaredError:
    """E ‖c − Σ_i target_i v_i‖² for orthonormal values; each key of a group has the group's target, zero if unnamed."""

    target: Mapping[str, float]
    given: Deviation | None = None

    def __post_init__(self) -> None:
        if not all(math.isfinite(number) for number in self.target.values()):
            raise InputError(f"The target {dict(self.target)} is not finite. Give each group a finite coefficient.")


@dataclass(frozen=True, kw_only=True)
class Within:
    """P(‖c − Σ_i target_i v_i‖ ≤ radius) for orthonormal values; targets as in SquaredError."""

    target: Mapping[str, float]
    radius: float
    given: Deviation | None = None

    def __post_init__(self) -> None:
        if not all(math.isfinite(number) for number in self.target.values()):
            raise InputError(f"The target {dict(self.target)} is not finite. Give each group a finite coefficient.")
        if not 0 <= self.radius < math.inf:
            raise InputError(f"The radius {self.radius} is no distance: it must be finite and not negative.")


@dataclass(frozen=True, kw_only=True)
class TotalVariance:
    """tr Cov(c) for orthonormal values: the sum over all keys of the variance of their coefficient in c."""

    given: Deviation | None = None


@dataclass(frozen=True, kw_only=True)
class Covariance:
    """E (Q − E Q)(R − E R)."""

    between: tuple[Quantity, Quantity]
    given: Deviation | None = None


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Cov(Q, R)/√(Var Q · Var R)."""

    between: tuple[Quantity, Quantity]
    given: Deviation | None = None


Question = (
    Mean
    | Variance
    | RawMoment
    | Quantile
    | Probability
    | Chance
    | SquaredError
    | Within
    | TotalVariance
    | Covariance
    | Correlation
)


def heads_of(question: Question, law: LogitLaw) -> tuple[int, ...]:
    """Heads that the answer depends on."""
    match question:
        case Covariance(between=pair) | Correlation(between=pair):
            return tuple(sorted({head for quantity in pair for head in quantity.heads(law)}))
        case SquaredError() | Within() | TotalVariance():
            return tuple(range(law.num_heads))
        case Chance():
            return (0,)
        case _:
            return question.of.heads(law)


def check_question(question: Question, law: LogitLaw) -> None:
    """Refuses a question that names keys or heads that the law lacks, or conditions on what never happens."""
    heads_of(question, law)
    if isinstance(question, SquaredError | Within):
        for group in question.target:
            law.index(group)
    if isinstance(question, Chance):
        law.check_condition(Deviation(group=question.of.group))
    elif question.given is not None:
        law.check_condition(question.given)
