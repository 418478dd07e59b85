"""Training objectives: how a lesson becomes examples, each with tokens to read and targets to predict."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from regard.core.axes import Bool, Float, Int
from regard.core.errors import InputError
from regard.training.data.lessons import Lesson, QuestionTokens
from regard.training.data.vocabulary import BOS, EOS, MASK, SEP, Tokens

Reading: TypeAlias = Literal["star", "causal", "span", "nothing"]

# How many words ahead a chunk looks for the next candidate answer.
_WORDS_AHEAD = 20
_SEP, _NO_TARGET = np.array([SEP]), np.array([-1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Bag:
    """Tokens that one position should predict all at once, each with a weight."""

    tokens: Int[np.ndarray, " target"]
    weights: Float[np.ndarray, " target"]


EMPTY_BAG = Bag(tokens=np.zeros(0, dtype=np.int64), weights=np.zeros(0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Segment:
    """Tokens read after the head. `targets` are the next tokens, −1 for none; the last token also predicts the bag."""

    tokens: Tokens
    targets: Tokens
    bag: Bag = EMPTY_BAG


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingExample:
    """A head, and segments that see only the head and themselves; each is positioned right after the head.

    The last token of the head should predict the bag.
    """

    head: Tokens
    segments: Sequence[Segment]
    bag: Bag

    def __len__(self) -> int:
        return len(self.head) + sum(len(segment.tokens) for segment in self.segments)

    @cached_property
    def weight(self) -> float:
        """The total weight of all targets."""
        bags = np.concatenate([self.bag.weights, *(segment.bag.weights for segment in self.segments)])
        targets = np.concatenate([EMPTY_BAG.tokens, *(segment.targets for segment in self.segments)])
        return float(bags.sum()) + int(np.count_nonzero(targets >= 0))


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What one pass over the lessons shows.

    `star` cuts a document into chunks of `chunk_words` words on average that see only the head and themselves. A pass
    shows `chunk_share` of them: more in a long stage, and all of them in one of `all_chunks_at` steps. The head alone
    predicts the first token of every word (with `bag_weight`), since any word may start a chunk. A chunk may end with
    SEP, which predicts what follows it: `later_words` words, the k-th (from 0) with weight `later_weight`
    e^{−2k/later_words}, and the next candidate answer, if it is near, with `salient_weight`. `causal` shows a document
    whole; `span` takes a span out and asks for it; `nothing` shows questions only. Without a head, a document is shown
    as written. A person's question is shown in `question_rate` of the passes, evenly spread.
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
            raise InputError(f"stages.reading is {self.reading!r}. Use one of {', '.join(get_args(Reading))}.")
        for name in ("chunk_share", "question_rate"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"stages.{name} is {getattr(self, name)}. Use a share from 0 to 1.")
        for name in ("all_chunks_at", "bag_weight", "later_words", "later_weight", "salient_weight"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(f"stages.{name} is {getattr(self, name)}. Use 0 or more.")
        if not self.chunk_words >= 1:
            raise InputError(f"stages.chunk_words is {self.chunk_words}. Use an average of 1 or more.")
        if self.reading == "star" and not self.has_head:
            raise InputError("The star objective needs a head, since its chunks see nothing else.")

    def over(self, steps: int) -> "Objective":
        """The objective for a stage of this many steps: short stages need fewer chunks per pass."""
        share = min(1.0, steps / self.all_chunks_at) if self.all_chunks_at else 0.0
        return replace(self, chunk_share=max(self.chunk_share, share), all_chunks_at=0)

    def shows_question(self, pass_number: int, phase: float) -> bool:
        """Whether a pass (counted from 0) shows a person's question; `phase`, from 0 to 1, belongs to the person.

        Tossing a coin in every pass would neglect some people for a long time, and show others so often that the model
        memorizes their questions.
        """
        before, after = (math.floor(self.question_rate * (pass_number + k) + phase) for k in (0, 1))
        return after > before

    def examples(
        self, lesson: Lesson, rng: np.random.Generator, *, max_length: int, shows_question: bool
    ) -> Iterator[TrainingExample]:
        """What one pass shows of a lesson; long documents take several examples."""
        questions = lesson.questions if shows_question else ()
        question = questions[int(rng.integers(len(questions)))] if questions else None
        opening = question.opening if question else int(rng.integers(len(lesson.heads)))
        head = lesson.heads[opening][: 3 * max_length // 4]
        segments = self._document_segments(lesson, rng, room=max_length - len(head))
        if not self.has_head:
            yield from (_as_written(segment) for segment in segments)
            segments = []
        if self.reading == "star":
            words, weight = lesson.body[lesson.starts], self.bag_weight
        else:
            words, weight = segments[0].tokens[:1] if segments else EMPTY_BAG.tokens, 1.0
        bag = Bag(tokens=words, weights=np.full(len(words), weight))
        if question:
            segments.append(_question_segment(question))
        for number, group in enumerate(_fitting_groups(segments, max_length - len(head))):
            yield TrainingExample(head=head, segments=group, bag=bag if number == 0 and self.has_head else EMPTY_BAG)

    def _document_segments(self, lesson: Lesson, rng: np.random.Generator, *, room: int) -> list[Segment]:
        text = lesson.body if self.has_head else lesson.plain
        if self.reading == "nothing" or not len(text):
            return []
        if self.reading == "star":
            cut, kept = rng.random((2, len(text)))
            is_cut = lesson.starts & (cut < 1 / self.chunk_words)
            is_cut[0] = True
            edges = np.append(np.flatnonzero(is_cut), len(text))
            shown = np.flatnonzero(kept[: len(edges) - 1] < self.chunk_share)
            slices = _slices(zip(edges[shown].tolist(), edges[shown + 1].tolist(), strict=True), room - 1)
            return list(self._with_predictions(_chunks(text, slices), lesson))
        if self.reading == "causal":
            return [segment for _, segment in _chunks(np.append(text, EOS), _slices([(0, len(text) + 1)], room))]
        read, masked = corrupt_span(text, rng, block=room - 1)
        tokens = np.concatenate([read, masked, [EOS]])
        return [Segment(tokens=tokens[:-1], targets=tokens[1:])]

    def _with_predictions(self, chunks: Iterable[tuple[int, Segment]], lesson: Lesson) -> Iterator[Segment]:
        """The chunks, each with a SEP that predicts what follows, if there is anything to predict."""
        starts = np.flatnonzero(lesson.starts)
        words, start_list = lesson.body[starts], starts.tolist()
        salient = _next_marked(lesson.salient[starts] & (self.salient_weight > 0))
        ranks = np.arange(min(self.later_words, len(starts)))
        later_weights = self.later_weight * np.exp(-2 / max(self.later_words, 1) * ranks)
        salient_weight = np.array([self.salient_weight])
        for end, segment in chunks:
            first = bisect_left(start_list, end)
            later, near = words[first : first + self.later_words], words[salient[first] : salient[first] + 1]
            if len(later) + len(near):
                weights = np.concatenate((later_weights[: len(later)], salient_weight[: len(near)]))
                yield Segment(
                    tokens=np.concatenate((segment.tokens, _SEP)),
                    targets=np.concatenate((segment.targets, _NO_TARGET)),
                    bag=Bag(tokens=np.concatenate((later, near)), weights=weights),
                )
            else:
                yield segment


def corrupt_span(tokens: Tokens, rng: np.random.Generator, *, block: int) -> tuple[Tokens, Tokens]:
    """A text with one span masked, and the span, as the course defines it.

        prefix MASK suffix MASK masked

    The text is cut to a random length of 4 to ⌊7/8·block⌋ tokens. The span takes a quarter of it on average and may lie
    anywhere. The first result ends with the second MASK. Both together have at most `block` tokens if that is 16 or
    more.

    >>> read, masked = corrupt_span(np.arange(10, 18), np.random.default_rng(1), block=16)
    >>> read, masked
    (array([10, 11, 12, 13,  4, 17,  4]), array([14, 15, 16]))
    """
    longest = block * 7 // 8
    length = min(len(tokens), int(rng.integers(4, max(longest, 4) + 1)))
    kept = tokens[:length]
    size = int(rng.integers(1, max(length // 2, 1) + 1)) if length else 0
    start = int(rng.integers(0, length - size + 1))
    masked = kept[start : start + size]
    return np.concatenate([kept[:start], [MASK], kept[start + size :], [MASK]]), masked


def _next_marked(is_marked: Bool[np.ndarray, " word"]) -> list[int]:
    """For each word, and past the last one, the next marked word from there on; the number of words if none is near."""
    count, here = len(is_marked), np.arange(len(is_marked) + 1)
    marked = np.where(np.append(is_marked, True), here, count)
    following = np.minimum.accumulate(marked[::-1])[::-1]
    return np.where(following - here < _WORDS_AHEAD, following, count).tolist()


def _slices(edges: Iterable[tuple[int, int]], room: int) -> list[slice]:
    """From edge to edge, cut again where a piece would not fit."""
    return [slice(at, min(at + room, stop)) for start, stop in edges for at in range(start, stop, room)]


def _chunks(text: Tokens, slices: Iterable[slice]) -> Iterator[tuple[int, Segment]]:
    """Pieces of the text in which every token predicts the next, each with the place where it ends."""
    following = np.append(text[1:], -1)
    for where in slices:
        yield where.stop, Segment(tokens=text[where], targets=following[where])


def _question_segment(question: QuestionTokens) -> Segment:
    tokens = np.concatenate([question.rest, question.answer])
    targets = np.concatenate([np.full(len(question.rest) - 1, -1), question.answer])
    return Segment(tokens=tokens[:-1], targets=targets)


def _as_written(segment: Segment) -> TrainingExample:
    """Text without a head: every token is predicted from all before it, starting with BOS."""
    tokens = np.concatenate([segment.tokens, segment.targets[-1:]])
    tokens = tokens[tokens >= 0]
    return TrainingExample(
        head=np.array([BOS]),
        segments=[Segment(tokens=tokens[:-1], targets=tokens[1:])],
        bag=Bag(tokens=tokens[:1], weights=np.ones(len(tokens[:1]))),
    )


def _fitting_groups(segments: list[Segment], room: int) -> Iterator[list[Segment]]:
    """The segments in as few groups as fit, in order."""
    group: list[Segment] = []
    size = 0
    for segment in segments:
        if group and size + len(segment.tokens) > room:
            yield group
            group, size = [], 0
        group.append(segment)
        size += len(segment.tokens)
    if group or not segments:
        yield group
