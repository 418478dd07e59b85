"""Relation signs counted in the raw mathematics, independently of the parser: what it cannot read is never absent."""

import re

from regard.derivations.notation.tokens import RELATIONS

_COMMANDS = sorted((sign for sign in RELATIONS if sign.startswith("\\") and sign[1:].isalpha()), key=len, reverse=True)
_SIGN = re.compile(
    r"\\not\s*(?:=|\\in(?![a-zA-Z]))|(?:"
    + "|".join(re.escape(sign) for sign in _COMMANDS)
    + r")(?![a-zA-Z])|:=|&[lg]t;|[=＝<>≈≃≡→≫≪≥≤≠∈∉⊥∼∝]"
)
_SKIPPED = re.compile(
    r"(?P<group>\\(?:text|textrm|textbf|textit|textnormal|mbox|hbox|operatorname\*?|begin|end|overset|underset|stackrel"
    r"|tag\*?|label|ref|eqref|hspace\*?|color)\s*\{|(?<!\\)[_^]\s*\{)"
    r"|(?<!\\)%[^\n]*|\\[_^{}$%&#]|\\\\\[[^\]\n]{0,12}\]"
)
_ENTITIES = {"&lt;": "<", "&gt;": ">", "＝": "="}


def relation_signs(source: str) -> list[tuple[int, str]]:
    r"""Offset and sign of every relation that stands outside scripts, prose and labels.

    >>> [sign for _, sign in relation_signs(r"\sum_{i \ne j} x_i = 1, \quad y \approx 0")]
    ['=', '≈']
    """
    found, place = [], 0
    while place < len(source):
        if skipped := _SKIPPED.match(source, place):
            place = _group_end(source, skipped.end() - 1) if skipped["group"] else skipped.end()
        elif sign := _SIGN.match(source, place):
            found.append((place, _meaning(sign.group())))
            place = sign.end()
            if sign.group() == "\\xrightarrow" and "{" in source[place:]:
                place = _group_end(source, source.find("{", place))
        else:
            place += 1
    return found


def _meaning(sign: str) -> str:
    """The relation that a sign stands for; one that the vocabulary lacks is a negation: \\not =."""
    known = RELATIONS.get(_ENTITIES.get(sign, sign))
    return known or ("≠" if sign.endswith("=") else "∉")


def _group_end(source: str, opening: int) -> int:
    """The offset behind the brace that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(source)):
        if source[place] in "{}" and source[place - 1 : place] != "\\":
            depth += 1 if source[place] == "{" else -1
            if depth == 0:
                return place + 1
    return len(source)
