"""The corpus as tokens: a lesson per person with their document and questions, and how questions become prompts."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Bool
from regard.training.data.corpus import CorpusDocument, FactQuestion, find_known_name, normalize_text
from regard.training.data.vocabulary import BOS, EOS, SEP, SPACE, Tokens, Vocabulary

# Every document gets a head for each common opening of a question; questions with a rare one are lessons of their own.
_MOST_OPENINGS = 16
# Rarer endings are mostly accidents: after the name `John`, a question about `John Smith` ends in ` Smith born?`.
_LEAST_ENDING_SHARE = 0.01
# A capitalized word that occurs in more documents than this, such as a month, is hardly a name.
_FEW_DOCUMENTS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionTokens:
    """A question about a person: the number of its opening, the tokens after the name, and the answer."""

    opening: int
    rest: Tokens
    answer: Tokens


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    """Everything to learn about one person.

    A head is BOS, the opening of a question and the name, such as `Where was Ada Byron`; there is one per opening.
    `starts` marks the tokens of the body that start a word, and `salient` those of them that could start an answer.
    `plain` is the document as written.
    """

    heads: tuple[Tokens, ...]
    body: Tokens
    starts: Bool[np.ndarray, " token"]
    salient: Bool[np.ndarray, " token"]
    plain: Tokens
    questions: tuple[QuestionTokens, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AnswerForms:
    """The token forms that answers start with, and those that follow. If `first` is empty, every token is allowed."""

    first: tuple[str, ...] = ()
    later: tuple[str, ...] = ()

    def __or__(self, other: "AnswerForms") -> "AnswerForms":
        return AnswerForms(
            first=tuple(sorted({*self.first, *other.first})), later=tuple(sorted({*self.later, *other.later}))
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Prompt:
    """What a model reads before it answers: BOS and the question up to its name, then the rest of it and SEP."""

    head: Tokens
    rest: Tokens

    @property
    def tokens(self) -> Tokens:
        """Both parts joined."""
        return np.concatenate([self.head, self.rest])


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptFormat:
    """How a model is asked questions: its vocabulary, and the endings of questions after a name, such as ` born?`.

    Answers may only take the forms seen in training: if all of those are names, `1919` can't be an answer.
    """

    vocabulary: Vocabulary
    endings: tuple[str, ...] = ()
    forms: AnswerForms = AnswerForms()

    def prompt(self, question: str) -> Prompt:
        """The question in two parts, as in training. Without a known ending, all of it is the head."""
        text = normalize_text(question).strip()
        ending = max((known for known in self.endings if text.endswith(known)), key=len, default="")
        head, rest = self.vocabulary.encode_all([text.removesuffix(ending), ending])
        if not len(head) and not len(rest):
            self.vocabulary.encode(text)
        return Prompt(head=np.concatenate([[BOS], head]), rest=np.append(rest, SEP))

    def allowed_tokens(self) -> tuple[Bool[np.ndarray, " token"], Bool[np.ndarray, " token"]]:
        """Which tokens an answer may start with, and which may follow.

        A word or number may always continue, and a space may be a token of its own.
        """
        forms, known = np.array(self.vocabulary.forms()), {*self.forms.first, *self.forms.later}
        inner = {"A", "a"} | {"0" for form in known if form.endswith("0")}
        spaces = {SPACE for form in self.forms.first if form.startswith(SPACE)}
        first = np.isin(forms, [*self.forms.first, *spaces])
        later = np.isin(forms, [*self.forms.later, *inner])
        later[EOS] = True
        return (first, later) if first.any() else (np.full(len(forms), True), np.full(len(forms), True))


@dataclass(frozen=True, kw_only=True, eq=False)
class LessonSet:
    """All lessons, the openings of questions, and the format of prompts."""

    lessons: tuple[Lesson, ...]
    openings: tuple[str, ...]
    prompt_format: PromptFormat

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer of the lessons."""
        return self.prompt_format.vocabulary


