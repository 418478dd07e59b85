"""What a derivation is made of: chains of terms in the order of writing, under the question that they answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from derivations.planting.terms import Term, term
from derivations.planting.truth import Pair, Truth, truth_of, truth_of_pair
from derivations.planting.values import World, evaluate
from derivations.planting.worlds import SUBJECTS

Role = Literal["step", "design", "given"]
Goal = Callable[[World, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Chain:
    """a = b ≈ c: sides and the signs between them.

    A design is right if it reaches one of its goals. What the problem gives is never changed.
    """

    sides: tuple[Term, ...]
    signs: tuple[str, ...]
    role: Role = "step"
    condition: str | None = None
    goals: tuple[Goal, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Derivation:
    """A true derivation: nothing in it may be refuted. `opening` is what introduces it, by language."""

    name: str
    subject: str
    number: tuple[str, ...]
    title: str
    opening: Mapping[str, str]
    chains: tuple[Chain, ...]
    stands_alone: bool = False

    def truth(self, place: int, step: int) -> Truth:
        """Whether a step as it is written (the sides `step` and `step + 1` of a chain) is true."""
        chain = self.chains[place]
        return self.truth_with(place, step, chain.sides[step], chain.sides[step + 1])

    def truth_with(self, place: int, step: int, left: Term, right: Term) -> Truth:
        """Whether a step would be true with these sides."""
        chain, subject = self.chains[place], SUBJECTS[self.subject]
        if not chain.goals:
            return truth_of(left, chain.signs[step], right, subject)
        found = {truth_of_pair(_reached(goal, right), "≈", subject) for goal in chain.goals}
        return "true" if "true" in found else "unclear" if "unclear" in found else "false"


def _reached(goal: Goal, design: Term) -> Pair:
    return lambda world: goal(world, evaluate(design, world))


def chain(*parts: Term | int | str, where: str | None = None, role: Role = "step") -> Chain:
    """A chain from its sides and signs: `chain(x, "=", y, "≈", 0)`."""
    signs = tuple(str(part) for part in parts[1::2])
    sides = tuple(term(part) for part in parts[0::2] if not isinstance(part, str))
    assert len(sides) == len(signs) + 1
    return Chain(sides=sides, signs=signs, role=role, condition=where)


def given(*parts: Term | int | str, where: str | None = None) -> Chain:
    return chain(*parts, where=where, role="given")


def design(symbol: Term, value: Term, *goals: Goal) -> Chain:
    return Chain(sides=(symbol, value), signs=("=",), role="design", goals=goals)
