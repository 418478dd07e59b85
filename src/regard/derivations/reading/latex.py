r"""The layout of a LaTeX file: what lies between `\begin{document}` and `\end{document}`, comments and code aside."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from regard.derivations.reading.document import Heading
from regard.derivations.reading.layout import Layout
from regard.derivations.reading.macros import definitions, group_end
from regard.derivations.reading.ranges import Range, line_starts, masked

_HIDDEN = re.compile(
    r"\\begin\s{0,9}\{(verbatim|Verbatim|lstlisting|minted|comment|filecontents)\*?\}"
    r"|\\(?:verb|lstinline)\*?([^A-Za-z\s*{\\])|\\[\s\S]|%[^\r\n]*"
)
_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")
_HEADING = re.compile(rf"\\({'|'.join(_LEVELS)})(?![A-Za-z])\*?\s{{0,9}}(?:\[[^\]\r\n]{{0,300}}\])?\s{{0,9}}(?=\{{)")
_BREAK = re.compile(r"\\(?:item|par|question|titledquestion|part|subpart|(?:sub){0,2}section)(?![A-Za-z])")
_QUOTE = re.compile(r"\\(begin|end)\{(quote|quotation|displayquote)\}")
_MAX_TITLE = 500
_MAX_HEADINGS = 5_000


@dataclass(frozen=True, kw_only=True)
class _Hidden(Range):
    is_comment: bool


def latex_layout(text: str) -> Layout:
    """The layout of a LaTeX file; the preamble is its front matter."""
    hidden = list(_hidden(text))
    readable = masked(text, hidden)
    macros = list(definitions(readable))
    begin, end = readable.find(r"\begin{document}"), readable.find(r"\end{document}")
    front = Range(start=0, end=begin + len(r"\begin{document}")) if begin >= 0 else None
    outside = [Range(start=end, end=len(text))] if end >= 0 else []
    visible = masked(readable, [*(place for place, _ in macros), *([front] if front else []), *outside])
    cuts = [*(item for item in hidden if item.is_comment), *(place for place, _ in macros)]
    headings = tuple(_headings(visible))
    breaks = {found.start() for found in _BREAK.finditer(visible)} | {heading.start for heading in headings}
    return Layout(
        text=text,
        visible=visible,
        regions=tuple(_paragraphs(visible)),
        breaks=tuple(sorted(breaks)),
        dropped=tuple(sorted(cuts, key=lambda item: item.start)),
        headings=headings,
        quotes=tuple(_quotes(visible)),
        front_matter=front,
        code=tuple(item for item in hidden if not item.is_comment),
        comments=tuple(item for item in hidden if item.is_comment) + tuple(outside),
        macros=tuple(macro for _, macro in macros if macro),
        is_latex=True,
    )


def _hidden(text: str) -> Iterator[_Hidden]:
    """Comments, `\\verb` and verbatim environments, in order; an environment that nothing ends hides nothing."""
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
            end = re.compile(f"[\r\n{re.escape(found[2])}]").search(text, place)
            if end and end[0] == found[2]:
                place = end.end()
                yield _Hidden(start=found.start(), end=place, is_comment=False)


def _paragraphs(visible: str) -> Iterator[Range]:
    starts = (*line_starts(visible), len(visible))
    first = last = -1
    for start, end in pairwise(starts):
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
            title = visible[found.end() + 1 : end - 1]
            yield Heading(
                start=found.start(),
                end=end,
                level=_LEVELS.index(found[1]) + 1,
                title=title,
                title_start=found.end() + 1,
            )


def _quotes(visible: str) -> Iterator[Range]:
    start = -1
    for found in _QUOTE.finditer(visible):
        if found[1] == "begin":
            start = found.end() if start < 0 else start
        elif start >= 0:
            yield Range(start=start, end=found.start())
            start = -1
