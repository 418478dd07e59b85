"""k_aᵀq ∼ N(β, ½β²) as a claim: what is linear in normal random numbers is normal, and its mean and variance decide."""

from dataclasses import replace

from regard.derivations.judging.relations import Sides
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.parser import parse_law, split_outside
from regard.derivations.notation.syntax import Distribution
from regard.derivations.notation.tokens import NotUnderstood, Token, tokenize


def moments_of_law(sides: Sides, scope: Scope) -> tuple[Sides, Sides, Sides] | None:
    """The mean and the variance that x ∼ N(m, s) gives, and the variance if s is a deviation; None for other laws."""
    if sides.sign != "∼" or not scope.setting.is_random:
        return None
    try:
        law = parse_law(sides.right, scope.reading)
    except NotUnderstood:
        return None
    if not (isinstance(law, Distribution) and law.family == "normal" and len(law.parameters) == 2):
        return None
    opening = next(place for place, token in enumerate(sides.right) if token.text == ")" and token.kind == "open")
    mean, spread = split_outside(sides.right[opening + 1 : -1], lambda token: token.text == ",")
    moment = replace(sides, sign="=", left=_applied("mean", sides.left), right=tuple(mean))
    variance = replace(moment, left=_applied("var", sides.left), right=tuple(spread))
    return moment, variance, replace(variance, right=_squared(tuple(spread)))


def _applied(function: str, body: tuple[Token, ...]) -> tuple[Token, ...]:
    start = body[0].start
    return (Token("word", function, start, start), *_bracketed(body))


def _squared(body: tuple[Token, ...]) -> tuple[Token, ...]:
    return (*_bracketed(body), *tokenize("^2"))


def _bracketed(body: tuple[Token, ...]) -> tuple[Token, ...]:
    start, end = body[0].start, body[-1].end
    return (Token("open", ")", start, start), *body, Token("close", ")", end, end))
