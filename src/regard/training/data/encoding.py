"""A corpus as tokens: for each person what is written, and the questions that may be asked."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Bool, Int
from regard.training.data.names import find_known_name
from regard.training.data.reading import Document, Question
from regard.training.data.spelling import spelt_out
from regard.training.data.tokenizing import BOS, EOS, SEP, SPACE, Vocabulary

Tokens = Int[np.ndarray, " _"]

# Every document has a head for each way in which questions begin, so rare ways are left to their own questions.
_OPENINGS = 16
# A rarer ending is hardly one: below a `John`, the question about a `John Smith` seems to go on with ` Smith born?`.
_LEAST_SHARE = 0.01
# A word with a capital that more documents have, such as a month, is hardly a name.
_FEW_DOCUMENTS = 10


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
    in which questions begin. `starts` marks the tokens of the body that begin a word, and `salient` those of them with
    which an answer could begin. `plain` is the document as it was written.
    """

    heads: tuple[Tokens, ...]
    body: Tokens
    starts: Bool[np.ndarray, " token"]
    salient: Bool[np.ndarray, " token"]
    plain: Tokens
    askings: tuple[Asking, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AnswerForms:
    """Of which forms the first tokens of answers are, and those after them; without a first one, all tokens will do."""

    first: tuple[str, ...] = ()
    later: tuple[str, ...] = ()

    def __or__(self, other: "AnswerForms") -> "AnswerForms":
        return AnswerForms(
            first=tuple(sorted({*self.first, *other.first})), later=tuple(sorted({*self.later, *other.later}))
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """All lessons, how questions begin, how they go on after a name, and which forms answers have."""

    lessons: tuple[Lesson, ...]
    openings: tuple[str, ...]
    endings: tuple[str, ...]
    forms: AnswerForms


@dataclass(frozen=True, kw_only=True, eq=False)
class Prompt:
    """What a model reads before it answers: BOS and the question up to its name, then the rest of it and SEP."""

    head: Tokens
    rest: Tokens

    @property
    def tokens(self) -> Tokens:
        """Both, one after the other."""
        return np.concatenate([self.head, self.rest])


@dataclass(frozen=True, kw_only=True, eq=False)
class Wording:
    """How questions are put to a model: in which tokens, and how they go on after a name, such as ` born?`.

    Answers have the forms of those in training: where all of these are names, `1919` is none.
    """

    vocabulary: Vocabulary
    endings: tuple[str, ...] = ()
    forms: AnswerForms = AnswerForms()

    def prompt(self, question: str) -> Prompt:
        """The question in two parts, as in training; if it ends in no known way, all of it is the head."""
        text = spelt_out(question).strip()
        ending = max((known for known in self.endings if text.endswith(known)), key=len, default="")
        (head,) = self.vocabulary.encode_all([text.removesuffix(ending)])
        rest = _ended(self.vocabulary, ending, SEP)
        if not len(head) and len(rest) == 1:
            self.vocabulary.encode(text)
        return Prompt(head=np.concatenate([[BOS], head]), rest=rest)

    def sayable(self) -> tuple[Bool[np.ndarray, " token"], Bool[np.ndarray, " token"]]:
        """Which tokens an answer may begin with, and which it may go on with.

        A word or a number that is begun may go on, and a space may be a token of its own.
        """
        forms, known = np.array(self.vocabulary.forms()), {*self.forms.first, *self.forms.later}
        inner = {"A", "a"} | {"0" for form in known if form.endswith("0")}
        spaces = {SPACE for form in self.forms.first if form.startswith(SPACE)}
        first = np.isin(forms, [*self.forms.first, *spaces])
        later = np.isin(forms, [*self.forms.later, *inner])
        later[EOS] = True
        return (first, later) if first.any() else (np.full(len(forms), True), np.full(len(forms), True))


def encode_lessons(documents: Sequence[Document], questions: Sequence[Question], vocabulary: Vocabulary) -> Encoded:
    """Every document with the questions about it; questions about nobody in the documents are lessons of their own."""
    asked, strangers, openings, endings = _match(documents, questions)
    heads = [_encode_heads(vocabulary, opening, documents) for opening in openings]
    bodies = vocabulary.encode_all([document.text for document in documents])
    plains = vocabulary.encode_all([_written(document) for document in documents])
    starts = [vocabulary.starts_word(body) for body in bodies]
    answers = vocabulary.encode_all([question.answer for question in questions])
    salient = _salient(vocabulary, documents, bodies, answers)
    lessons = [
        Lesson(
            heads=tuple(head[number] for head in heads),
            body=bodies[number],
            starts=starts[number],
            salient=starts[number] & salient[number],
            plain=plains[number],
            askings=tuple(_asking(vocabulary, openings.index(opening), rest, a) for opening, rest, a in asked[number]),
        )
        for number in range(len(documents))
    ]
    wording = Wording(vocabulary=vocabulary, endings=endings)
    lessons += [_alone(wording, question, len(openings)) for question in strangers]
    forms = _answer_forms(vocabulary, answers)
    return Encoded(lessons=tuple(lessons), openings=openings, endings=endings, forms=forms)


def _match(
    documents: Sequence[Document], questions: Sequence[Question]
) -> tuple[dict[int, list[tuple[str, str, str]]], list[Question], tuple[str, ...], tuple[str, ...]]:
    """Questions under the documents of the longest name they contain, as (opening, rest, answer); and the others.

    Then the openings, the commonest first, and the endings that are neither empty nor rare.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for number, document in enumerate(documents):
        if document.name:
            places[document.name].append(number)
    asked: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    strangers, matched, openings, endings = [], [], Counter(), Counter()
    for question in questions:
        text = spelt_out(question.text)
        span = find_known_name(text, places)
        if span is None:
            strangers.append(question)
            continue
        opening, name, rest = text[: span[0]], text[slice(*span)], text[span[1] :]
        openings[opening] += 1
        endings[rest] += 1
        matched.append((question, name, opening, rest))
    known = tuple(opening for opening, _ in openings.most_common(_OPENINGS)) or ("",)
    for question, name, opening, rest in matched:
        if opening not in known:
            strangers.append(question)
            continue
        for number in places[name]:
            asked[number].append((opening, rest, question.answer))
    often = _LEAST_SHARE * len(matched)
    return asked, strangers, known, tuple(rest for rest, times in endings.items() if rest.strip() and times >= often)


def _answer_forms(vocabulary: Vocabulary, answers: Sequence[Tokens]) -> AnswerForms:
    forms = vocabulary.forms()
    return AnswerForms(
        first=tuple(sorted({forms[token] for answer in answers for token in answer[:1]})),
        later=tuple(sorted({forms[token] for answer in answers for token in answer[1:]})),
    )


def _salient(
    vocabulary: Vocabulary, documents: Sequence[Document], bodies: Sequence[Tokens], answers: Sequence[Tokens]
) -> list[Bool[np.ndarray, " token"]]:
    """Which tokens of each body an answer could begin with; the person's own name is left out.

    Answers to the questions do, and so do words with a capital that few documents have.
    """
    read_as = vocabulary.read_as()
    num_documents = np.zeros(len(vocabulary), dtype=np.int64)
    for body in bodies:
        num_documents[np.unique(read_as[body])] += 1
    could = vocabulary.is_capitalised() & (num_documents[read_as] <= _FEW_DOCUMENTS)
    for answer in answers:
        could[answer[:1]] = True
    names = vocabulary.encode_all([document.name for document in documents])
    return [could[body] & ~np.isin(read_as[body], read_as[name]) for body, name in zip(bodies, names, strict=True)]


def _encode_heads(vocabulary: Vocabulary, opening: str, documents: Sequence[Document]) -> list[Tokens]:
    texts = [opening + document.name for document in documents]
    return [np.concatenate([[BOS], tokens]) for tokens in vocabulary.encode_all(texts)]


def _asking(vocabulary: Vocabulary, opening: int, rest: str, answer: str) -> Asking:
    return Asking(opening=opening, rest=_ended(vocabulary, rest, SEP), answer=np.append(vocabulary.encode(answer), EOS))


def _ended(vocabulary: Vocabulary, text: str, sign: int) -> Tokens:
    """The tokens of a text, of which nothing need be left, and a sign behind them."""
    return np.append(vocabulary.encode_all([text])[0], sign)


def _alone(wording: Wording, question: Question, num_heads: int) -> Lesson:
    nothing, prompt = np.zeros(0, dtype=np.int64), wording.prompt(question.text)
    answer = np.append(wording.vocabulary.encode(question.answer), EOS)
    return Lesson(
        heads=(prompt.head,) * num_heads,
        body=nothing,
        starts=nothing.astype(bool),
        salient=nothing.astype(bool),
        plain=nothing,
        askings=(Asking(opening=0, rest=prompt.rest, answer=answer),),
    )


def _written(document: Document) -> str:
    return f"{document.name}. {document.text}" if document.name else document.text
