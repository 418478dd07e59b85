r"""Reads LaTeX files: what lies between `\begin{document}` and `\end{document}`, without comments and code.

Also the macros that a document, LaTeX or Markdown, defines: `\newcommand`, `\renewcommand`, `\providecommand`, `\def`,
`\gdef` and `\DeclareMathOperator` with up to nine plain arguments. Definitions with optional or delimited arguments are
skipped, not half understood.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

from regard.core.errors import InputError
from regard.derivations.reading.braces import group_end
from regard.derivations.reading.delimiters import TextLayout, find_images, find_mathematics
from regard.derivations.reading.document import Document, Heading, Macro, Range, by_start, line_starts, masked

_HIDDEN = re.compile(
    r"\\begin\s{0,9}\{(verbatim|Verbatim|lstlisting|minted|comment|filecontents)\*?\}"
    r"|(\\iffalse)(?![A-Za-z@])|\\(?:verb|lstinline)\*?([^A-Za-z\s*{\\])|\\[\s\S]|%[^\r\n]*"
)
_CONDITIONAL = re.compile(r"\\(?:(?P<opens>if(?!f(?![A-Za-z@]))[A-Za-z@]*)|else|(?P<closes>fi))(?![A-Za-z@])")
_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_HEADING = re.compile(rf"\\({'|'.join(_LEVELS)})(?![A-Za-z])\*?\s{{0,9}}(?:\[[^\]\r\n]{{0,300}}\])?\s{{0,9}}(?=\{{)")
_BREAK = re.compile(r"\\(?:item|par|question|titledquestion|part|subpart|(?:sub){0,2}section)(?![A-Za-z])")
_QUOTE = re.compile(r"\\(begin|end)\{(quote|quotation|displayquote)\}")
_MAX_TITLE = 500
_MAX_HEADINGS = 5_000


@dataclass(frozen=True, kw_only=True)
class _Hidden(Range):
    is_comment: bool


def read_latex(text: str, path: str) -> Document:
    r"""The document in a LaTeX file; the preamble is its front matter.

    >>> document = read_latex(r"\section{One} Take \(q\). % not $this$", "a.tex")
    >>> document.headings[0].title, document.spans[0].source, len(document.spans)
    ('One', 'q', 1)
    """
    hidden = list(_hidden(text))
    readable = masked(text, hidden)
    macros = list(macro_definitions(readable))
    definitions = [place for place, _ in macros]
    begin, end = readable.find(r"\begin{document}"), readable.find(r"\end{document}")
    front = Range(start=0, end=begin + len(r"\begin{document}")) if begin >= 0 else None
    outside = [Range(start=end, end=len(text))] if end >= 0 else []
    visible = masked(readable, [*definitions, *([front] if front else []), *outside])
    comments = [item for item in hidden if item.is_comment]
    headings = tuple(_headings(visible))
    breaks = {found.start() for found in _BREAK.finditer(visible)} | {heading.start for heading in headings}
    layout = TextLayout(
        text=text,
        visible=visible,
        paragraphs=list(_paragraphs(visible)),
        breaks=sorted(breaks),
        dropped=sorted([*comments, *definitions], key=by_start),
        macros=[macro for _, macro in macros if macro],
        is_latex=True,
    )
    spans, unclosed = find_mathematics(layout)
    return Document(
        path=path,
        kind="latex",
        text=text,
        spans=spans,
        images=tuple(find_images(visible)),
        headings=headings,
        quotes=tuple(_quotes(visible)),
        front_matter=front,
        code=tuple(item for item in hidden if not item.is_comment),
        comments=(*comments, *outside),
        unclosed=unclosed,
        macros=tuple(macro for _, macro in macros if macro),
    )


def _hidden(text: str) -> Iterator[_Hidden]:
    r"""Comments, what `\iffalse` leaves out, `\verb` and verbatim environments, in order.

    An environment that nothing ends hides nothing.
    """
    place, hopeless = 0, set[str]()
    while found := _HIDDEN.search(text, place):
        place = found.end()
        if found[0].startswith("%"):
            yield _Hidden(start=found.start(), end=place, is_comment=True)
        elif found[1] and found[1] not in hopeless:
            end = text.find(f"\\end{{{found[1]}", place)
            if end < 0:
                hopeless.add(found[1])
            else:
                place = end
                yield _Hidden(start=found.start(), end=end, is_comment=found[1] == "comment")
        elif found[2]:
            place = _end_of_false(text, place)
            yield _Hidden(start=found.start(), end=place, is_comment=True)
        elif found[3]:
            end = re.compile(f"[\r\n{re.escape(found[3])}]").search(text, place)
            if end and end[0] == found[3]:
                place = end.end()
                yield _Hidden(start=found.start(), end=place, is_comment=False)


def _end_of_false(text: str, start: int) -> int:
    r"""Where the branch that `\iffalse` leaves out ends: at its `\else` or `\fi`, at once if there is none."""
    depth = 0
    for found in _CONDITIONAL.finditer(text, start):
        if found["opens"]:
            depth += 1
        elif depth == 0:
            return found.end()
        elif found["closes"]:
            depth -= 1
    return start


def _paragraphs(visible: str) -> Iterator[Range]:
    first = last = -1
    for start, end in pairwise((*line_starts(visible), len(visible))):
        if visible[start:end].strip():
            first, last = (start if first < 0 else first), end
        elif first >= 0:
            yield Range(start=first, end=last)
            first = -1
    if first >= 0:
        yield Range(start=first, end=last)


def _headings(visible: str) -> Iterator[Heading]:
    for found in islice(_HEADING.finditer(visible), _MAX_HEADINGS):
        end = group_end(visible, found.end(), _MAX_TITLE)
        if end is not None:
            level, title_start = _LEVELS.index(found[1]) + 1, found.end() + 1
            title = visible[title_start : end - 1]
            yield Heading(start=found.start(), end=end, level=level, title=title, title_start=title_start)


def _quotes(visible: str) -> Iterator[Range]:
    start = -1
    for found in _QUOTE.finditer(visible):
        if found[1] == "begin":
            start = found.end() if start < 0 else start
        elif start >= 0:
            yield Range(start=start, end=found.start())
            start = -1


# -- macros ------------------------------------------------------------------------------------------------------------
MAX_MACROS = 200
_DEFINER = re.compile(
    r"\\(?:(?P<new>(?:new|renew|provide)command)\*?|(?P<operator>DeclareMathOperator)(?P<star>\*?)|(?P<def>g?def))"
    r"(?![A-Za-z@])\s{0,9}"
)
_NAME = re.compile(r"\{\s{0,9}(\\(?:[A-Za-z@]+|[^A-Za-z\s]))\s{0,9}\}|(\\(?:[A-Za-z@]+|[^A-Za-z\s]))")
_ARITY = re.compile(r"\s{0,9}(?:\[(\d)\])?\s{0,9}")
_PARAMETERS = re.compile(r"((?:#\d)*)\s{0,9}")
_PIECE = re.compile(r"#(\d)|\\(?:[A-Za-z@]+|.)|.", re.DOTALL)


def macro_definitions(text: str) -> Iterator[tuple[Range, Macro | None]]:
    r"""Where macros are defined, and what each one is; None for a definition that isn't a plain one.

    >>> [macro for _, macro in macro_definitions(r"\newcommand{\R}{\mathbb{R}} \def\norm#1{\|#1\|}")]
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
    parameters = (_PARAMETERS if found["def"] else _ARITY).match(text, name.end())
    assert parameters is not None
    start, has_default = parameters.end(), text.startswith("[", parameters.end())
    if has_default:
        start = text.find("{", start, start + 200)
    end = group_end(text, start) if start >= 0 else None
    if end is None:
        return None
    given = parameters[1] or ""
    arity = len(given) // 2 if found["def"] else int(given or 0)
    body = text[start + 1 : end - 1].replace("\0", "")
    if found["operator"]:
        body = f"\\operatorname{found['star']}{{{body}}}"
    used = {int(number) for number in re.findall(r"#(\d)", body)}
    is_plain = not has_default and used <= set(range(1, arity + 1)) and "##" not in body
    return end, Macro(name=name[1] or name[2], arity=arity, body=body) if is_plain else None


