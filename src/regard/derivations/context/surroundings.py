"""What the words around a formula say about it: conditions, suppositions, the regime, examples, denials."""

import re
from dataclasses import dataclass

from regard.derivations.judging.relations import Relation
from regard.derivations.notation.parser import parse
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.reading.phrases import any_of

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
_ANYWHERE_BEFORE = re.compile(any_of("doubted"), re.IGNORECASE)
_RIGHT_BEFORE = re.compile(rf"{any_of('denial_before')}[\s,，:：\"“”'‘’(*_~$]*$", re.IGNORECASE)
_RIGHT_AFTER = re.compile(rf"[\s,，:：]*(?:{any_of('but_this')}\s*)?{any_of('denial_after')}", re.IGNORECASE)
_LATER_IN_SENTENCE = re.compile(rf"[^\ufffc]{{0,80}}?[;,，；—–]\s*{any_of('retraction_in_sentence')}", re.IGNORECASE)
_NEXT_SENTENCE = re.compile(rf"[^\S\n]*\n?[^\S\n]*{any_of('retraction_next_sentence')}", re.IGNORECASE)
_NOTHING = re.compile(r"[\s.。!！?？)）*_]*")
_EXAMPLE = re.compile(rf"[\s*_>(（-]*{any_of('example')}", re.IGNORECASE)


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
    """True if a formula is struck out or the words around it take it back: it is tempting to say x = y, but …

    >>> is_denied(Surroundings(before="It isn't true that ")), is_denied(Surroundings(following=" This is wrong."))
    (True, True)
    """
    before, after = surroundings.before, surroundings.after
    if surroundings.is_struck or _RIGHT_BEFORE.search(before) or _ANYWHERE_BEFORE.search(before):
        return True
    if _RIGHT_AFTER.match(after) or _LATER_IN_SENTENCE.match(after):
        return True
    return _NOTHING.fullmatch(after) is not None and _NEXT_SENTENCE.match(surroundings.following) is not None


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


def is_example(surroundings: Surroundings) -> bool:
    """True if the sentence opens as an example or a check.

    >>> is_example(Surroundings(before="Check with ")), is_example(Surroundings(before="Without loss "))
    (True, False)
    """
    return _EXAMPLE.match(surroundings.before) is not None
