"""Relation signs counted in the raw mathematics, independently of the parser: what it cannot read is never absent."""

import re

from regard.derivations.notation.vocabulary import RELATIONS

__all__ = ["relation_signs"]

_COMMANDS = sorted((sign for sign in RELATIONS if sign.startswith("\\") and sign[1:].isalpha()), key=len, reverse=True)
_SIGN = re.compile(
    r"\\not\s*(?:=|\\in(?![a-zA-Z]))|(?:"
    + "|".join(re.escape(sign) for sign in _COMMANDS)
    + r")(?![a-zA-Z])|:=|&[lg]t;|[=<>≈≃≡→≫≪≥≤≠∈∉⊥∼∝]"
)
_SKIPPED = re.compile(
    r"\\(?:text|textrm|textbf|textit|mbox|hbox|operatorname\*?|tag\*?|label|ref|eqref|begin|end|hspace\*?|color|textnormal|overset|underset|stackrel)\s*\{"
    r"|(?<!\\)[_^]\s*\{|(?<!\\)%[^\n]*|\\[_^{}$%&#]|\\\\\[[^\]\n]{0,12}\]"
)


def relation_signs(source: str) -> list[tuple[int, str]]:
    r"""Offset and sign of every relation that stands outside scripts, prose and labels.

    >>> [sign for _, sign in relation_signs(r"\sum_{i \ne j} x_i = 1, \quad y \approx 0")]
    ['=', '≈']
    """
    found, place = [], 0
    while place < len(source):
        skipped = _SKIPPED.match(source, place)
        if skipped:
            place = (
                _group_end(source, skipped.end() - 1)
                if source[skipped.end() - 1] == "{" and skipped.group()[0:2] not in ("\\{",)
                else skipped.end()
            )
            continue
        sign = _SIGN.match(source, place)
        if sign:
            text = {"&lt;": "<", "&gt;": ">"}.get(sign.group(), sign.group())
            opposite = "≠" if text.endswith("=") else "∉"
            found.append(
                (
                    place,
                    opposite if text.startswith("\\not") and text not in RELATIONS else RELATIONS.get(text, opposite),
                )
            )
            place = sign.end()
            if text == "\\xrightarrow":
                place = _group_end(source, source.find("{", place)) if "{" in source[place:] else place
            continue
        place += 1
    return found


def _group_end(source: str, opening: int) -> int:
    """The offset behind the brace that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(source)):
        if source[place] in "{}" and source[place - 1 : place] != "\\":
            depth += 1 if source[place] == "{" else -1
            if depth == 0:
                return place + 1
    return len(source)
