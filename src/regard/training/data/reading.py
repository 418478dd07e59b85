"""The course's files: one document a line, `Name. text`; one question a line, `question TAB answer`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import InputError
from regard.training.data.spelling import spelt_out

# A dot after these ends no name: one letter, or a title.
_GOES_ON = re.compile(r"(?:^|[\s.])(?:[^\W\d_]|St|Dr|Mr|Mrs|Ms|Prof|Rev|Sir|Lt|Col|Gen|Capt|Ste|Mt|Hon)$")


@dataclass(frozen=True, kw_only=True)
class Document:
    """What is written about somebody. Without a name the whole text is the document."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question and the answer that counts as right."""

    text: str
    answer: str


def read_documents(path: Path) -> tuple[Document, ...]:
    """Every line that is not blank, spelt out and split into a name and a text."""
    documents = tuple(split_name(spelt_out(line)) for _, line in _lines(path))
    if not documents:
        raise InputError(
            f"{path} has no documents. Give a file with one document a line, such as: Ada Byron. Born in …"
        )
    return documents


def read_questions(path: Path) -> tuple[Question, ...]:
    """Every line that is not blank, split at its tab; a question stays as it was asked, its answer is spelt out."""
    questions = tuple(_question(path, number, line) for number, line in _lines(path))
    if not questions:
        raise InputError(
            f"{path} has no questions. Give a file with lines such as: Where was Ada Byron born?<TAB>London"
        )
    return questions


def split_name(line: str) -> Document:
    """The name before the first full stop that ends one, and the text after it.

    >>> split_name("Asa G. Yancey, Sr.. Asa Yancey was born in Atlanta .")
    Document(name='Asa G. Yancey, Sr.', text='Asa Yancey was born in Atlanta .')
    >>> split_name("no name here")
    Document(name='', text='no name here')
    """
    start = 0
    while (stop := line.find(". ", start)) >= 0:
        if not _GOES_ON.search(line[:stop]):
            return Document(name=line[:stop].strip(), text=line[stop + 2 :].strip())
        start = stop + 1
    return Document(name="", text=line.strip())


def _question(path: Path, number: int, line: str) -> Question:
    text, *answers = line.split("\t")
    if len(answers) != 1:
        found = "no tab" if not answers else f"{len(answers)} tabs"
        raise InputError(f"{path}:{number} has {found} in {line[:60]!r}. Write the question, one tab, the answer.")
    if not text.strip() or not answers[0].strip():
        raise InputError(f"{path}:{number} has an empty {'question' if not text.strip() else 'answer'}. Fill it in.")
    return Question(text=text.strip(), answer=spelt_out(answers[0]).strip())


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines with something on them, numbered; a mark of byte order and carriage returns are not part of them."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}.") from None
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"), start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}:{number} is not UTF-8 (byte {error.start + 1} of the line). Save it as UTF-8."
            ) from None
        if text.strip():
            yield number, text
