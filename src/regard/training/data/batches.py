"""From examples to batches: packed side by side into rows of one length, pass after pass over the lessons."""

import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Float, Int
from regard.core.errors import InputError
from regard.training.data.lessons import Lesson
from regard.training.data.objectives import TrainingExample
from regard.training.data.vocabulary import PAD, Tokens
from regard.training.recipe import Recipe

SHARED = -1
"""The document number of tokens that all examples of a row share."""

# Passes are numbered from 0, so none of them has this stream of random numbers.
_PHASES = zlib.crc32(b"phases")


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedRow:
    """Examples side by side that share an opening, which is read once.

    In a decoder, an opening does not depend on what follows it, so sharing it changes nothing but the cost.
    """

    opening: Tokens
    examples: list[TrainingExample]

    def __len__(self) -> int:
        return len(self.opening) + sum(len(example) - len(self.opening) for example in self.examples)


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenBatch:
    """Examples as arrays: one after the other, or packed into rows.

    `documents` are the numbers of examples: from 0 if there are no rows; else from 1 in each row, with 0 for padding
    and SHARED for the opening. A token sees the tokens before it, of its example, that are in group 0 (the head) or in
    its own group. `before` are the tokens one and two places back in its own group, −1 before the first: n-grams don't
    reach from the head into a segment, so that knowledge about a name is stored where every segment can read it. The
    token at the flat index `asked[i]` should predict `targets[i]`, with weight `weights[i]`; in rows, these indices
    never decrease.
    """

    tokens: Int[np.ndarray, "*row position"]
    positions: Int[np.ndarray, "*row position"]
    groups: Int[np.ndarray, "*row position"]
    documents: Int[np.ndarray, "*row position"]
    before: Int[np.ndarray, "*row position 2"]
    asked: Int[np.ndarray, " target"]
    targets: Int[np.ndarray, " target"]
    weights: Float[np.ndarray, " target"]


@dataclass(frozen=True, kw_only=True)
class StreamPosition:
    """How far a stream has come: its stage, the passes made over the lessons, and the rows used of this pass."""

    stage: int = 0
    passed: int = 0
    row: int = 0


class BatchStream:
    """The rows of each step in turn, which depend only on the seed and the position.

    If the last rows of a pass are too few for a step, the next pass completes them. Making all passes so far took
    `seconds` and gave `num_rows` rows.
    """

    def __init__(
        self, lessons: Sequence[Lesson], recipe: Recipe, seed: int, position: StreamPosition | None = None
    ) -> None:
        self._lessons, self._recipe, self._seed = lessons, recipe, seed
        self._openings = common_openings(lessons)
        self.seconds, self.num_rows = 0.0, 0
        self._start_pass(position or StreamPosition())

    def next_rows(self, stage: int) -> list[PackedRow]:
        """The rows of the next step, which belongs to this stage."""
        if stage != self.position.stage:
            self._start_pass(StreamPosition(stage=stage))
        wanted, taken = self._recipe.batch.rows, []
        while len(taken) < wanted:
            if self.position.row == len(self._rows):
                self._start_pass(StreamPosition(stage=stage, passed=self.position.passed + 1))
            some = self._rows[self.position.row : self.position.row + wanted - len(taken)]
            taken += some
            row = self.position.row + len(some)
            self.position = StreamPosition(stage=stage, passed=self.position.passed, row=row)
        return taken

    def _start_pass(self, position: StreamPosition) -> None:
        begun = time.perf_counter()
        stage = self._recipe.stages[position.stage]
        rng = np.random.default_rng([self._seed, position.stage, position.passed])
        phases = np.random.default_rng([self._seed, position.stage, _PHASES]).random(len(self._lessons))
        length = self._recipe.batch.length
        shown = (
            example
            for lesson, phase in zip(self._lessons, phases, strict=True)
            for example in stage.objective.examples(
                lesson, rng, max_length=length, shows_question=stage.objective.shows_question(position.passed, phase)
            )
        )
        rows = pack_pass(shown, rng, max_length=length, openings=self._openings)
        if not rows:
            raise InputError(
                f"A pass of the stage {stage.name!r} shows nothing. Give it questions or documents: a higher "
                "stages.question_rate, or another stages.reading."
            )
        self.position, self._rows = position, rows
        self.seconds, self.num_rows = self.seconds + time.perf_counter() - begun, self.num_rows + len(rows)


def common_openings(lessons: Sequence[Lesson]) -> tuple[Tokens, ...]:
    """For each way of asking, the common prefix of the heads of all lessons with a document; the longest first.

    It never includes the last token of a head, which must predict what follows.
    """
    heads = [lesson.heads for lesson in lessons if len(lesson.body)]
    found = [_common_prefix(alike) for alike in zip(*heads, strict=True)]
    return tuple(sorted((opening for opening in found if len(opening)), key=len, reverse=True))


def pack_pass(
    shown: Iterable[TrainingExample], rng: np.random.Generator, *, max_length: int, openings: Sequence[Tokens] = ()
) -> list[PackedRow]:
    """All examples of one pass in random order, without those that have no targets."""
    examples = [example for example in shown if example.weight]
    rows = pack([examples[number] for number in rng.permutation(len(examples))], max_length, openings)
    return [rows[number] for number in rng.permutation(len(rows))]


