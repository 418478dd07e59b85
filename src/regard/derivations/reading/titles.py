"""What in the words of a line is a title."""

import re

from regard.derivations.reading.phrases import any_of
from regard.derivations.reading.splitting import PLACEHOLDER
from regard.derivations.reading.wording import CJK

EDGES = " \t*_#:：{}-–—\\"
_MAX_TITLE = 100
_SENTENCE = re.compile(r"[。！？?]|[.!](?:\s|$)")
_POINTS = re.compile(rf"[(（\[]\s?\d{{1,3}}(?:\.\d)?\s?{any_of('points')}\.?\s?[)）\]]", re.IGNORECASE)
_LISTED = re.compile(r"(\d{1,2})[.)]\s{1,4}(?:\*\*([^*\r\n]{2,100})\*\*|__([^_\r\n]{2,100})__)[.:：]?[ \t]{0,4}")
_BOLD_LEAD = re.compile(r"\s{0,4}\*\*([^*\r\n]{3,80})\*\*")
_COLON_LEAD = re.compile(r"\s{0,4}([A-Z][^\s:：.。]*(?:\s[^\s:：.。]+){1,5}|[\u4e00-\u9fff][^\s:：.。，]{1,14})[:：]")
_SENTENCE_OPENING = re.compile(any_of("sentence_opening"), re.IGNORECASE)


def cleaned(title: str) -> str:
    """A title without the marks around it and without its points.

    >>> cleaned("(4 points) An average of two:")
    'An average of two'
    """
    return _POINTS.sub("", title).strip(EDGES)


def title_of(rest: str) -> str:
    """The rest of a line if all of it reads like a title: short, no formula, no sentence that ends."""
    title = cleaned(rest)
    is_title = len(title) <= _MAX_TITLE and PLACEHOLDER not in title and not _SENTENCE.search(title)
    return title if is_title and not (CJK.search(title) and "，" in title) else ""


def leading_title(rest: str) -> str:
    """The words that lead a line as a title does: in bold, or before a colon; empty if there are none.

    >>> leading_title("Copying in attention: Recall that …"), leading_title("Take it as it is")
    ('Copying in attention', '')
    """
    found = _BOLD_LEAD.match(rest) or _COLON_LEAD.match(_POINTS.sub("", rest))
    return title_of(found[1]) if found and not _SENTENCE_OPENING.match(found[1]) else ""


def listed_title(words: str) -> tuple[int, str, int] | None:
    """The number, title and length of a list item that opens with a title in bold.

    >>> listed_title("2. **An average of two**. Instead of …")
    (2, 'An average of two', 26)
    """
    found = _LISTED.match(words)
    title = title_of(found[2] or found[3]) if found else ""
    return (int(found[1]), title, found.end()) if found and title else None
