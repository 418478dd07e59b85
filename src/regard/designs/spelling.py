"""The spelling of a command line, `beta*(mu_a+mu_b)`, as the LaTeX that the notation room reads."""

import re
from decimal import Decimal

from regard.core.errors import InputError
from regard.derivations.notation.tokens import FUNCTIONS, GREEK

_MOST_CHARACTERS = 1_000
_MOST_SHOWN = 60
_LARGEST_EXPONENT = 300
_GREEK_NAMES = frozenset(name[1:] for name in GREEK.values())
_LEXEME = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+)"
    r"|(?P<command>\\[A-Za-z]+)"
    r"|(?P<word>[A-Za-z]{2,})"
    r"|(?P<power>\*\*)"
    r"|(?P<times>\*)"
    r"|(?P<sign><=|>=|!=|==)"
)
_SIGNS = {"<=": r" \le ", ">=": r" \ge ", "!=": r" \ne ", "==": "="}


def as_latex(text: str) -> str:
    """The same formula in LaTeX; what is LaTeX already stays as it is.

    >>> as_latex("2*beta*mu_a - 1.5e2*mu_b")
    '2\\\\cdot \\\\beta \\\\cdot \\\\mu _a - (150)\\\\cdot \\\\mu _b'
    """
    if len(text) > _MOST_CHARACTERS:
        raise InputError(
            f"The expression has {len(text)} characters; at most {_MOST_CHARACTERS} are read. "
            "Write a shorter one, with letters for numbers (--set s=3)."
        )
    return _braced(_LEXEME.sub(lambda lexeme: _translated(lexeme, text), text))


def _braced(text: str) -> str:
    """Brackets behind a ^ as braces: x^(1/2) is x^{1/2}."""
    while (start := re.search(r"\^\s*\(", text)) is not None:
        depth, end = 0, len(text)
        for place in range(start.end() - 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            if depth == 0:
                end = place
                break
        text = f"{text[: start.start()]}^{{{text[start.end() : end]}}}{text[end + 1 :]}"
    return text


def shown(text: str) -> str:
    """What was typed, as a message repeats it: in quotes, every character visible, cut where it is long."""
    return repr(text) if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]!r} …"


def _translated(lexeme: re.Match[str], text: str) -> str:
    found = lexeme.group()
    match lexeme.lastgroup:
        case "number":
            if abs(int(re.split("[eE]", found)[1])) > _LARGEST_EXPONENT:
                raise InputError(f"{found} in {shown(text)} is beyond what a double holds. Write a smaller exponent.")
            return f"({Decimal(found):f})"
        case "word":
            return _word(found, text)
        case "power":
            return "^"
        case "times":
            return r"\cdot "
        case "sign":
            return _SIGNS[found]
        case _:
            return found


def _word(word: str, text: str) -> str:
    if word in _GREEK_NAMES:
        return f"\\{word} "
    if word.lower() in FUNCTIONS:
        return word
    raise InputError(
        f"'{word}' in {shown(text)} is not known. Write Greek letters (beta, mu_a), single letters, and sqrt, log, exp."
    )
