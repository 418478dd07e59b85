r"""Formulas in pages: indices and powers in plain text, equations that wrap, formulas cut along their steps."""

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from regard.render.mathml import typeset

# Only a single letter, perhaps with a bar above it, takes an index, so that names like ml_dtypes stay as they are.
_INDEX = (
    r"(?<![A-Za-z0-9_])(?P<base>[A-Za-zΑ-Ωα-ω1]\u0304?|max|min|log|softmax)_"
    r"(?P<sub>\{[^{}]*\}|[A-Za-z0-9](?![A-Za-z0-9_]))"
)
_POWER = r"\^(?P<sup>\{(?:[^{}]|\{[^{}]*\})*\}|[A-Za-z0-9α-ω]+)"
_SCRIPTS = re.compile(f"{_INDEX}|{_POWER}")
_TOKEN = re.compile(
    r"\\begin\s*\{[^{}]*\}|\\end\s*\{[^{}]*\}|\\(?:left|right)(?![A-Za-z])\s*(?:\\[A-Za-z]+|\\.|.)"
    r"|\\\\\*?(?:\s*\[\s*-?[\d.]+\s*[a-z]{2}\s*\])?|\\[A-Za-z]+\*?|\\.|\s+|.",
    re.DOTALL,
)
_OPENING, _CLOSING = re.compile(r"\\(?:begin\s*\{|left(?![A-Za-z]))"), re.compile(r"\\(?:end\s*\{|right(?![A-Za-z]))")
_ALIGNING = re.compile(
    r"\s*\\begin\s*\{(?P<name>(?:align(?:ed)?|gather(?:ed)?|split|equation|eqnarray|multline|alignat|alignedat)\*?)\}"
    r"(?:\s*\{\d\}|\s*\[[a-z]\])?"
)
_PUNCTUATION = " \t\r\n.,;，。；"
_MAX_ENVIRONMENTS = 4
_SPACES = (r"\quad", r"\qquad")
_RELATIONS = ("=", "<", ">", r"\le", r"\ge", r"\approx", r"\ne", r"\neq", r"\to")
# A part longer than this may also break before a relation.
_MAX_UNBROKEN = 48
_ARROWS = (r"\Rightarrow", r"\Longrightarrow", r"\iff", r"\Leftrightarrow", r"\xrightarrow", r"\implies")


def scripted(text: str) -> str:
    """Plain text as HTML, its indices lowered and its powers raised.

    >>> scripted("a_j ≤ e^{z_i}, ml_dtypes, z\u0304_2")
    'a<sub>j</sub> ≤ e<sup>z<sub>i</sub></sup>, ml_dtypes, z̄<sub>2</sub>'
    """
    return _replaced(text, lambda kind, inner: f"<{kind}>{scripted(inner)}</{kind}>")


def scripted_svg(text: str) -> str:
    """The text as the content of an SVG `text`; scripts inside a script are flattened.

    >>> scripted_svg("a_j")
    'a<tspan class="chart-script" dy="3">j</tspan><tspan dy="-3">\u200b</tspan>'
    """

    def shifted(kind: str, inner: str) -> str:
        by = 3 if kind == "sub" else -4
        words = html.escape(unscripted(inner))
        return f'<tspan class="chart-script" dy="{by}">{words}</tspan><tspan dy="{-by}">\u200b</tspan>'

    return _replaced(text, shifted)


