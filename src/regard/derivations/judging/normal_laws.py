"""k_aᵀq ∼ N(β, ½β²) as a claim: what is linear in normal random numbers is normal, and its mean and variance decide."""

from dataclasses import replace

from regard.derivations.judging.relations import Sides, read_side
from regard.derivations.judging.scope import Scope
from regard.derivations.notation.parser import parse_law, split_outside
from regard.derivations.notation.syntax import Apply, Distribution, Expression, Power, walk
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
    if not _is_linear(read_side(sides.left, scope), scope):
        return None
    opening = next(place for place, token in enumerate(sides.right) if token.kind == "open")
    parts = split_outside(sides.right[opening + 1 : -1], lambda token: token.text == ",")
    if len(parts) != len(law.parameters):
        return None
    mean, spread = map(tuple, parts)
    moment = replace(sides, sign="=", left=_applied("mean", sides.left), right=mean)
    variance = replace(moment, left=_applied("var", sides.left), right=spread)
    return moment, variance, replace(variance, right=_squared(spread))


def _is_linear(node: Expression, scope: Scope) -> bool:
    """True if no function or power of anything random stands in an expression or in what it is made of."""
    meanings = scope.meanings
    reached = [meanings[name] for name in scope.reach(node) & meanings.keys()]
    random = {meaning.key for meaning in reached if meaning.variance is not None}
    parts = (node, *(meaning.formula for meaning in reached if meaning.formula is not None))
    bent = (inner for part in parts for inner in walk(part) if isinstance(inner, Apply | Power))
    return all(random.isdisjoint(scope.reach(inner)) for inner in bent)


def _applied(function: str, body: tuple[Token, ...]) -> tuple[Token, ...]:
    start = body[0].start
    return (Token("word", function, start, start), *_bracketed(body))


def _squared(body: tuple[Token, ...]) -> tuple[Token, ...]:
    return (*_bracketed(body), *tokenize("^2"))


def _bracketed(body: tuple[Token, ...]) -> tuple[Token, ...]:
    start, end = body[0].start, body[-1].end
    return (Token("open", ")", start, start), *body, Token("close", ")", end, end))
