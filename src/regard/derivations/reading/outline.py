"""How a document is divided into questions: sections with paths such as ("1", "b", "i").

The top level is an arabic number, the second a letter, the third a roman numeral; a level that the document doesn't
tell is the empty string. Sections nest: one ends where its next sibling, or that of an ancestor, begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.derivations.reading.document import Document
from regard.derivations.reading.folding import Folding, Question
from regard.derivations.reading.latex_items import numbered_items
from regard.derivations.reading.markers import Marker
from regard.derivations.reading.openings import Opening, events
from regard.derivations.reading.ranges import Range

# Two questions that end in a block quote make a habit.
_MIN_QUOTED = 2


@dataclass(frozen=True, kw_only=True)
class Section(Range):
    """A question's part of the document, from its heading at `start`; its text begins at `body`.

    `is_restated` says that all of it is the question's own text, and that the answer comes later.
    """

    path: tuple[str, ...]
    title: str
    body: int
    is_restated: bool = False


@dataclass(frozen=True, kw_only=True)
class Structure:
    """The sections of a document, where its answers are marked, and the ranges that only restate questions."""

    sections: tuple[Section, ...]
    markers: tuple[Marker, ...]
    questions: tuple[Range, ...]


def outline(document: Document) -> tuple[Section, ...]:
    """The sections of a document in the order in which they open.

    >>> from regard.derivations.reading.files import read_text
    >>> [section.path for section in outline(read_text("1.(a) Copying\\n\\ni. Yes.\\n\\n1.(b)\\n\\nNo."))]
    [('1', 'a'), ('1', 'a', 'i'), ('1', 'b')]
    """
    return structure(document).sections


def section_at(sections: Sequence[Section], offset: int) -> Section | None:
    """The innermost section with a path that holds an offset; failing that, the innermost with a title."""
    holding = [section for section in sections if section.holds(offset)]
    with_path = [section for section in holding if section.path]
    return next(reversed(with_path or holding), None)


def structure(document: Document) -> Structure:
    """The sections of a document and what in them is question and not answer."""
    found = sorted([*events(document), *numbered_items(document)], key=lambda item: item.start)
    folding = _folded(document, found, takes_quotes=False)
    if folding.num_quoted >= _MIN_QUOTED:
        folding = _folded(document, found, takes_quotes=True)
    sections = sorted(folding.questions, key=lambda item: (item.start, -item.end))
    return Structure(
        sections=tuple(_section(document, question) for question in sections),
        markers=tuple(folding.markers),
        questions=tuple(folding.restated),
    )


def _folded(document: Document, found: Sequence[Opening | Marker], *, takes_quotes: bool) -> Folding:
    folding = Folding(document, found, takes_quotes=takes_quotes)
    for index, event in enumerate(found):
        if isinstance(event, Opening):
            folding.open(event)
        else:
            folding.mark(event, index)
    folding.close(len(document.text))
    return folding


def _section(document: Document, question: Question) -> Section:
    """The section of a question; a line that is all there is of it counts as its text, not only as its title."""
    is_empty = question.first_inner < 0 and not document.text[question.body : question.end].strip()
    return Section(
        start=question.start,
        end=question.end,
        body=min(question.words if is_empty else question.body, question.end),
        path=question.path,
        title=question.title,
        is_restated=question.is_restated,
    )
