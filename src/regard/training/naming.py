"""Where the name stands in a question."""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Int
from regard.core.errors import InputError
from regard.training.data.encoding import Wording
from regard.training.data.names import find_known_name, words_of
from regard.training.data.spelling import spelt_out
from regard.training.data.tokenizing import EOS
from regard.training.folder import RunFolder


@dataclass(frozen=True, kw_only=True, eq=False)
class Probe:
    """A question and an answer as tokens; the name's tokens are `first` up to `end`, the answer starts at `start`.

    The head has `head_length` tokens.
    """

    question: str
    name: str
    tokens: Int[np.ndarray, " token"]
    head_length: int
    first: int
    end: int
    start: int

    @property
    def answer(self) -> Int[np.ndarray, " answer"]:
        """The tokens that are asked for, EOS included."""
        return np.append(self.tokens[self.start :], EOS)


def known_names(folder: RunFolder) -> frozenset[str]:
    """The names of all whom the run read about, from the heads of its lessons."""
    vocabulary, openings = folder.vocabulary(), folder.facts()["openings"]
    opening = openings[0].strip()
    heads = [lesson.heads[0] for lesson in folder.lessons() if len(lesson.body)]
    return frozenset(vocabulary.decode(head).removeprefix(opening).strip() for head in heads) - {""}


def find_name(question: str, names: Set[str]) -> tuple[int, int]:
    """Where the name stands: the longest known one, or else the longest run of capitals after the first word.

    >>> find_name("Where was Ada Byron born?", {"Ada", "Ada Byron"}), find_name("Where was Bo Li born?", set())
    ((10, 19), (10, 15))
    """
    if (known := find_known_name(question, names)) is not None:
        return known
    words = words_of(question)
    runs = [words[first:end] for first in range(1, len(words)) for end in range(first + 1, len(words) + 1)]
    for run in sorted(runs, key=len, reverse=True):
        if all(question[start:end][:1].isupper() for start, end in run):
            return run[0][0], run[-1][1]
    raise InputError(f"There is no name in {question!r} that the run has read. Ask about somebody in its documents.")


def make_probe(wording: Wording, question: str, answer: str, names: Set[str]) -> Probe:
    """The tokens of a question with its answer, and where the name is in them."""
    text = spelt_out(question).strip()
    start, end = find_name(text, names)
    vocabulary, asked = wording.vocabulary, wording.prompt(text)
    before = text[:start].rstrip()
    return Probe(
        question=question,
        name=text[start:end],
        tokens=np.concatenate([asked.tokens, vocabulary.encode(answer)]),
        head_length=len(asked.head),
        first=1 + (len(vocabulary.encode(before)) if before else 0),
        end=1 + len(vocabulary.encode(text[:end])),
        start=len(asked.tokens),
    )
