r"""A formula cut along its steps: rows (`\\`), cells (`&`) and pieces, each piece either a step or what stands between.

A step that begins or ends inside a group takes in the whole group, so that every piece can be set on its own.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\\begin\s*\{[^{}]*\}|\\end\s*\{[^{}]*\}|\\(?:left|right)(?![A-Za-z])\s*(?:\\[A-Za-z]+|\\.|.)"
    r"|\\\\\*?(?:\s*\[\s*-?[\d.]+\s*[a-z]{2}\s*\])?|\\[A-Za-z]+\*?|\\.|\s+|.",
    re.DOTALL,
)
_OUTER = re.compile(
    r"\s*\\begin\s*\{(?P<name>(?:align(?:ed)?|gather(?:ed)?|split|equation|eqnarray|multline|alignat|alignedat)\*?)\}"
    r"(?:\s*\{\d\}|\s*\[[a-z]\])?"
)
_CLOSING = " \t\r\n.,;，。；"
_MOST_ENVIRONMENTS = 4


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """The characters of a formula's source, from `start` up to `end`, that belong to one step."""

    start: int
    end: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a formula that can be set on its own, and the steps that it belongs to (none, mostly one)."""

    source: str
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Atom:
    start: int
    end: int
    is_cut: bool = False
    wants_group: bool = False


def cut(source: str, stretches: Iterable[Stretch]) -> list[list[list[Piece]]]:
    r"""The rows of a formula, each a list of cells, each a list of pieces in order; blanks between are dropped.

    >>> cut("a = b, c", [Stretch(start=0, end=5, step=1)])
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
    """The part of the source inside environments that only align."""
    low, high = 0, len(source.rstrip(_CLOSING))
    for _ in range(_MOST_ENVIRONMENTS):
        found = _OUTER.match(source, low, high)
        closing = f"\\end{{{found['name']}}}" if found else ""
        if not found or not source.endswith(closing, low, high):
            break
        low, high = found.end(), high - len(closing)
        high = low + len(source[low:high].rstrip())
    return (low, high) if low else (0, len(source))


def _atoms(source: str, low: int, high: int) -> list[_Atom] | None:
    """The smallest parts that can stand alone: a sign, a command with its groups, a base with its scripts."""
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
    if token == "{" or token.startswith(("\\begin", "\\left")):
        return 1 if token == "{" or _is_bracket(token) else 0
    if token == "}" or token.startswith(("\\end", "\\right")):
        return -1 if token == "}" or _is_bracket(token) else 0
    return 0


def _is_bracket(token: str) -> bool:
    return re.match(r"\\(?:begin\s*\{|end\s*\{|left(?![A-Za-z])|right(?![A-Za-z]))", token) is not None


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
    return token.startswith("\\") and token[1:2].isalpha() and not _is_bracket(token)


def _snapped(stretch: Stretch, atoms: Sequence[_Atom], starts: Sequence[int]) -> tuple[int, int, int]:
    """The first and the last atom (by number) that the stretch touches, and its step."""
    first = max(bisect_right(starts, stretch.start) - 1, 0)
    if first + 1 < len(atoms) and atoms[first].end <= stretch.start:
        first += 1
    last = max(bisect_right(starts, max(stretch.end - 1, stretch.start)) - 1, first)
    return first, last, stretch.step


def _merged(snapped: Iterable[tuple[int, int, int]], atoms: Sequence[_Atom]) -> dict[int, tuple[int, ...]]:
    """For each atom the steps that it belongs to; stretches that overlap become one of several steps."""
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
