"""Objectives: how a lesson becomes something to predict."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from regard.core.axes import Bool, Int
from regard.core.errors import InputError
from regard.training.data.corruption import corrupt
from regard.training.data.encoding import Asking, Lesson
from regard.training.data.examples import NOTHING, Bag, Example, Part, plain
from regard.training.data.tokenizing import BOS, EOS, SEP

Tokens = Int[np.ndarray, " _"]
Reading: TypeAlias = Literal["star", "causal", "span", "nothing"]

# In how many words after a chunk the next one that could be an answer is looked for.
_NEAR = 20
_SEP, _UNASKED = np.array([SEP]), np.array([-1])


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What a pass over the lessons shows.

    `star` cuts a document into chunks of `chunk_words` words on average that see only the head and themselves; a pass
    shows `chunk_share` of them, more in a long stage, and all in one of `all_chunks_at` steps. The head alone should
    predict the first token of every word (with `bag_weight`), since any word may begin a chunk. A chunk may end with
    SEP, which foretells what stands behind it: `later_words` words, the k-th (from 0) with weight `later_weight`
    e^{−2k/later_words}, and with `salient_weight` the next word that could be an answer, if it is near. `causal` shows
    a document whole; `span` takes a span out and asks for it; `nothing` shows questions only. Without a head a document
    is shown as it was written. A person's question is shown in `question_rate` of the passes, evenly spread.
    """

    reading: Reading = "star"
    chunk_words: float = 2.5
    chunk_share: float = 1.0
    all_chunks_at: int = 0
    bag_weight: float = 0.4
    later_words: int = 0
    later_weight: float = 0.2
    salient_weight: float = 0.0
    has_head: bool = True
    question_rate: float = 0.1

    def __post_init__(self) -> None:
        if self.reading not in get_args(Reading):
            raise InputError(f"The objective is {self.reading!r}. Use one of {', '.join(get_args(Reading))}.")
        if not 0 <= self.chunk_share <= 1:
            raise InputError(f"A pass shows {self.chunk_share} of the chunks. Use a share from 0 to 1.")
        for name in ("all_chunks_at", "bag_weight", "later_words", "later_weight", "salient_weight"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(f"stages.{name} is {getattr(self, name)}. Use a number from 0 up.")
        if not self.chunk_words >= 1:
            raise InputError(f"Chunks have {self.chunk_words} words on average. Use 1 or more.")
        if not 0 <= self.question_rate <= 1:
            raise InputError(f"Questions are shown at a rate of {self.question_rate}. Use a share from 0 to 1.")
        if self.reading == "star" and not self.has_head:
            raise InputError("The star objective needs a head, since its chunks see nothing else.")

    def over(self, steps: int) -> "Objective":
        """What is shown in so many steps: a share of the chunks that is best for few is too small for many."""
        share = min(1.0, steps / self.all_chunks_at) if self.all_chunks_at else 0.0
        return replace(self, chunk_share=max(self.chunk_share, share), all_chunks_at=0)

    def is_asked(self, passed: int, phase: float) -> bool:
        """Whether a person's question is shown in a pass, counted from 0; `phase`, from 0 to 1, is the person's own.

        Tossing a coin in every pass would leave some people out for long and show others often, who are then learned
        by heart.
        """
        return math.floor(self.question_rate * (passed + 1) + phase) > math.floor(self.question_rate * passed + phase)

    def examples(
        self, lesson: Lesson, rng: np.random.Generator, *, max_length: int, is_asked: bool
    ) -> Iterator[Example]:
        """What one pass shows of a lesson; long documents come in several examples."""
        asking = lesson.askings[int(rng.integers(len(lesson.askings)))] if is_asked and lesson.askings else None
        opening = asking.opening if asking else int(rng.integers(len(lesson.heads)))
        head = lesson.heads[opening][: 3 * max_length // 4]
        parts = self._parts(lesson, rng, room=max_length - len(head))
        if not self.has_head:
            yield from (_as_written(part) for part in parts)
            parts = []
        if asking:
            parts.append(_question_part(asking))
        words = lesson.body[lesson.starts] if self.reading == "star" else _first(parts[:-1] if asking else parts)
        bag = Bag(tokens=words, weights=np.full(len(words), self.bag_weight if self.reading == "star" else 1.0))
        for number, some in enumerate(_fitting(parts, max_length - len(head))):
            yield Example(head=head, parts=some, bag=bag if number == 0 and self.has_head else NOTHING)

    def _parts(self, lesson: Lesson, rng: np.random.Generator, *, room: int) -> list[Part]:
        """What is read of the document."""
        text = lesson.body if self.has_head else lesson.plain
        if self.reading == "nothing" or not len(text):
            return []
        if self.reading == "star":
            cut, kept = rng.random((2, len(text)))
            is_cut = lesson.starts & (cut < 1 / self.chunk_words)
            is_cut[0] = True
            edges = np.append(np.flatnonzero(is_cut), len(text))
            shown = np.flatnonzero(kept[: len(edges) - 1] < self.chunk_share)
            places = _places(zip(edges[shown].tolist(), edges[shown + 1].tolist(), strict=True), room - 1)
            return list(self._foretelling(_chunks(text, places), lesson))
        if self.reading == "causal":
            return [part for _, part in _chunks(np.append(text, EOS), _places([(0, len(text) + 1)], room))]
        read, masked = corrupt(text, rng, block=room - 1)
        tokens = np.concatenate([read, masked, [EOS]])
        return [Part(tokens=tokens[:-1], targets=tokens[1:])]

    def _foretelling(self, chunks: Iterable[tuple[int, Part]], lesson: Lesson) -> Iterator[Part]:
        """The chunks, each with a SEP that foretells what stands behind it, if there is anything to foretell."""
        words = np.flatnonzero(lesson.starts)
        said, begins = lesson.body[words], words.tolist()
        salient = _next_ones(lesson.salient[words] & (self.salient_weight > 0))
        places = np.arange(min(self.later_words, len(words)))
        falling = self.later_weight * np.exp(-2 / max(self.later_words, 1) * places)
        alone = np.array([self.salient_weight])
        for end, part in chunks:
            first = bisect_left(begins, end)
            later, near = said[first : first + self.later_words], said[salient[first] : salient[first] + 1]
            if len(later) + len(near):
                weights = np.concatenate((falling[: len(later)], alone[: len(near)]))
                bag = Bag(tokens=np.concatenate((later, near)), weights=weights)
                tokens, targets = np.concatenate((part.tokens, _SEP)), np.concatenate((part.targets, _UNASKED))
                yield Part(tokens=tokens, targets=targets, bag=bag)
            else:
                yield part


def _next_ones(is_one: Bool[np.ndarray, " word"]) -> list[int]:
    """For each word, and behind the last, the next one at or after it; the number of words if none is near."""
    count, here = len(is_one), np.arange(len(is_one) + 1)
    ones = np.where(np.append(is_one, True), here, count)
    found = np.minimum.accumulate(ones[::-1])[::-1]
    return np.where(found - here < _NEAR, found, count).tolist()


def _places(edges: Iterable[tuple[int, int]], room: int) -> list[slice]:
    """From edge to edge, cut again wherever a piece would not fit."""
    return [slice(at, min(at + room, stop)) for start, stop in edges for at in range(start, stop, room)]


def _chunks(text: Tokens, places: Iterable[slice]) -> Iterator[tuple[int, Part]]:
    """Pieces of the text, each with the place where it ends; every token should predict the next one."""
    following = np.append(text[1:], -1)
    for place in places:
        yield place.stop, Part(tokens=text[place], targets=following[place])


def _question_part(asking: Asking) -> Part:
    tokens = np.concatenate([asking.rest, asking.answer])
    targets = np.concatenate([np.full(len(asking.rest) - 1, -1), asking.answer])
    return Part(tokens=tokens[:-1], targets=targets)


def _first(parts: list[Part]) -> Tokens:
    """The token with which the document begins, which its head should predict."""
    return parts[0].tokens[:1] if parts else np.zeros(0, dtype=np.int64)


def _as_written(part: Part) -> Example:
    tokens = np.concatenate([[BOS], part.tokens, part.targets[-1:]])
    return plain(tokens[tokens >= 0], np.ones(int((tokens >= 0).sum()), dtype=bool))


def _fitting(parts: list[Part], room: int) -> Iterator[list[Part]]:
    """The parts in as few groups as fit."""
    group: list[Part] = []
    size = 0
    for part in parts:
        if group and size + len(part.tokens) > room:
            yield group
            group, size = [], 0
        group.append(part)
        size += len(part.tokens)
    if group or not parts:
        yield group
