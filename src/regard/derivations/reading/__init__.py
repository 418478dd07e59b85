"""Documents as people hand them in: raw text, the mathematics in it by offset, and how it is divided into answers."""

from regard.derivations.reading.answers import AnswerRange, answer_ranges
from regard.derivations.reading.document import Document, Heading, Image, Kind, MathSpan, Unclosed
from regard.derivations.reading.files import KINDS, MAX_BYTES, documents_in, read, read_text
from regard.derivations.reading.macros import Expansion, Macro, expand
from regard.derivations.reading.outline import Section, outline, section_at
from regard.derivations.reading.ranges import Line, OffsetMap, Range
from regard.derivations.reading.sentences import Passage, prose, sentence_after, sentence_before
from regard.derivations.reading.splitting import PLACEHOLDER

__all__ = [
    "KINDS",
    "MAX_BYTES",
    "PLACEHOLDER",
    "AnswerRange",
    "Document",
    "Expansion",
    "Heading",
    "Image",
    "Kind",
    "Line",
    "Macro",
    "MathSpan",
    "OffsetMap",
    "Passage",
    "Range",
    "Section",
    "Unclosed",
    "answer_ranges",
    "documents_in",
    "expand",
    "outline",
    "prose",
    "read",
    "read_text",
    "section_at",
    "sentence_after",
    "sentence_before",
]