@dataclass(frozen=True, kw_only=True)
class Expansion:
    """A source with its macros expanded, and for each character the offset in the source that it comes from.

    A character of a macro's body comes from where the macro is called.
    """

    source: str
    offsets: tuple[int, ...]


class _SourcePiece(NamedTuple):
    """A character or command with its offset in the source, or that of the macro whose body it comes from."""

    text: str
    origin: int
    is_in_source: bool


def expand(source: str, macros: Iterable[Macro], limit: int = 20_000) -> Expansion:
    r"""The source with its macros expanded, however deep; an `InputError` past `limit` tokens.

    >>> expand(r"\R^d", [Macro(name=r"\R", arity=0, body=r"\mathbb{R}")]).source
    '\\mathbb{R}^d'
    """
    known = {macro.name: macro for macro in macros}
    pending = [_SourcePiece(piece[0], piece.start(), is_in_source=True) for piece in _PIECE.finditer(source)][::-1]
    done: list[_SourcePiece] = []
    work = 0
    while pending:
        piece = pending.pop()
        macro = known.get(piece.text)
        if macro is None:
            done.append(piece)
            continue
        body = _filled(macro, [_argument(macro, pending) for _ in range(macro.arity)], piece.origin)
        work += len(body) + 1
        if work > limit:
            raise InputError(f"The macro {macro.name} expands to more than {limit} tokens. Simplify it.")
        pending += body[::-1]
    return _joined(done)


def _argument(macro: Macro, pending: list[_SourcePiece]) -> list[_SourcePiece]:
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


def _filled(macro: Macro, arguments: list[list[_SourcePiece]], origin: int) -> list[_SourcePiece]:
    body: list[_SourcePiece] = []
    for piece in _PIECE.finditer(macro.body):
        body += arguments[int(piece[1]) - 1] if piece[1] else [_SourcePiece(piece[0], origin, is_in_source=False)]
    return body


def _joined(pieces: list[_SourcePiece]) -> Expansion:
    """A blank goes between a command and a letter that expansion has brought together."""
    text: list[str] = []
    offsets: list[int] = []
    before = ""
    for piece in pieces:
        if len(before) > 1 and before[-1].isalpha() and re.match("[A-Za-z@]", piece.text):
            text.append(" ")
            offsets.append(piece.origin)
        text.append(piece.text)
        offsets += [piece.origin + k if piece.is_in_source else piece.origin for k in range(len(piece.text))]
        before = piece.text
    return Expansion(source="".join(text), offsets=tuple(offsets))
