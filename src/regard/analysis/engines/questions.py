"""Questions about attention weights, as values that every engine can answer.

A `Quantity` is a weight or a coefficient; a question asks for its mean, variance, probability and so on.
`answer(law, question)` of each engine gives an Estimate. Every question takes `given`, a condition on a key.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from regard.analysis.scenarios import Deviation, LogitLaw
from regard.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """The weight of one key of a group, under one head or averaged over the heads: a number between 0 and 1.

    The output is c = (1/H) Σ_h Σ_i w_i^h v_i, so the coefficient of v_i in c is its weight averaged over the heads.

    >>> str(weight("a")), str(coefficient("b"))
    ('w[a, head 0]', 'c[b]')
    """

    group: str
    head: int | None

    def heads(self, law: LogitLaw) -> tuple[int, ...]:
        """The heads that the quantity depends on; InputError for a key or head that the law does not have."""
        law.index(self.group)
        if self.head is None:
            return tuple(range(law.num_heads))
        if not 0 <= self.head < law.num_heads:
            raise InputError(f"{self} asks for head {self.head}, but the law has {law.num_heads}. Heads count from 0.")
        return (self.head,)

    def __str__(self) -> str:
        return f"c[{self.group}]" if self.head is None else f"w[{self.group}, head {self.head}]"


def weight(group: str, head: int = 0) -> Quantity:
    """The weight of one key of a group under a head; heads count from 0."""
    return Quantity(group=group, head=head)


def coefficient(group: str) -> Quantity:
    """The coefficient of one key's value in the output c: its weight averaged over the heads."""
    return Quantity(group=group, head=None)


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
class ConditionProbability:
    """P(lower ≤ δ ≤ upper): the probability of a condition that other questions may be `given`."""

    of: Deviation
    given: None = None


@dataclass(frozen=True, kw_only=True)
class SquaredError:
    """E ‖c − Σ_i target_i v_i‖² for orthonormal values; groups without a target have target 0."""

    target: Mapping[str, float]
    given: Deviation | None = None

    def __post_init__(self) -> None:
        _check_target(self.target)


@dataclass(frozen=True, kw_only=True)
class Within:
    """P(‖c − Σ_i target_i v_i‖ ≤ radius) for orthonormal values; targets as in SquaredError."""

    target: Mapping[str, float]
    radius: float
    given: Deviation | None = None

    def __post_init__(self) -> None:
        _check_target(self.target)
        if not 0 <= self.radius < math.inf:
            raise InputError(f"The radius {self.radius} is not a distance: it must be finite and not negative.")


@dataclass(frozen=True, kw_only=True)
class TotalVariance:
    """tr Cov(c) for orthonormal values: the variances of all keys' coefficients in c, summed."""

    given: Deviation | None = None


Question = Mean | Variance | Quantile | Probability | ConditionProbability | SquaredError | Within | TotalVariance


def _check_target(target: Mapping[str, float]) -> None:
    if not all(map(math.isfinite, target.values())):
        raise InputError(f"The target {dict(target)} is not finite. Give each group a finite coefficient.")


def heads_of(question: Question, law: LogitLaw) -> tuple[int, ...]:
    """The heads that the answer depends on."""
    match question:
        case SquaredError() | Within() | TotalVariance():
            return tuple(range(law.num_heads))
        case ConditionProbability():
            return (0,)
        case _:
            return question.of.heads(law)


def check_question(question: Question, law: LogitLaw) -> None:
    """Raises an InputError if a question names a key or head that the law does not have, or an impossible condition."""
    heads_of(question, law)
    if isinstance(question, SquaredError | Within):
        for group in question.target:
            law.index(group)
    if isinstance(question, ConditionProbability):
        law.check_condition(Deviation(group=question.of.group))
    elif question.given is not None:
        law.check_condition(question.given)
