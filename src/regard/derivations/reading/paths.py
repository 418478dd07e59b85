"""What an enumerator means where it stands: the path of the question that it opens."""

from dataclasses import dataclass

from regard.derivations.reading.enumerators import ROMANS, Enumerator, letter, roman

_MAX_JUMP = 4


@dataclass(frozen=True, kw_only=True)
class Context:
    """Where an enumerator stands: in the question `path`, below the heading that opened the question `above`.

    `above_word` is what that heading calls itself; `has_title` if words follow the enumerator; `is_in_roman_part` if
    the part that is open was itself written as a roman numeral; `written` is the number and letter that opened it, if
    a plain line did.
    """

    path: tuple[str, ...]
    above: tuple[str, ...]
    above_word: str
    above_is_heading: bool = False
    is_heading: bool = False
    has_title: bool = False
    is_in_roman_part: bool = False
    written: tuple[int, str] | None = None


def resolve(enumerator: Enumerator, context: Context) -> tuple[str, ...]:
    """The path that an enumerator opens; empty if it opens no question here.

    >>> here = Context(path=("1", "b"), above=("1",), above_word="part")
    >>> resolve(Enumerator(end=2, symbol="ii", is_firm=True), here)
    ('1', 'b', 'ii')
    """
    if enumerator.number is None:
        return _from_symbol(enumerator, context)
    if enumerator.second:
        third = (enumerator.third,) if enumerator.third else ()
        top = context.path[0] if _counts_on(enumerator, context) else str(enumerator.number)
        return (top, enumerator.second, *third)
    return _from_number(enumerator, enumerator.number, context)


def _counts_on(enumerator: Enumerator, context: Context) -> bool:
    """True where numbers are those of a list and say nothing: `2.(b)` after `1.(a)`, `1.(a)` in question 2."""
    number = enumerator.number or 0
    if context.is_heading or enumerator.word or enumerator.second != letter(number):
        return False
    is_first = number == 1 and len(context.above) == 1 and context.above_is_heading
    return is_first or context.written == (number - 1, letter(number - 1))


def _from_number(enumerator: Enumerator, number: int, context: Context) -> tuple[str, ...]:
    """A number counts questions, unless it stands below a question's heading: then it counts that one's parts."""
    above = context.path[:1] if enumerator.is_sub else context.above
    is_own_word = enumerator.word != "" and context.above_word in ("", enumerator.word)
    if not above or (is_own_word and not enumerator.is_sub):
        return (str(number),)
    if len(above) == 1:
        return (*above, letter(number))
    # A titled number inside a part is a step of the answer.
    if len(above) == 2 and not context.has_title:
        return (*above, roman(number))
    return (str(number),) if enumerator.word else ()


def _from_symbol(enumerator: Enumerator, context: Context) -> tuple[str, ...]:
    assert enumerator.symbol is not None
    symbol, path = enumerator.symbol.lower(), context.path
    if symbol in ROMANS and not _is_next_letter(symbol, path):
        if len(path) >= 2 and not context.is_in_roman_part:
            return (*path[:2], symbol)
        return (path[0], letter(ROMANS.index(symbol) + 1)) if path else ("", "", symbol)
    third = (enumerator.third,) if enumerator.third else ()
    return (path[0] if path else "", symbol, *third)


def _is_next_letter(symbol: str, path: tuple[str, ...]) -> bool:
    """True for an i, v or x that goes on from h, u or w."""
    return len(symbol) == 1 and len(path) >= 2 and len(path[1]) == 1 and ord(symbol) == ord(path[1]) + 1


def follows(path: tuple[str, ...], current: tuple[str, ...]) -> bool:
    """True if a plain letter or numeral goes on from the question that is open, a few being skipped at most.

    >>> follows(("1", "c"), ("1", "b", "ii")), follows(("1", "a"), ("1", "b")), follows(("1", "b", "i"), ("1", "b"))
    (True, False, True)
    """
    level = len(path)
    has_sibling = len(current) >= level and current[: level - 1] == path[:-1]
    before = _ordinal(current[level - 1], level) if has_sibling else 0
    return 0 < _ordinal(path[-1], level) - before <= _MAX_JUMP


def _ordinal(name: str, level: int) -> int:
    if level == 3:
        return ROMANS.index(name) + 1 if name in ROMANS else 0
    return ord(name) - ord("a") + 1 if len(name) == 1 else 0
