"""Enumerators such as `1.(a)`, `Q1-2.`, `Problem 1b`, `ii)` and 第一题, level by level."""

import re
from dataclasses import dataclass, replace

from regard.derivations.reading.phrases import any_of

ROMANS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_CYRILLIC = "абвгдежз"
_HAN = "一二三四五六七八九十"
_ROMAN = "|".join(sorted(ROMANS, key=len, reverse=True))

_WORD = re.compile(
    rf"(?P<word>{any_of('question_word')})(?:(?=\d)|\s{{0,4}}[.#]\s{{0,4}}(?=\d)|\s{{1,4}}(?:no\.?\s{{0,4}})?|(?=\())"
    rf"|第\s{{0,4}}(?P<nth>\d{{1,2}}|[{_HAN}]{{1,3}})\s{{0,4}}"
    rf"(?P<kind>{any_of('nth_question')}|(?P<part>{any_of('nth_part')}))"
    rf"|(?P<topic>{any_of('question_noun')})\s{{0,4}}(?=[\d(])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?P<number>\d{1,2})(?!\d)|(?P<capital>I{1,3}|IV|VI{0,3}|IX|X)(?![A-Za-z])")
_SECOND = re.compile(
    r"\s{0,4}[.)\-–]?\s{0,4}\(\s{0,4}(?P<enclosed>[A-Za-z]|\d{1,2}|" + _ROMAN + r")\s{0,4}\)"
    r"|\s{0,4}[.\-–]\s{0,4}(?P<digits>\d{1,2})(?!\d)"
    r"|[.\-–]?(?P<joined>[A-Za-z])(?![A-Za-z0-9'’])"
    r"|\.?\s{1,4}(?P<apart>[A-Za-z])(?=\s{0,4}[.):]|\s{0,4}$)"
)
_THIRD = re.compile(
    rf"\s{{0,4}}[.)\-–,]{{0,2}}\s{{0,4}}\(\s{{0,4}}(?P<enclosed>{_ROMAN})\s{{0,4}}\)"
    rf"|\s{{0,4}}[.)\-–,]{{0,2}}\s{{0,4}}(?P<bare>(?![vx](?![ivx]))(?:{_ROMAN}))(?=[.):}}]|\*\*|__|\s{{0,4}}$)"
    r"|[.\-–](?P<digits>\d{1,2})(?!\d)"
)
_SYMBOL = re.compile(
    rf"\(\s{{0,4}}(?P<enclosed>{_ROMAN}|[A-Za-z])\s{{0,4}}\)"
    rf"|(?P<chained>[A-Ha-h])(?=[.\-](?:{_ROMAN})(?:[.):]|\s{{0,4}}$))"
    rf"|(?P<firm>{_ROMAN}|[A-Za-z])\s?[.)](?![a-z=])"
    rf"|(?P<bare>{_ROMAN}|[A-Za-z])(?=\s{{0,4}}$|:|\s{{1,4}}[A-Z\u4e00-\u9fff])"
)
_ENCLOSED = re.compile(
    rf"\(\s{{0,4}}(\d{{1,2}}[.\s-]?[a-h](?:[.,\s-]{{0,2}}(?:{_ROMAN}))?|[a-h][.,\s-]{{1,2}}(?:{_ROMAN}))\s{{0,4}}\)",
    re.IGNORECASE,
)
_STOP = re.compile(r"\s{0,4}(?:[.):]|$)")
_LISTED = re.compile(rf"(?P<han>[{_HAN}]{{1,3}})(?=[、.])|\(\s{{0,4}}(?P<enclosed>\d{{1,2}})\s{{0,4}}\)")
_TAIL = re.compile(r"\s{0,4}[.:)\]、]{0,4}\s{0,4}")
_WIDE = str.maketrans("（）．：，［］　" + "".join(chr(0xFF10 + k) for k in range(10)), "().:,[] 0123456789")


@dataclass(frozen=True, kw_only=True)
class Enumerator:
    """An enumerator such as `1.(a)`, `Q1-2.`, `Problem 1b`, `ii)` or `第一题`, level by level, and where it ends.

    The levels are an arabic number, a letter and a roman numeral; a level written in another way is turned into its
    usual form by its ordinal (`Q1-2` is 1, b). `symbol` is a lone letter or roman numeral, whose level depends on the
    context; `is_firm` separates `(b)`, `b)` and `b.` from a bare `b`; `is_sub` says that a number counts the parts of a
    question; `form` is how the last level was written.
    """

    end: int
    word: str = ""
    number: int | None = None
    second: str | None = None
    third: str | None = None
    symbol: str | None = None
    form: str = ""
    is_firm: bool = False
    is_sub: bool = False

    @property
    def is_roman(self) -> bool:
        """True for a lone roman numeral."""
        return self.symbol is not None and self.symbol.lower() in ROMANS


