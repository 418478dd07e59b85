"""What the words around a formula say about it: conditions, suppositions, the regime."""

import re
from dataclasses import dataclass

from regard.derivations.judging.relations import Relation
from regard.derivations.notation.parser import parse
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.reading.phrases import any_of
from regard.derivations.retractions import is_taken_back

_CONDITION = re.compile(any_of("condition"), re.IGNORECASE)
_REGIME_ONLY = re.compile(
    rf"{any_of('regime_condition')}\s*(?:(?:we|let)\s+)?(?:the\s+)?(?:{any_of('scale_noun')}\s*)?"
    rf"[\ufffc\w\\{{}}βλαγ$\s]{{0,40}}?(?:{any_of('becomes')}|→)?\s*"
    rf"(?:{any_of('extreme')}|0|∞|\\infty)(?:\s*(?:{any_of('regime_end')}|,|，|\s))?",
    re.IGNORECASE,
)
_FORCES = re.compile(rf"[\s,，]*{any_of('forces')}", re.IGNORECASE)
_DEFINES = re.compile(rf"[,;，；]\s*{any_of('where')}\s*$", re.IGNORECASE)
_PROSE_PREMISE = re.compile(
    rf"(?P<name>[α-ωΑ-Ω]|\\[a-z]+)\s*\$?\s*(?:{any_of('slightly')}|\s)*"
    rf"(?:(?P<above>{any_of('greater_than')}|>)|{any_of('less_than')}|<)\s*\$?\s*(?P<number>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The text of the sentence before a formula, mathematics as written, the prose after it, and what follows that.

    `is_struck` says that the formula is struck out.
    """

    before: str = ""
    after: str = ""
    following: str = ""
    is_struck: bool = False


def is_supposed(surroundings: Surroundings) -> bool:
    """True if a formula stands under a written condition, other than that the scale is large, or is denied right after.

    >>> is_supposed(Surroundings(before="If the key is long, ")), is_supposed(Surroundings(before="When β is large, "))
    (True, False)
    """
    if is_denied(surroundings) or _FORCES.match(surroundings.after):
        return True
    if _DEFINES.search(surroundings.before):
        return False
    rest = _REGIME_ONLY.sub(" ", surroundings.before)
    return _CONDITION.search(rest) is not None


def regime_words(surroundings: Surroundings) -> list[str]:
    """The conditions before a formula that only say where something is driven: when β is large."""
    return _REGIME_ONLY.findall(surroundings.before)


def is_denied(surroundings: Surroundings) -> bool:
    """True if a formula is struck out or the words around it take it back: it is tempting to say x = y, but …"""
    around = surroundings
    return around.is_struck or is_taken_back(around.before, around.after, around.following)


def premises_in_prose(surroundings: Surroundings) -> tuple[Relation, ...]:
    """Conditions on a number that the prose spells out: γ is slightly larger than 1."""
    found = []
    for match in _PROSE_PREMISE.finditer(surroundings.before):
        sign = ">" if match["above"] else "<"
        try:
            left, right = parse(tokenize(match["name"])), parse(tokenize(match["number"]))
        except NotUnderstood:
            continue
        found.append(Relation(left=left, sign=sign, right=right))
    return tuple(found)