def pack(examples: Sequence[TrainingExample], length: int, openings: Sequence[Tokens] = ()) -> list[PackedRow]:
    """The examples in few rows: the longest first, each in the row with its opening that it fills best."""
    nothing = np.zeros(0, dtype=np.int64)
    by_opening: dict[bytes, list[TrainingExample]] = defaultdict(list)
    for example in examples:
        by_opening[next((o.tobytes() for o in openings if _starts_with(example, o)), b"")].append(example)
    rows = []
    for opening in (*openings, nothing):
        rows += _best_fit(by_opening.pop(opening.tobytes(), []), length, opening)
    return rows


def flatten_examples(examples: Sequence[TrainingExample]) -> TokenBatch:
    """The examples as arrays, computed all at once, since a batch has hundreds of them."""
    runs = [run for example in examples for run in (example.head, *(part.tokens for part in example.segments))]
    bags = [bag for example in examples for bag in (example.bag, *(part.bag for part in example.segments))]
    lengths = np.array([len(run) for run in runs])
    num_runs = np.array([1 + len(example.segments) for example in examples])
    heads = np.cumsum(num_runs) - num_runs
    ends = np.cumsum(lengths)
    starts, run_owners = ends - lengths, np.repeat(np.arange(len(examples)), num_runs)
    groups = np.arange(len(runs)) - heads[run_owners]
    offsets = np.where(groups == 0, 0, lengths[heads][run_owners])
    tokens = np.concatenate(runs)
    inside = np.arange(len(tokens)) - np.repeat(starts, lengths)
    following = [(np.full(len(each.head), -1), *(part.targets for part in each.segments)) for each in examples]
    targets = np.concatenate([targets for some in following for targets in some])
    asked = np.flatnonzero(targets >= 0)
    return TokenBatch(
        tokens=tokens,
        positions=inside + np.repeat(offsets, lengths),
        groups=np.repeat(groups, lengths),
        documents=np.repeat(run_owners, lengths),
        before=np.stack([np.where(inside >= back, np.roll(tokens, back), -1) for back in (1, 2)], axis=-1),
        asked=np.concatenate([np.repeat(ends - 1, [len(bag.tokens) for bag in bags]), asked]),
        targets=np.concatenate([*(bag.tokens for bag in bags), targets[asked]]),
        weights=np.concatenate([*(bag.weights for bag in bags), np.ones(len(asked))]).astype(np.float32),
    )


def make_batch(rows: Sequence[PackedRow], length: int) -> TokenBatch:
    """Rows as arrays of one shape."""
    flat = flatten_examples([example for row in rows for example in row.examples])
    starts, documents, shared = np.array(list(_row_places(rows, length))).T
    owners = flat.documents
    inside = np.arange(len(flat.tokens)) - np.searchsorted(owners, owners)
    places, is_opening = starts[owners] + inside, inside < shared[owners]
    kept = (documents[owners] == 1) | ~is_opening

    def filled(values: Tokens, empty: int) -> Int[np.ndarray, "_ _"]:
        array = np.full((len(rows), length), empty)
        array.flat[places[kept]] = values[kept]
        return array

    asked = places[flat.asked]
    order = np.argsort(asked, kind="stable")
    return TokenBatch(
        tokens=filled(flat.tokens, PAD),
        positions=filled(flat.positions, 0),
        groups=filled(flat.groups, 0),
        documents=filled(np.where(is_opening, SHARED, documents[owners]), 0),
        before=np.stack([filled(column, -1) for column in flat.before.T], axis=-1),
        asked=asked[order],
        targets=flat.targets[order],
        weights=flat.weights[order],
    )


def _common_prefix(heads: Sequence[Tokens]) -> Tokens:
    shortest = min(len(head) for head in heads) - 1
    differs = np.any([head[:shortest] != heads[0][:shortest] for head in heads], axis=0)
    return heads[0][: int(np.argmax(differs)) if differs.any() else shortest]


def _starts_with(example: TrainingExample, opening: Tokens) -> bool:
    """Whether the head is longer than the opening and starts with it: the targets of its last token are its own."""
    return len(example.head) > len(opening) and example.head[: len(opening)].tobytes() == opening.tobytes()


def _best_fit(examples: Sequence[TrainingExample], length: int, opening: Tokens) -> list[PackedRow]:
    by_room: dict[int, list[PackedRow]] = defaultdict(list)
    rows: list[PackedRow] = []
    for example in sorted(examples, key=len, reverse=True):
        size = len(example) - len(opening)
        room = next((left for left in range(size, length + 1) if by_room[left]), None)
        row = PackedRow(opening=opening, examples=[]) if room is None else by_room[room].pop()
        if room is None:
            rows.append(row)
        row.examples.append(example)
        by_room[(length - len(opening) if room is None else room) - size].append(row)
    return rows


def _row_places(rows: Sequence[PackedRow], length: int) -> Iterator[tuple[int, int, int]]:
    """Per example: the flat index where it would start, its number in the row, and how many tokens are shared."""
    for number, row in enumerate(rows):
        start, shared = number * length, len(row.opening)
        for document, example in enumerate(row.examples, start=1):
            yield start, document, shared
            start += len(example) - shared
