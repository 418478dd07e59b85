"""γ ∼ N(1, ½): checked where the problem says how γ is distributed, a new name for it where it is another letter."""

from collections.abc import Sequence
from fractions import Fraction

from regard.derivations.formulas import members
from regard.derivations.judging.findings import Finding, true
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.syntax import Expression, Negative, Number, Quotient, Sum, Symbol, describe
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.problems.model import SymbolMeaning
from regard.derivations.recognising import Recognised

_Law = tuple[Fraction, Fraction]


def as_distribution(left: Symbol, right: Sequence[Token], scope: Scope) -> Recognised:
    """What left ∼ right says: the law of a known random number, or a new random symbol."""
    law = _normal_law(right)
    known = scope.find(left).meaning if scope.knows(left) else None
    if known is not None and known.is_random_number and law is not None:
        return Recognised(kind="given", finding=_compared(law, known))
    renamed = _renamed(left, law, scope) if known is None or "any" in known.assume else None
    introduced = true("a random symbol is introduced")
    return Recognised(kind="given" if known is not None else "definition", finding=introduced, scope=renamed)


def _renamed(left: Symbol, law: _Law | None, scope: Scope) -> Scope | None:
    """The scope in which another letter stands for the problem's one random number, or for its distance from a mean.

    ε ∼ N(0, ½) beside γ ∼ N(1, ½) is γ − 1.
    """
    numbers = [meaning for meaning in scope.meanings.values() if meaning.is_random_number]
    if len(numbers) != 1 or law is None or law[1] != Fraction(numbers[0].variance or 0):
        return None
    shift = law[0] - Fraction(numbers[0].mean)
    known = Symbol(numbers[0].name)
    formula = known if shift == 0 else Sum((known, Number(shift) if shift > 0 else Negative(Number(-shift))))
    return scope.with_meaning(SymbolMeaning(name=describe(left), formula=formula))


def _normal_law(tokens: Sequence[Token]) -> _Law | None:
    """Mean and variance of N(1, ½), where both are plain numbers."""
    place = next((k for k, token in enumerate(tokens) if token.text == "N"), None)
    if place is None or len(tokens) < place + 5 or tokens[place + 1].kind != "open":
        return None
    try:
        mean, variance = (_rational(part) for part in members(tokens[place + 2 : -1]))
    except (NotUnderstood, ValueError):
        return None
    return mean, variance


def _rational(node: Expression) -> Fraction:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Quotient):
        return _rational(node.top) / _rational(node.bottom)
    raise ValueError("not a plain number")


def _compared(law: _Law, meaning: SymbolMeaning) -> Finding:
    mean, variance = law
    known = Fraction(meaning.variance or 0)
    if mean == Fraction(meaning.mean) and variance == known:
        return true("the problem gives it")
    if mean == Fraction(meaning.mean) and variance**2 == known:
        return Finding(kind="unknown", reason="the second number may be a standard deviation")
    given = f"N({meaning.mean:g}, {meaning.variance:g})"
    return Finding(
        kind="false",
        reason="the distribution is another",
        method="the problem's distribution",
        counterexample=f"the problem gives {given}, written is N({float(mean):g}, {float(variance):g})",
    )