def unscripted(text: str) -> str:
    """The text without the characters that lower and raise, to estimate its width.

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


def equation(latex: str) -> str:
    r"""A displayed formula that may break at \quad and before arrows, outside all braces."""
    shown = " ".join(_equation_part(part) for part in equation_parts(latex))
    return f'<div class="equation">{shown}</div>'


def _equation_part(latex: str) -> str:
    """A part of an equation; one that begins with a relation goes on with the part before it, without a gap."""
    first = _TOKEN.match(latex)
    goes_on = first is not None and first[0] in (*_RELATIONS, *_ARROWS)
    look = ' class="goes-on"' if goes_on else ""
    return f"<span{look}>{typeset(latex, is_display=True)}</span>"


def equation_parts(latex: str) -> list[str]:
    r"""The formula split at its outermost spaces and before its outermost arrows.

    >>> equation_parts(r"a=\frac{b\quad c}{d},\quad e\Rightarrow f")
    ['a=\\frac{b\\quad c}{d},', 'e', '\\Rightarrow f']
    """
    found = []
    for part in _split(latex, drop=_SPACES, start=_ARROWS):
        found += [part] if len(part) <= _MAX_UNBROKEN else _split(part, drop=(), start=_RELATIONS)
    return found or [latex]


def _split(latex: str, *, drop: tuple[str, ...], start: tuple[str, ...]) -> list[str]:
    """Splits outside all braces at the tokens in `drop`, and before those in `start`."""
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


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The characters of a formula's source, from `start` up to `end`, that belong to one step."""

    start: int
    end: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a formula that can be typeset on its own, and the steps that it belongs to (usually one or none)."""

    source: str
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Atom:
    start: int
    end: int
    is_cut: bool = False
    wants_group: bool = False


def cut_formula(source: str, stretches: Iterable[Stretch]) -> list[list[list[Piece]]]:
    r"""The rows (`\\`) of a formula, each a list of cells (`&`), each a list of pieces.

    A piece is a step, or what stands between two steps. A step that begins or ends inside a group takes in the whole
    group, so that every piece can be typeset on its own.

    >>> cut_formula("a = b, c", [Stretch(start=0, end=5, step=1)])
    [[[Piece(source='a = b', steps=(1,)), Piece(source=', c', steps=())]]]
    """
    stretches = tuple(stretches)
    low, high = _inside(source)
    atoms = _atoms(source, low, high)
    whole = [[[Piece(source=source, steps=tuple(stretch.step for stretch in stretches))]]]
    if atoms is None:
        return whole
    starts = [atom.start for atom in atoms]
    merged = _merged([_snapped(stretch, atoms, starts) for stretch in stretches], atoms)
    rows = _table(source, atoms, merged, (low, high))
    shown = {step for row in rows for cell in row for piece in cell for step in piece.steps}
    return rows if shown.issuperset(stretch.step for stretch in stretches) else whole


def _inside(source: str) -> tuple[int, int]:
    """The part of the source inside environments that only align its rows."""
    low, high = 0, len(source.rstrip(_PUNCTUATION))
    for _ in range(_MAX_ENVIRONMENTS):
        found = _ALIGNING.match(source, low, high)
        closing = f"\\end{{{found['name']}}}" if found else ""
        if not found or not source.endswith(closing, low, high):
            break
        low, high = found.end(), high - len(closing)
        high = low + len(source[low:high].rstrip())
    return (low, high) if low else (0, len(source))


def _atoms(source: str, low: int, high: int) -> list[_Atom] | None:
    """The smallest parts that can stand alone: a symbol, a command with its groups, a base with its scripts."""
    atoms: list[_Atom] = []
    depth, opened = 0, low
    for found in _TOKEN.finditer(source, low, high):
        token, start, end = found[0], found.start(), found.end()
        if depth == 0:
            opened = start
        change = _nesting(token)
        depth += change
        if depth < 0:
            return None
        if depth == 0 and not token.isspace():
            _append(atoms, source, opened, end)
    return atoms if depth == 0 else None


def _nesting(token: str) -> int:
    if token == "{" or _OPENING.match(token):
        return 1
    return -1 if token == "}" or _CLOSING.match(token) else 0


def _append(atoms: list[_Atom], source: str, start: int, end: int) -> None:
    token = source[start:end]
    is_group, is_script = token.startswith("{"), token in "^_'"
    is_cut = token == "&" or token.startswith("\\\\")
    last = atoms[-1] if atoms else None
    if (
        last
        and not is_cut
        and not last.is_cut
        and (is_script or (is_group and last.wants_group) or _is_scripted(source, last))
    ):
        atoms[-1] = _Atom(start=last.start, end=end, wants_group=is_group or _is_command(token))
    else:
        atoms.append(_Atom(start=start, end=end, is_cut=is_cut, wants_group=_is_command(token)))


def _is_scripted(source: str, atom: _Atom) -> bool:
    return source[atom.end - 1] in "^_" and source[atom.end - 2 : atom.end - 1] != "\\"


def _is_command(token: str) -> bool:
    return token.startswith("\\") and token[1:2].isalpha() and not _OPENING.match(token) and not _CLOSING.match(token)


def _snapped(stretch: Stretch, atoms: Sequence[_Atom], starts: Sequence[int]) -> tuple[int, int, int]:
    """The first and the last atom (by number) that the stretch touches, and its step."""
    first = max(bisect_right(starts, stretch.start) - 1, 0)
    if first + 1 < len(atoms) and atoms[first].end <= stretch.start:
        first += 1
    last = max(bisect_right(starts, max(stretch.end - 1, stretch.start)) - 1, first)
    return first, last, stretch.step


def _merged(snapped: Iterable[tuple[int, int, int]], atoms: Sequence[_Atom]) -> dict[int, tuple[int, ...]]:
    """The steps of each atom; stretches that overlap become one stretch of several steps."""
    unions: list[tuple[int, int, tuple[int, ...]]] = []
    for first, last, step in sorted(snapped):
        if unions and first <= unions[-1][1]:
            start, end, steps = unions[-1]
            unions[-1] = (start, max(end, last), (*steps, step))
        else:
            unions.append((first, last, (step,)))
    return {k: steps for start, end, steps in unions for k in range(start, min(end + 1, len(atoms)))}


def _table(
    source: str, atoms: Sequence[_Atom], steps: dict[int, tuple[int, ...]], bounds: tuple[int, int]
) -> list[list[list[Piece]]]:
    rows: list[list[list[Piece]]] = [[[]]]
    begin, current = bounds[0], steps.get(0, ())
    for number, atom in enumerate(atoms):
        own = steps.get(number, ())
        if atom.is_cut or own != current:
            _add(rows[-1][-1], source[begin : atom.start], current)
            begin, current = (atom.end if atom.is_cut else atom.start), own
        if atom.is_cut:
            current = steps.get(number + 1, ())
            if source[atom.start] == "&":
                rows[-1].append([])
            else:
                rows.append([[]])
    _add(rows[-1][-1], source[begin : bounds[1]], current)
    return [row for row in rows if any(row)]


def _add(cell: list[Piece], source: str, steps: tuple[int, ...]) -> None:
    if source.strip():
        cell.append(Piece(source=source.strip(), steps=steps))
