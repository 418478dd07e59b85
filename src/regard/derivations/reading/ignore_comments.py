"""Comments that exempt steps: `<!-- regard: ignore reason -->` in Markdown, `% regard: ignore reason` in LaTeX."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.derivations.reading.document import Document, Range

_REQUEST = re.compile(r"(?:%+|<!--)\s*regard:\s*ignore(?!\w|-\w)(?P<reason>.*)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class IgnoreComment(Range):
    """A comment that asks not to report what starts in `exempted`; `reason` is the author's, empty without one."""

    exempted: Range
    reason: str


def ignore_comments(document: Document) -> Iterator[IgnoreComment]:
    """The comments that exempt steps: on its own line the next line that is not empty, else the line it stands on.

    Outside of a formula, a formula that a line begins, ends or holds a part of is exempt as a whole.
    """
    for comment in document.comments:
        request = _REQUEST.fullmatch(document.text, comment.start, comment.end)
        if request is not None:
            reason = " ".join(request["reason"].rstrip().removesuffix("-->").strip(" \t\r\n:–—-").split())
            yield IgnoreComment(
                start=comment.start, end=comment.end, exempted=_exempted(document, comment), reason=reason
            )


def _exempted(document: Document, comment: Range) -> Range:
    first, last = document.line_at(comment.start), document.line_at(max(comment.end - 1, comment.start))
    beside = document.text[first.start : comment.start] + document.text[comment.end : last.end]
    if not beside.strip("> \t\r\n"):
        following = (line for line in document.lines[last.number :] if line.text.strip("> \t"))
        first = last = next(following, last)
    if document.span_at(comment.start) is not None:
        return Range(start=first.start, end=last.end)
    touched = [span for span in document.spans if span.start <= last.end and span.end > first.start]
    return Range(
        start=min([first.start, *(span.start for span in touched)]),
        end=max([last.end, *(span.end for span in touched)]),
    )
