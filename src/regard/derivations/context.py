"""What the words around a formula say about it: conditions, suppositions, the regime."""

import re
from dataclasses import dataclass

from regard.derivations.judging.relations import Relation
from regard.derivations.notation.parser import parse
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.retractions import is_taken_back

_CONDITION_WORDS = re.compile(
    r"(?<![a-z])(?:if|when|whenever|suppose|supposing|assume|assuming"
    r"|in some samples|for some samples|in other samples|in others|in some draws"
    r"|to get|would|requires?|never|no \w has|not true that|not the case|not enough|must both"
    r"|not every|not all|can happen|may happen|sometimes|happens? to|possible that"
    r"|to have|to reach|to obtain|setting|solving|solve|unless|imagine|were|falls"
    r"|wenn|sofern|angenommen|müssten?|bräuchten?|si|lorsque|quand|supposons|il faudrait"
    r"|cuando|supongamos|supón|suponiendo|haría falta|har[íi]an falta|tendr[íi]an? que|necesitar[íi]a\w*)(?![a-zà-ÿ])"
    r"|当|若|如果|要使|为使|为了使|假设|假如|假定|倘若|只要|设(?!计|置|定的)(?![^。]{0,40}[，,])"
    r"|需要满足|并非|未必|某些样本|另一些样本|有些样本|有时|一旦",
    re.IGNORECASE,
)
_REGIME_ONLY = re.compile(
    r"(?:if|when|whenever|当|若|如果|只要|assum\w+|suppos\w+)\s*(?:we\s+|let\s+)?"
    r"(?:the\s+)?(?:scale\s+|scalar\s+|factor\s+|标量|系数)?[\ufffc\w\\{}βλαγ$\s]{0,40}?"
    r"(?:is|are|becomes|gets|grows|be|变得|很|较|足够|充分|非常|极|够|趋于|趋向|→)?\s*"
    r"(?:very|sufficiently|large enough|large(?!r)|big(?!g)|huge|vanishingly|tiny|small(?!e)|grows"
    r"|大(?!于)|小(?!于)|无穷|0|∞|\\infty)(?:\s*(?:enough|时|的时候|,|，|\s))?",
    re.IGNORECASE,
)
_FORCES = re.compile(
    r"[\s,，]*(?:together\s+with|(?:and\s+\ufffc\s+)?(?:together\s+)?(?:forces?|can only)(?![a-z])"
    r"|would\s+(?:force|imply|mean|require|need)(?![a-z])"
    r"|(?:if and )?only (?:if|when)(?![a-z])|iff(?![a-z])|当且仅当)",
    re.IGNORECASE,
)
_DEFINES = re.compile(r"[,;，；]\s*(?:where|其中|wobei|où|donde)\s*$", re.IGNORECASE)
_PROSE_PREMISE = re.compile(
    r"(?P<name>[α-ωΑ-Ω]|\\[a-z]+)\s*\$?\s*(?:is|稍微|略微|略|稍|远|轻微|slightly|a little|a bit|just|\s)*"
    r"(?P<sign>大于|小于|larger than|greater than|bigger than|less than|smaller than|exceeds|above|below|>|<)"
    r"\s*\$?\s*(?P<number>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_ABOVE = {"大于", "larger than", "greater than", "bigger than", "exceeds", "above", ">"}


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
    return _CONDITION_WORDS.search(rest) is not None


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
        sign = ">" if match["sign"].lower() in _ABOVE else "<"
        try:
            left, right = parse(tokenize(match["name"])), parse(tokenize(match["number"]))
        except NotUnderstood:
            continue
        found.append(Relation(left=left, sign=sign, right=right))
    return tuple(found)
