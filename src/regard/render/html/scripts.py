"""Formulas in plain words: a_j, e^β and x^{2i} with their indices lowered and their powers raised."""

import html
import re
from collections.abc import Callable

# An index belongs to a single letter that stands alone, so that names like ml_dtypes stay as they are.
_INDEX = (
    r"(?<![A-Za-z0-9_])(?P<base>[A-Za-zΑ-Ωα-ω1]|max|min|log|softmax)_"
    r"(?P<sub>\{[^{}]*\}|[A-Za-z0-9](?![A-Za-z0-9_]))"
)
_POWER = r"\^(?P<sup>\{(?:[^{}]|\{[^{}]*\})*\}|[A-Za-z0-9α-ω]+)"
_SCRIPTS = re.compile(f"{_INDEX}|{_POWER}")


def scripted(text: str) -> str:
    """The text as HTML.

    >>> scripted("a_j ≤ e^{z_i}, ml_dtypes")
    'a<sub>j</sub> ≤ e<sup>z<sub>i</sub></sup>, ml_dtypes'
    """
    return _replaced(text, lambda kind, inner: f"<{kind}>{scripted(inner)}</{kind}>")


def scripted_svg(text: str) -> str:
    """The text as the inside of an SVG `text`; what is within a script is set flat.

    >>> scripted_svg("a_j")
    'a<tspan class="chart-script" dy="3">j</tspan><tspan dy="-3">\u200b</tspan>'
    """

    def shifted(kind: str, inner: str) -> str:
        by = 3 if kind == "sub" else -4
        words = html.escape(unscripted(inner))
        return f'<tspan class="chart-script" dy="{by}">{words}</tspan><tspan dy="{-by}">\u200b</tspan>'

    return _replaced(text, shifted)


def unscripted(text: str) -> str:
    """The text without the signs that lower and raise, to tell how wide it is.

    >>> unscripted("a_j ≤ e^{z_i}")
    'aj ≤ ezi'
    """
    return _SCRIPTS.sub(lambda found: (found["base"] or "") + unscripted(_inner(found)), text)


def _inner(found: re.Match[str]) -> str:
    inner = found["sub"] or found["sup"]
    return inner[1:-1] if inner.startswith("{") else inner


def _replaced(text: str, script: Callable[[str, str], str]) -> str:
    pieces, end = [], 0
    for found in _SCRIPTS.finditer(text):
        pieces.append(html.escape(text[end : found.start()] + (found["base"] or "")))
        pieces.append(script("sub" if found["sub"] else "sup", _inner(found)))
        end = found.end()
    return "".join([*pieces, html.escape(text[end:])])
