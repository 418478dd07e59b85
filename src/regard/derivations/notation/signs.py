r"""Relation signs as they stand in the raw LaTeX, and those that no chain accounts for."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from regard.derivations.notation.statements import Chain
from regard.derivations.notation.tokens import OPPOSITES, RELATIONS, SWALLOWED, TEXT
from regard.derivations.reading.braces import closing_braces
from regard.derivations.reading.document import Range

_COMMANDS = sorted((sign for sign in RELATIONS if sign.startswith("\\") and sign[1:].isalpha()), key=len, reverse=True)
_CHARACTERS = sorted((sign for sign in RELATIONS if not sign.startswith("\\")), key=len, reverse=True)
_IMPLICATION = r"<=>|<->|={1,2}(?:>|&gt;)|-->"
_SIGN = (
    rf"(?P<implication>{_IMPLICATION})|(?P<colon>\\vcentcolon\s*=|\\mathrel\s*\{{\s*\\mathop\s*:\s*\}}\s*=)"
    rf"|(?P<negation>\\not\s*\{{?\s*(?=\\[a-z]+|[=<>≈≤≥∈]))?"
    rf"(?P<sign>(?:{'|'.join(map(re.escape, _COMMANDS))})(?![a-zA-Z])|(?:&[lg]t;){{2,3}}|&[lg]t;=?"
    rf"|{'|'.join(map(re.escape, _CHARACTERS))})"
)
_SKIPPED = (
    r"(?P<text>\\(?:" + "|".join(sorted(re.escape(name[1:]) for name in TEXT)) + r")\s*(?=\{))"
    r"|(?P<group>\\(?:" + "|".join(sorted(re.escape(name[1:]) for name in SWALLOWED)) + r"|begin|end|overset|underset"
    r"|stackrel|substack)(?![A-Za-z])\s*(?:\[[^\]\n]{0,80}\]\s*)?(?=\{)|(?<!\\)[_^]\s*(?=\{))"
    r"|(?P<arrow>\\x[a-z]+\s*(?:\[[^\]\n]{0,80}\])?\s*(?=\{))"
    r"|(?<!\\)%[^\n]*|\\[_^{}$%&#]|\\\\\[[^\]\n]{0,12}\]"
)
_SKIPPED_OR_SIGN = re.compile(f"{_SKIPPED}|(?P<relation>{_SIGN})")
_FORMULA = re.compile(r"\$+([^$]*)\$+")
_ARROWS = ("→", "←", "↦")


def relation_signs(source: str) -> list[tuple[int, str]]:
    r"""Offset and meaning of every relation sign that stands outside scripts, prose and labels.

    >>> [sign for _, sign in relation_signs(r"\sum_{i \ne j} x_i = 1, \quad y \approx 0")]
    ['=', '≈']
    """
    return list(_signs(source, Range(start=0, end=len(source)), closing_braces(source)))


def unread_signs(source: str, chains: Iterable[Chain]) -> list[int]:
    r"""The offsets of relation signs that stand in no chain; arrows may only mean "so", and don't count.

    >>> from regard.derivations.notation.statements import read_chains
    >>> unread_signs(r"\frac{a = b}{c} = d", read_chains(r"\frac{a = b}{c} = d"))
    [8]
    """
    read = sorted({(sign.start, sign.end) for chain in chains for sign in chain.signs})
    starts = [start for start, _ in read]
    unread = []
    for offset, meaning in relation_signs(source):
        place = bisect_right(starts, offset) - 1
        is_read = place >= 0 and offset < read[place][1]
        if not is_read and meaning not in _ARROWS:
            unread.append(offset)
    return unread


def _signs(source: str, part: Range, closing: dict[int, int], *, reads_prose: bool = True) -> Iterator[tuple[int, str]]:
    place, end = part.start, part.end
    while found := _SKIPPED_OR_SIGN.search(source, place, end):
        place = found.end()
        if found["relation"]:
            if not found["implication"]:
                yield found.start(), _meaning(found)
            continue
        if found["arrow"]:
            yield found.start(), RELATIONS.get(found["arrow"].partition("[")[0].rstrip(), "→")
        close = closing.get(place, end if source.startswith("{", place) else place - 1)
        if found["text"] and reads_prose:
            for formula in _FORMULA.finditer(source, place, close):
                inside = Range(start=formula.start(1), end=formula.end(1))
                yield from _signs(source, inside, closing, reads_prose=False)
        place = close + 1


def _meaning(sign: re.Match[str]) -> str:
    written = (sign["sign"] or "=").replace("&lt;", "<").replace("&gt;", ">")
    meaning = RELATIONS.get(written, "=")
    return OPPOSITES.get(meaning, meaning) if sign["negation"] else meaning
