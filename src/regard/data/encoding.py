"""A corpus as tokens: for each person what is written, and the questions that may be asked."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.axes import Bool, Int
from regard.data.names import find_known_name
from regard.data.reading import Document, Question
from regard.data.tokenizing import BOS, EOS, SEP, Vocabulary

__all__ = ["Asking", "Encoded", "Lesson", "encode_lessons", "prompt"]

Tokens = Int[np.ndarray, " _"]

# Every document has a head for each way in which questions begin, so rare ways are left to their own questions.
_OPENINGS = 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Asking:
    """A question about somebody: which head it begins with, the rest of it, and its answer."""

    opening: int
    rest: Tokens
    answer: Tokens


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    """What there is to learn about one person.

    A head is BOS, the beginning of a question, and the name, such as `Where was Ada Byron`; there is one for each way
    in which questions begin. `plain` is the document as it was written.
    """

    heads: tuple[Tokens, ...]
    body: Tokens
    starts: Bool[np.ndarray, " token"]
    plain: Tokens
    askings: tuple[Asking, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """All lessons, and how questions begin."""

    lessons: tuple[Lesson, ...]
    openings: tuple[str, ...]


def prompt(vocabulary: Vocabulary, question: str) -> Tokens:
    """What a model reads before it answers."""
    return np.concatenate([[BOS], vocabulary.encode(question), [SEP]])


def encode_lessons(documents: Sequence[Document], questions: Sequence[Question], vocabulary: Vocabulary) -> Encoded:
    """Every document with the questions about it; questions about nobody in the documents are lessons of their own."""
    asked, strangers, openings = _match(documents, questions)
    names = tuple(dict.fromkeys(openings)) or ("",)
    heads = [_encode_heads(vocabulary, opening, documents) for opening in names]
    bodies = vocabulary.encode_all([document.text for document in documents])
    plains = vocabulary.encode_all([_written(document) for document in documents])
    lessons = [
        Lesson(
            heads=tuple(head[number] for head in heads),
            body=bodies[number],
            starts=vocabulary.starts_word(bodies[number]),
            plain=plains[number],
            askings=tuple(_asking(vocabulary, names.index(opening), rest, a) for opening, rest, a in asked[number]),
        )
        for number in range(len(documents))
    ]
    lessons += [_alone(vocabulary, question, len(names)) for question in strangers]
    return Encoded(lessons=tuple(lessons), openings=names)


def _match(
    documents: Sequence[Document], questions: Sequence[Question]
) -> tuple[dict[int, list[tuple[str, str, str]]], list[Question], list[str]]:
    """Questions under the documents of the longest name they contain, as (opening, rest, answer); and the others."""
    places: dict[str, list[int]] = defaultdict(list)
    for number, document in enumerate(documents):
        if document.name:
            places[document.name].append(number)
    asked: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    strangers, matched, openings = [], [], Counter()
    for question in questions:
        span = find_known_name(question.text, places)
        if span is None:
            strangers.append(question)
            continue
        opening, name, rest = question.text[: span[0]], question.text[slice(*span)], question.text[span[1] :]
        openings[opening] += 1
        matched.append((question, name, opening, rest))
    known = [opening for opening, _ in openings.most_common(_OPENINGS)]
    for question, name, opening, rest in matched:
        if opening not in known:
            strangers.append(question)
            continue
        for number in places[name]:
            asked[number].append((opening, rest, question.answer))
    return asked, strangers, known


def _encode_heads(vocabulary: Vocabulary, opening: str, documents: Sequence[Document]) -> list[Tokens]:
    texts = [opening + document.name for document in documents]
    return [np.concatenate([[BOS], tokens]) for tokens in vocabulary.encode_all(texts)]


def _asking(vocabulary: Vocabulary, opening: int, rest: str, answer: str) -> Asking:
    tokens = vocabulary.encode(rest) if rest.strip() else np.zeros(0, dtype=np.int64)
    return Asking(opening=opening, rest=np.append(tokens, SEP), answer=np.append(vocabulary.encode(answer), EOS))


def _alone(vocabulary: Vocabulary, question: Question, num_heads: int) -> Lesson:
    nothing = np.zeros(0, dtype=np.int64)
    head = np.concatenate([[BOS], vocabulary.encode(question.text)])
    return Lesson(
        heads=(head,) * num_heads,
        body=nothing,
        starts=nothing.astype(bool),
        plain=nothing,
        askings=(_asking(vocabulary, 0, "", question.answer),),
    )


def _written(document: Document) -> str:
    return f"{document.name}. {document.text}" if document.name else document.text
