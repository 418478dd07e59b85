"""Whether the text before a marker asks a question, or is already an answer."""

import re

from regard.derivations.reading.phrases import any_of
from regard.derivations.reading.splitting import PLACEHOLDER

NEARBY = 1_500
_ASKS = re.compile(
    rf"[?？][*_)\s]{{0,9}}(?:[\r\n]|\Z)|{any_of('asks_inside')}"
    rf"|(?:\A|[.;:!)*]\s|[\r\n])[\s*_]{{0,4}}{any_of('asks')}"
)
_ORDER = re.compile(rf"\*\*{any_of('order')}", re.IGNORECASE)
_GAP = re.compile(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)")
_NEXT_PARAGRAPH = re.compile(r"(?:\r\n|\r|\n)[ \t>]*(?:\r\n|\r|\n)\s*\S")
_BOLD = re.compile(r"\*\*[^*]+\*\*[:：]?|__[^_]+__[:：]?")


def asks(prose: str) -> bool:
    """True if a text gives somebody something to do: an order, or a question at the end of a line.

    >>> asks("Find a query."), asks("We find a query.")
    (True, False)
    """
    return _ASKS.search(prose) is not None


def ends_in_a_question(text: str) -> bool:
    """True if the last paragraph of a text asks, or has a question mark anywhere.

    >>> ends_in_a_question("Why?"), ends_in_a_question("Why?\\n\\nSo it is.")
    (True, False)
    """
    paragraph = _GAP.split(text.strip())[-1]
    return "?" in paragraph or "？" in paragraph or _ORDER.search(paragraph) is not None or asks(paragraph)


def is_summed_up(before: str, after: str) -> bool:
    """True if an "Answer: …" sums up the derivation before it: mathematics that asks nothing, then one paragraph."""
    is_one_paragraph = after.strip() != "" and not _NEXT_PARAGRAPH.search(after)
    return PLACEHOLDER in before and not asks(before) and is_one_paragraph


def is_only_bold(text: str) -> bool:
    """True if a text holds words in bold, or nothing at all.

    >>> is_only_bold("**What is it?**"), is_only_bold("**What** is it?")
    (True, False)
    """
    return not _BOLD.sub("", text).strip("> \t\r\n")
