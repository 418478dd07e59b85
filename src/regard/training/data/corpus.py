"""The text to learn from: one document per line, `Name. text`; one question per line, `question TAB answer`."""

import re
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from regard.core.errors import InputError
from regard.core.files import read_regular_file

Span = tuple[int, int]

# A full stop after one of these does not end a name: a single letter, or a title.
_ABBREVIATED = re.compile(r"(?:^|[\s.])(?:[^\W\d_]|St|Dr|Mr|Mrs|Ms|Prof|Rev|Sir|Lt|Col|Gen|Capt|Ste|Mt|Hon)$")
# A percent-encoded letter beyond ASCII, such as the `%C3%B8` of `B%C3%B8rglum`: two, three or four bytes.
_NEXT = "%[89AB][0-9A-F]"
_ESCAPED = re.compile(f"%[CD][0-9A-F]{_NEXT}|%E[0-9A-F](?:{_NEXT}){{2}}|%F[0-7](?:{_NEXT}){{3}}", re.IGNORECASE)
_SPACE = re.compile(r"\s")
_WORD = re.compile(r"\S+")
_PUNCTUATION = '?!.,;:"“”()'
_POSSESSIVE = ("'s", "’s")


@dataclass(frozen=True, kw_only=True)
class CorpusDocument:
    """A text about a person. Without a name, the whole line is the text."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class FactQuestion:
    """A question and its correct answer."""

    text: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """Documents to read, questions asked in training, and questions held out. `sources` describes their origin."""

    documents: tuple[CorpusDocument, ...]
    questions: tuple[FactQuestion, ...]
    held_out: tuple[FactQuestion, ...]
    sources: tuple[str, ...]

    @property
    def most_common_answer(self) -> str:
        """The most frequent answer to the training questions."""
        return Counter(question.answer for question in self.questions).most_common(1)[0][0] if self.questions else ""


def read_documents(path: Path) -> tuple[CorpusDocument, ...]:
    """Every line that is not blank, normalized and split into name and text."""
    documents = tuple(split_name(normalize_text(line)) for _, line in _lines(path))
    if not documents:
        raise InputError(f"{path} has no documents. Give one document per line, for example: Ada Byron. Born in …")
    return documents


def read_questions(path: Path) -> tuple[FactQuestion, ...]:
    """Every line that is not blank, split at its tab. Answers are normalized; questions stay as written."""
    questions = tuple(_question(path, number, line) for number, line in _lines(path))
    if not questions:
        raise InputError(
            f"{path} has no questions. Give one per line, for example: Where was Ada Byron born?<TAB>London"
        )
    return questions


def split_name(line: str) -> CorpusDocument:
    """The name before the first full stop that ends one, and the text after it.

    >>> split_name("Asa G. Yancey, Sr.. Asa Yancey was born in Atlanta .")
    CorpusDocument(name='Asa G. Yancey, Sr.', text='Asa Yancey was born in Atlanta .')
    >>> split_name("no name here")
    CorpusDocument(name='', text='no name here')
    """
    start = 0
    while (stop := line.find(". ", start)) >= 0:
        if not _ABBREVIATED.search(line[:stop]):
            return CorpusDocument(name=line[:stop].strip(), text=line[stop + 2 :].strip())
        start = stop + 1
    return CorpusDocument(name="", text=line.strip())


def normalize_text(text: str) -> str:
    """Percent-encoded letters decoded, and every whitespace character turned into a plain space.

    >>> normalize_text("Lene B%C3%B8rglum")
    'Lene Børglum'
    >>> normalize_text("100%20 %C3%28")
    '100%20 %C3%28'
    """
    return _SPACE.sub(" ", _ESCAPED.sub(lambda found: _unescaped(found[0]), text))


def find_known_name(text: str, names: Container[str]) -> Span | None:
    """The span of the longest run of whole words that is a known name, with or without surrounding punctuation.

    >>> find_known_name("What is the birthplace of John Adams?", {"John", "John Adams", "John Adam"})
    (26, 36)
    >>> find_known_name("Where was Asa Yancey, Sr. born?", {"Asa Yancey, Sr."})
    (10, 25)
    """
    whole = [found.span() for found in _WORD.finditer(text)]
    bare = word_spans(text)
    for length in range(len(whole), 0, -1):
        for first in range(len(whole) - length + 1):
            last = first + length - 1
            for start, end in ((whole[first][0], whole[last][1]), (bare[first][0], bare[last][1])):
                if text[start:end] in names:
                    return start, end
    return None


def word_spans(text: str) -> list[Span]:
    """The span of each word, without surrounding punctuation and possessive endings."""
    spans = []
    for found in _WORD.finditer(text):
        start, end = found.span()
        while start < end and text[start] in _PUNCTUATION:
            start += 1
        while end > start and text[end - 1] in _PUNCTUATION:
            end -= 1
        spans.append((start, end - 2 if text[start:end].endswith(_POSSESSIVE) else end))
    return spans


def _unescaped(letter: str) -> str:
    try:
        return unquote(letter, errors="strict")
    except UnicodeDecodeError:
        return letter


def _question(path: Path, number: int, line: str) -> FactQuestion:
    text, *answers = line.split("\t")
    if len(answers) != 1:
        found = "no tab" if not answers else f"{len(answers)} tabs"
        raise InputError(f"{path}:{number} has {found} in {line[:60]!r}. Write the question, one tab, the answer.")
    if not text.strip() or not answers[0].strip():
        raise InputError(f"{path}:{number} has an empty {'question' if not text.strip() else 'answer'}. Fill it in.")
    return FactQuestion(text=text.strip(), answer=normalize_text(answers[0]).strip())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, numbered, without byte order mark and carriage returns."""
    try:
        raw = read_regular_file(path)
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}.") from None
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}:{number} is not UTF-8 (byte {error.start + 1} of the line). Save the file as UTF-8."
            ) from None
        if text.strip():
            yield number, text
