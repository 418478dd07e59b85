"""Pictures that a document shows: Markdown, HTML and LaTeX ways of including one."""

import re
from collections.abc import Iterator

from regard.derivations.reading.document import Image

_IMAGE = re.compile(r"!\[([^\[\]\r\n]{0,500})\](?=[(\[])|!\[\[|<img\b|\\includegraphics(?![A-Za-z])", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s{0,9}=\s{0,9}["']([^"'>]{0,500})""", re.IGNORECASE)
_END = {"(": ")", "[": "]", "!": "]]", "<": ">", "\\": "}"}
_MAX_LENGTH = 2_000


def images(visible: str) -> Iterator[Image]:
    """The pictures of a text, in order.

    >>> [image.alt for image in images('![a plot](plot.png) <img src="b.png" alt="b">')]
    ['a plot', 'b']
    """
    for found in _IMAGE.finditer(visible):
        kind = visible[found.end()] if found[0].endswith("]") else found[0][0]
        end = visible.find(_END[kind], found.end(), found.end() + _MAX_LENGTH)
        end = found.end() if end < 0 else end + len(_END[kind])
        alt = _ALT.search(visible, found.end(), end) if kind == "<" else None
        yield Image(start=found.start(), end=end, alt=found[1] or (alt[1] if alt else ""))
