"""One formula in its sentence: its chains, the words around it, the conditions that its letters are under."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from regard.derivations.context.surroundings import Surroundings
from regard.derivations.judging.findings import Finding
from regard.derivations.judging.relations import Relation
from regard.derivations.judging.setting import Setting
from regard.derivations.judging.values import ORDERS
from regard.derivations.notation.parser import parse
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import Condition, Expression
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.results import StepKind

_ON_INDICES = ("≠", "∉", "∈", "=", "<", ">")


@dataclass(frozen=True, kw_only=True)
class Formula:
    """One formula of a document, the prose around it, and what its sentence says about its letters.

    `siblings` are the other chains of the sentence, the nearest before it last, `earlier` those of the sentences before
    it in its paragraph; `paragraph` is where that begins, and `passage` its prose as far as the end of the sentence,
    which is `sentence` as it is written.
    """

    chains: tuple[Chain, ...]
    surroundings: Surroundings = field(default_factory=Surroundings)
    conditions: tuple[Condition, ...] = ()
    premises: tuple[Relation, ...] = ()
    siblings: tuple[Chain, ...] = ()
    earlier: tuple[Chain, ...] = ()
    paragraph: int = 0
    passage: str = ""
    sentence: str = ""


@dataclass(frozen=True, kw_only=True)
class JudgedStep:
    """A step, what kind of statement it is, and what was found; offsets are those of the formula's source."""

    kind: StepKind
    finding: Finding
    start: int
    end: int
    sign_start: int


def step_at(chain: Chain, place: int, kind: StepKind, finding: Finding) -> JudgedStep:
    """The step at the chain's relation sign of that place, counted from zero; the first one begins with the chain."""
    sign, right = chain.signs[place], chain.sides[place + 1]
    return JudgedStep(
        kind=kind,
        finding=finding,
        start=chain.start if place == 0 and not chain.is_moved else sign.start,
        end=right[-1].end if right else sign.end,
        sign_start=sign.start,
    )


def plain(side: Sequence[Token]) -> Expression | None:
    """A side read without knowing what its letters mean; None if it cannot be read."""
    try:
        return parse(side)
    except NotUnderstood:
        return None


def expressions_in(chains: Iterable[Chain]) -> list[Expression]:
    """The sides of chains that can be read."""
    sides = (plain(side) for chain in chains for side in chain.sides)
    return [side for side in sides if side is not None]


def members(tokens: Sequence[Token]) -> tuple[Expression, ...]:
    """The expressions of a list, cut at its separators: the a and b of i ≠ a, b."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.kind == "open") - (token.kind == "close")
        if token.kind == "separator" and depth == 0:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return tuple(parse(piece) for piece in pieces if piece)


def index_conditions(chains: Sequence[Chain], setting: Setting) -> tuple[Condition, ...]:
    """The relations among chains that are conditions on free indices: i ≠ a, b."""
    found = []
    for chain in (chain for chain in chains if not chain.is_case):
        for left, sign, right in zip(chain.sides, chain.signs, chain.sides[1:], strict=False):
            is_index = len(left) == 1 and left[0].text in setting.free
            if not is_index or sign.text not in _ON_INDICES:
                continue
            try:
                found.append(Condition(parse(left), sign.text, members(right)))
            except NotUnderstood:
                continue
    return tuple(found)


def number_premises(chains: Sequence[Chain]) -> tuple[Relation, ...]:
    """Plain conditions on a number: γ > 1."""
    found = []
    for chain in (chain for chain in chains if not chain.is_event):
        if len(chain.signs) == 1 and chain.signs[0].text in ORDERS and len(chain.sides[0]) == 1:
            left, right = plain(chain.sides[0]), plain(chain.sides[1])
            if left is not None and right is not None:
                found.append(Relation(left=left, sign=chain.signs[0].text, right=right))
    return tuple(found)