def normalized(text: str) -> str:
    """The text with full-width brackets, digits and punctuation made plain; its length stays the same.

    >>> normalized("（１）：")
    '(1):'
    """
    return text.translate(_WIDE)


def letter(ordinal: int) -> str:
    """The letter of an ordinal: 2 is b; beyond z, the number itself."""
    return _LETTERS[ordinal - 1] if 0 < ordinal <= len(_LETTERS) else str(ordinal)


def roman(ordinal: int) -> str:
    """The roman numeral of an ordinal: 2 is ii; beyond xii, the number itself."""
    return ROMANS[ordinal - 1] if 0 < ordinal <= len(ROMANS) else str(ordinal)


def parse_enumerator(text: str) -> Enumerator | None:
    """The enumerator in front of a normalized text, if there is one.

    >>> parse_enumerator("Q1-2. An average of two").second
    'b'
    """
    if text[:1].lower() in _CYRILLIC and text[1:2] in (")", "."):
        text = _LETTERS[_CYRILLIC.index(text[0].lower())] + text[1:]
    if (enclosed := _ENCLOSED.match(text)) is not None:
        inner = parse_enumerator(enclosed[1].replace(",", ".") + ")")
        return None if inner is None else replace(_ended(text, replace(inner, end=enclosed.end())), is_firm=True)
    word = _WORD.match(text)
    if word and word["nth"]:
        return _nth(text, word)
    place = word.end() if word else 0
    name = (word["word"] or word["topic"] or "").lower() if word else ""
    number = _NUMBER.match(text, place)
    if number and (number["number"] or name):
        value = int(number["number"]) if number["number"] else ROMANS.index(number["capital"].lower()) + 1
        return _numbered(text, Enumerator(end=number.end(), word=name, number=value))
    if not word and (listed := _LISTED.match(text)):
        value = _han(listed["han"]) if listed["han"] else int(listed["enclosed"])
        return _ended(text, Enumerator(end=listed.end(), number=value, is_sub=bool(listed["enclosed"]), form="listed"))
    symbol = _SYMBOL.match(text, place)
    return _symbol(text, symbol, name) if symbol else None


def _nth(text: str, word: re.Match[str]) -> Enumerator:
    value = int(word["nth"]) if word["nth"].isdigit() else _han(word["nth"])
    base = Enumerator(end=word.end(), word=word["kind"], number=value, is_sub=word["part"] is not None)
    return _ended(text, base) if base.is_sub else _numbered(text, base)


def _han(numeral: str) -> int:
    tens, _, units = numeral.rpartition("十")
    ten = 10 * (_HAN.index(tens[0]) + 1 if tens else 1) if "十" in numeral else 0
    return ten + (_HAN.index(units[0]) + 1 if units else 0)


def _numbered(text: str, base: Enumerator) -> Enumerator:
    found = _SECOND.match(text, base.end)
    if found is None:
        return _ended(text, base)
    form = found.lastgroup or ""
    second = found[form].lower()
    if second.isdigit():
        second = letter(int(second))
    elif second in ROMANS and form == "enclosed":
        second = letter(ROMANS.index(second) + 1)
    is_firm = form == "enclosed" or found[0][0] == "." or _STOP.match(text, found.end()) is not None
    return _ended(text, _third(text, replace(base, end=found.end(), second=second, form=form, is_firm=is_firm)))


def _symbol(text: str, found: re.Match[str], word: str) -> Enumerator:
    form = found.lastgroup or ""
    base = Enumerator(end=found.end(), word=word, symbol=found[form], form=form, is_firm=form != "bare")
    return _ended(text, _third(text, base) if found[form] not in ROMANS else base)


def _third(text: str, base: Enumerator) -> Enumerator:
    found = _THIRD.match(text, base.end)
    if found is None:
        return base
    written = found[found.lastgroup or ""]
    third = roman(int(written)) if written.isdigit() else written
    return replace(base, end=found.end(), third=third, is_firm=True)


def _ended(text: str, base: Enumerator) -> Enumerator:
    tail = _TAIL.match(text, base.end)
    return replace(base, end=tail.end() if tail else base.end)
