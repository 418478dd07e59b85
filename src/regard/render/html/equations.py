r"""A formula for display, cut where a line may break: at \quad and before arrows, outside all braces."""

import re

from regard.render.html.typesetting import typeset

_TOKEN = re.compile(
    r"\\left(?![A-Za-z])\s*(?:\\[A-Za-z]+|\\?.)|\\right(?![A-Za-z])\s*(?:\\[A-Za-z]+|\\?.)"
    r"|\\(?:begin|end)\s*\{[^{}]*\}|\\[A-Za-z]+|\\.|.",
    re.DOTALL,
)
_OPENING, _CLOSING = (re.compile(rf"\\(?:{names})(?![A-Za-z])") for names in ("left|begin", "right|end"))
_SPACES = (r"\quad", r"\qquad")
_RELATIONS = ("=", "<", ">", r"\le", r"\ge", r"\approx", r"\ne", r"\neq", r"\to")
# A part with more signs than this may also be broken before a relation.
_LONG = 48
_ARROWS = (r"\Rightarrow", r"\Longrightarrow", r"\iff", r"\Leftrightarrow", r"\xrightarrow", r"\implies")


def equation(latex: str) -> str:
    """The formula as a block whose parts wrap like words."""
    shown = " ".join(f"<span>{typeset(part, is_display=True)}</span>" for part in parts(latex))
    return f'<div class="equation">{shown}</div>'


def parts(latex: str) -> list[str]:
    r"""The formula cut at its outermost spaces and before its outermost arrows.

    >>> parts(r"a=\frac{b\quad c}{d},\quad e\Rightarrow f")
    ['a=\\frac{b\\quad c}{d},', 'e', '\\Rightarrow f']
    """
    found = [shorter for part in _cut(latex, drop=_SPACES, start=_ARROWS) for shorter in _shorter(part)]
    return found or [latex]


def _shorter(part: str) -> list[str]:
    return [part] if len(part) <= _LONG else _cut(part, drop=(), start=_RELATIONS)


def _cut(latex: str, *, drop: tuple[str, ...], start: tuple[str, ...]) -> list[str]:
    """The parts between the outermost signs that are dropped, and from one that starts a part to the next."""
    found, depth = [""], 0
    for token in _TOKEN.findall(latex):
        depth += _nesting(token)
        if depth == 0 and token in drop:
            found.append("")
        elif depth == 0 and token in start:
            found.append(token)
        else:
            found[-1] += token
    trimmed = (re.sub(r"(?:\\[;,:! ]|\s)+$|^(?:\\[;,:! ]|\s)+", "", part) for part in found)
    kept = [part for part in trimmed if part]
    return kept if depth == 0 else [latex]


def _nesting(token: str) -> int:
    if token == "{" or _OPENING.match(token):
        return 1
    return -1 if token == "}" or _CLOSING.match(token) else 0
