"""The stretches of a document that are answers, as the outline sees them."""

import re
from itertools import pairwise

from regard.derivations.reading.answer_marks import AnswerMark
from regard.derivations.reading.document import Document, Range
from regard.derivations.reading.openings import openings
from regard.derivations.reading.outline import outline

RULE = re.compile(r"(?:[\r\n][ \t]*(?:-{3,}|\*{3,}|_{3,}))\s*\Z")


def answers(document: Document) -> list[tuple[str, Range]]:
    """Path and range of all that neither restates a question nor is a heading or a mark such as "My answer:"."""
    found = outline(document)
    ends = {item.end for item in found.restated}
    marks = [mark for mark in openings(document) if isinstance(mark, AnswerMark)]
    holes = [
        *found.restated,
        *(Range(start=section.start, end=section.body) for section in found.sections),
        *(mark for mark in marks if mark.start in ends and mark.form != "wrapper"),
        *document.comments,
        *([document.front_matter] if document.front_matter else []),
    ]
    cuts = {0, len(document.text)}.union(*({item.start, item.end} for item in (*holes, *found.sections)))
    result = []
    for start, end in pairwise(sorted(cuts)):
        text = RULE.sub("", document.text[start:end])
        if text.strip().strip("> \t\r\n*_-") and not any(hole.holds(start) for hole in holes):
            section = found.section_at(start)
            begin = start + len(text) - len(text.lstrip())
            whole = Range(start=begin, end=begin + len(text.strip()))
            result.append(("/".join(section.path) if section else "", whole))
    return result