def make_lessons(
    documents: Sequence[CorpusDocument], questions: Sequence[FactQuestion], vocabulary: Vocabulary
) -> LessonSet:
    """Every document with the questions about it. A question that matches no document is a lesson of its own."""
    matched, unmatched, openings, endings = _match(documents, questions)
    names = [[opening + document.name for document in documents] for opening in openings]
    heads = [[np.concatenate([[BOS], tokens]) for tokens in vocabulary.encode_all(some)] for some in names]
    bodies = vocabulary.encode_all([document.text for document in documents])
    plains = vocabulary.encode_all([f"{d.name}. {d.text}" if d.name else d.text for d in documents])
    starts = [vocabulary.starts_word(body) for body in bodies]
    answers = vocabulary.encode_all([question.answer for question in questions])
    salient = _find_salient(vocabulary, documents, bodies, answers)
    lessons = [
        Lesson(
            heads=tuple(head[number] for head in heads),
            body=bodies[number],
            starts=starts[number],
            salient=starts[number] & salient[number],
            plain=plains[number],
            questions=tuple(
                QuestionTokens(
                    opening=openings.index(opening),
                    rest=np.append(vocabulary.encode_all([rest])[0], SEP),
                    answer=np.append(vocabulary.encode(answer), EOS),
                )
                for opening, rest, answer in matched[number]
            ),
        )
        for number in range(len(documents))
    ]
    prompt_format = PromptFormat(vocabulary=vocabulary, endings=endings, forms=_answer_forms(vocabulary, answers))
    lessons += [_question_alone(prompt_format, question, len(openings)) for question in unmatched]
    return LessonSet(lessons=tuple(lessons), openings=openings, prompt_format=prompt_format)


def _match(
    documents: Sequence[CorpusDocument], questions: Sequence[FactQuestion]
) -> tuple[dict[int, list[tuple[str, str, str]]], list[FactQuestion], tuple[str, ...], tuple[str, ...]]:
    """Per document, the questions about its name as (opening, rest, answer); then the questions that match none.

    Then the openings, most common first, and the endings that are neither empty nor rare.
    """
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, document in enumerate(documents):
        if document.name:
            numbers[document.name].append(number)
    by_document: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    unmatched, matched, openings, endings = [], [], Counter(), Counter()
    for question in questions:
        text = normalize_text(question.text)
        span = find_known_name(text, numbers)
        if span is None:
            unmatched.append(question)
            continue
        opening, name, rest = text[: span[0]], text[slice(*span)], text[span[1] :]
        openings[opening] += 1
        endings[rest] += 1
        matched.append((question, name, opening, rest))
    known = tuple(opening for opening, _ in openings.most_common(_MOST_OPENINGS)) or ("",)
    for question, name, opening, rest in matched:
        if opening not in known:
            unmatched.append(question)
            continue
        for number in numbers[name]:
            by_document[number].append((opening, rest, question.answer))
    often = _LEAST_ENDING_SHARE * len(matched)
    kept_endings = tuple(rest for rest, times in endings.items() if rest.strip() and times >= often)
    return by_document, unmatched, known, kept_endings


def _answer_forms(vocabulary: Vocabulary, answers: Sequence[Tokens]) -> AnswerForms:
    forms = vocabulary.forms()
    return AnswerForms(
        first=tuple(sorted({forms[token] for answer in answers for token in answer[:1]})),
        later=tuple(sorted({forms[token] for answer in answers for token in answer[1:]})),
    )


def _find_salient(
    vocabulary: Vocabulary, documents: Sequence[CorpusDocument], bodies: Sequence[Tokens], answers: Sequence[Tokens]
) -> list[Bool[np.ndarray, " token"]]:
    """Which tokens of each body could start an answer.

    These are the first tokens of known answers and capitalized words found in few documents, except the person's name.
    """
    ids = vocabulary.embedding_ids()
    num_documents = np.zeros(len(vocabulary), dtype=np.int64)
    for body in bodies:
        num_documents[np.unique(ids[body])] += 1
    could = vocabulary.is_capitalized() & (num_documents[ids] <= _FEW_DOCUMENTS)
    for answer in answers:
        could[answer[:1]] = True
    names = vocabulary.encode_all([document.name for document in documents])
    return [could[body] & ~np.isin(ids[body], ids[name]) for body, name in zip(bodies, names, strict=True)]


def _question_alone(prompt_format: PromptFormat, question: FactQuestion, num_heads: int) -> Lesson:
    nothing, prompt = np.zeros(0, dtype=np.int64), prompt_format.prompt(question.text)
    answer = np.append(prompt_format.vocabulary.encode(question.answer), EOS)
    return Lesson(
        heads=(prompt.head,) * num_heads,
        body=nothing,
        starts=nothing.astype(bool),
        salient=nothing.astype(bool),
        plain=nothing,
        questions=(QuestionTokens(opening=0, rest=prompt.rest, answer=answer),),
    )
