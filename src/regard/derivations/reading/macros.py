r"""Macros that a document defines for itself, and their expansion within hard limits.

`\newcommand`, `\renewcommand`, `\providecommand`, `\def`, `\gdef` and `\DeclareMathOperator` with up to nine plain
arguments are collected. Definitions with optional or delimited arguments are passed over, not half understood.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from regard.core.errors import InputError
from regard.derivations.reading.ranges import Range

MAX_MACROS = 200
MAX_BODY = 2_000

_DEFINER = re.compile(
    r"\\(?:(?P<new>(?:new|renew|provide)command)\*?|(?P<operator>DeclareMathOperator)(?P<star>\*?)|(?P<def>g?def))"
    r"(?![A-Za-z@])\s{0,9}"
)
_NAME = re.compile(r"\{\s{0,9}(\\(?:[A-Za-z@]+|[^A-Za-z\s]))\s{0,9}\}|(\\(?:[A-Za-z@]+|[^A-Za-z\s]))")
_ARITY = re.compile(r"\s{0,9}(?:\[(\d)\])?\s{0,9}")
_OPTIONAL = re.compile(r"\[")
_PARAMETERS = re.compile(r"((?:#\d)*)\s{0,9}")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_PIECE = re.compile(r"#(\d)|\\(?:[A-Za-z@]+|.)|.", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Macro:
    r"""A command of the document's own: `name` (with its backslash) takes `arity` arguments, `#1` … in `body`."""

    name: str
    arity: int
    body: str


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """A source with its macros expanded, and for each character the offset in the source that it comes from."""

    source: str
    offsets: tuple[int, ...]

    def source_offset(self, offset: int) -> int:
        """The offset in the unexpanded source; for a character of a macro's body, that of the macro's call."""
        return self.offsets[offset]


def group_end(text: str, start: int, limit: int = MAX_BODY) -> int | None:
    """The offset after the brace that closes the group opening at `start`, if it comes within the limit.

    >>> group_end("{a{b}}c", 0)
    6
    """
    if not text.startswith("{", start):
        return None
    depth = 0
    for brace in _BRACE.finditer(text, start, start + limit + 2):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.end()
    return None


def definitions(text: str) -> Iterator[tuple[Range, Macro | None]]:
    r"""Where macros are defined, and what each means; None where the definition is not a plain one.

    >>> [macro for _, macro in definitions(r"\newcommand{\R}{\mathbb{R}} \def\norm#1{\|#1\|}")]
    [Macro(name='\\R', arity=0, body='\\mathbb{R}'), Macro(name='\\norm', arity=1, body='\\|#1\\|')]
    """
    place = num_tried = 0
    while (found := _DEFINER.search(text, place)) and num_tried < MAX_MACROS:
        num_tried += 1
        place = found.end()
        definition = _definition(text, found)
        if definition:
            place, macro = definition
            yield Range(start=found.start(), end=place), macro


def _definition(text: str, found: re.Match[str]) -> tuple[int, Macro | None] | None:
    name = _NAME.match(text, found.end())
    if name is None:
        return None
    pattern = _PARAMETERS if found["def"] else _ARITY
    parameters = pattern.match(text, name.end())
    assert parameters is not None
    optional = _OPTIONAL.match(text, parameters.end())
    start = text.find("{", parameters.end(), parameters.end() + 200) if optional else parameters.end()
    end = group_end(text, start) if start >= 0 else None
    if end is None:
        return None
    given = parameters[1] or ""
    arity = len(given) // 2 if found["def"] else int(given or 0)
    body = text[start + 1 : end - 1].replace("\0", "")
    if found["operator"]:
        body = f"\\operatorname{found['star']}{{{body}}}"
    used = {int(number) for number in re.findall(r"#(\d)", body)}
    is_plain = not optional and used <= set(range(1, arity + 1)) and "##" not in body
    return end, Macro(name=name[1] or name[2], arity=arity, body=body) if is_plain else None


def expand(source: str, macros: Iterable[Macro], limit: int = 20_000) -> Expansion:
    r"""The source with its macros expanded, however deep; refused with an `InputError` past `limit` tokens.

    >>> expand(r"\R^d", [Macro(name=r"\R", arity=0, body=r"\mathbb{R}")]).source
    '\\mathbb{R}^d'
    """
    known = {macro.name: macro for macro in macros}
    pending = [_Token(piece[0], piece.start(), is_written=True) for piece in _PIECE.finditer(source)][::-1]
    done: list[_Token] = []
    work = 0
    while pending:
        token = pending.pop()
        macro = known.get(token.text)
        if macro is None:
            done.append(token)
            continue
        body = _filled(macro, [_argument(macro, pending) for _ in range(macro.arity)], token.origin)
        work += len(body) + 1
        if work > limit:
            raise InputError(f"The macro {macro.name} grows past {limit} tokens. Write it out, or simplify it.")
        pending += body[::-1]
    return _joined(done)


class _Token(NamedTuple):
    text: str
    origin: int
    is_written: bool


def _argument(macro: Macro, pending: list[_Token]) -> list[_Token]:
    while pending and pending[-1].text.isspace():
        pending.pop()
    if not pending or pending[-1].text == "}":
        raise InputError(f"The macro {macro.name} needs {macro.arity} arguments, and one is missing. Put it in braces.")
    taken = [pending.pop()]
    depth = 1 if taken[0].text == "{" else 0
    while depth and pending:
        taken.append(pending.pop())
        depth += {"{": 1, "}": -1}.get(taken[-1].text, 0)
    if depth:
        raise InputError(f"An argument of the macro {macro.name} has no closing brace. Close it.")
    return taken[1:-1] if taken[0].text == "{" else taken


def _filled(macro: Macro, arguments: list[list[_Token]], origin: int) -> list[_Token]:
    body: list[_Token] = []
    for piece in _PIECE.finditer(macro.body):
        body += arguments[int(piece[1]) - 1] if piece[1] else [_Token(piece[0], origin, is_written=False)]
    return body


def _joined(tokens: list[_Token]) -> Expansion:
    """A blank goes between a command and a letter that expansion has brought together."""
    text: list[str] = []
    offsets: list[int] = []
    for before, token in zip((_Token("", 0, is_written=False), *tokens), tokens, strict=False):
        if len(before.text) > 1 and before.text[-1].isalpha() and re.match("[A-Za-z@]", token.text):
            text.append(" ")
            offsets.append(token.origin)
        text.append(token.text)
        offsets += [token.origin + k if token.is_written else token.origin for k in range(len(token.text))]
    return Expansion(source="".join(text), offsets=tuple(offsets))
