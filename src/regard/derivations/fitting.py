"""The question that a formula without a heading belongs to: the one whose symbols fit it, or the one before."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.derivations.formulas import plain
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import Symbol, describe, symbols
from regard.derivations.problems.model import Problem, Question
from regard.derivations.questions import Stay, fit, is_numbered

_CLEARLY_BETTER = 0.04
_MUCH_BETTER = 0.1
_MOST_ALTERNATIVES = 3


@dataclass(kw_only=True)
class Follower:
    """Follows a document from formula to formula; remembers the question it was at, and the symbols it introduced."""

    problem: Problem
    question: Question | None = None
    home: Question | None = None
    own: set[Symbol] = field(default_factory=set)
    _variants: dict[str, Question] = field(init=False, default_factory=dict)

    def follow(self, chains: Sequence[Chain]) -> tuple[Question | None, tuple[Question, ...]]:
        """The question whose symbols fit a formula best, and others that fit nearly as well.

        The question before stays unless another fits clearly better. A document that has strayed from the question of
        its latest design, by a symbol that belongs elsewhere, comes back as soon as that question fits again.
        """
        expressions = [side for chain in chains for side in map(plain, chain.sides) if side is not None]
        near: tuple[Question, ...] = ()
        if expressions:
            scores = fit(expressions, self.problem, Stay(question=self.question, own=frozenset(self.own)))
            near = tuple(question for score, question in scores if score >= scores[0][0] - _CLEARLY_BETTER)
            self.question = self.question if self.question in near else scores[0][1]
            if self.home in near and self.question is not None and not _are_parts(self.home, self.question):
                self.question = self.home
        self.home = self.question if _has_design(chains, self.question) else self.home
        self.own |= _introduced(chains)
        others = [question for question in near if question is not self.question][:_MOST_ALTERNATIVES]
        if self.home is not None and self.home is not self.question and self.home not in others:
            others.append(self.home)
        return self.question, tuple(others)

    def varied(
        self, question: Question, others: tuple[Question, ...], chains: Sequence[Chain]
    ) -> tuple[Question, tuple[Question, ...]]:
        """The question of a heading, or a variant of it that fits a formula much better, and others that may be meant.

        Once a section has turned to a variant, its other formulas may belong there too.
        """
        other = _variant(question, self.problem, chains)
        if other is not None:
            self._variants[question.id] = other
            return other, (question, *others)
        known = self._variants.get(question.id)
        return question, others if known is None else (*others, known)


def _variant(question: Question, problem: Problem, chains: Sequence[Chain]) -> Question | None:
    """A variant of the question, which only its title would open, whose symbols fit a formula much better."""
    variants = [other for other in problem.questions if _are_parts(question, other) and not is_numbered(other)]
    expressions = [side for chain in chains for side in map(plain, chain.sides) if side is not None]
    if not expressions or not variants or question in variants:
        return None
    scores = {id(other): score for score, other in fit(expressions, problem)}
    best = max(variants, key=lambda other: scores[id(other)])
    return best if scores[id(best)] > scores[id(question)] + _MUCH_BETTER else None


def _are_parts(one: Question | None, other: Question) -> bool:
    """True for two parts of one question, which share what was designed."""
    return one is not None and one.path[:2] == other.path[:2]


def _has_design(chains: Sequence[Chain], question: Question | None) -> bool:
    """True if a formula fills in what a question leaves open."""
    if question is None or question.design is None:
        return False
    lefts = (plain(chain.sides[0]) for chain in chains if chain.signs[0].text == "=")
    return any(isinstance(left, Symbol) and describe(left) in question.design.symbols for left in lefts)


def _introduced(chains: Sequence[Chain]) -> set[Symbol]:
    """Symbols that a formula defines, and the bare letters on the other side: the q and t of q = t(k_a + k_b)."""
    found: set[Symbol] = set()
    for chain in chains:
        left, right = plain(chain.sides[0]), plain(chain.sides[1])
        if isinstance(left, Symbol) and chain.signs[0].text == "=":
            found.add(left)
            found |= {symbol for symbol in symbols(right) if not symbol.subscripts} if right is not None else set()
    return found
