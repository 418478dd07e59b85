"""Packing: examples side by side in rows of one length, with hardly a place left empty."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Float, Int
from regard.training.data.encoding import Lesson
from regard.training.data.examples import Example, lay_out
from regard.training.data.tokenizing import PAD

Tokens = Int[np.ndarray, " _"]

# The number of the example that a place of an opening belongs to: to all of its row.
SHARED = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """Examples that begin alike, side by side: the opening that they share is read once, and each goes on from it.

    What a decoder makes of an opening does not depend on what follows, so that this changes nothing but the work.
    """

    opening: Tokens
    examples: list[Example]

    def __len__(self) -> int:
        return len(self.opening) + sum(len(example) - len(self.opening) for example in self.examples)


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Some rows as arrays. `documents` numbers the examples of a row from 1; 0 is an empty place.

    The flat place `asked[i]` (row times length plus column) should predict `targets[i]`; they come in order of place.
    """

    tokens: Int[np.ndarray, "row position"]
    positions: Int[np.ndarray, "row position"]
    groups: Int[np.ndarray, "row position"]
    documents: Int[np.ndarray, "row position"]
    before: Int[np.ndarray, "row position 2"]
    asked: Int[np.ndarray, " target"]
    targets: Int[np.ndarray, " target"]
    weights: Float[np.ndarray, " target"]


def common_openings(lessons: Sequence[Lesson]) -> tuple[Tokens, ...]:
    """What the heads of all lessons with something to read begin with, for each way of asking; the longest first.

    The last token of a head is never part of it, since it is asked for what follows.
    """
    heads = [lesson.heads for lesson in lessons if len(lesson.body)]
    found = [_common_beginning(alike) for alike in zip(*heads, strict=True)]
    return tuple(sorted((opening for opening in found if len(opening)), key=len, reverse=True))


def rows_of_pass(
    shown: Iterable[Example], rng: np.random.Generator, *, max_length: int, openings: Sequence[Tokens] = ()
) -> list[Row]:
    """All that one pass shows, in random order; what asks nothing is left out."""
    examples = [example for example in shown if example.weight]
    rows = pack([examples[number] for number in rng.permutation(len(examples))], max_length, openings)
    return [rows[number] for number in rng.permutation(len(rows))]


def pack(examples: Sequence[Example], length: int, openings: Sequence[Tokens] = ()) -> list[Row]:
    """The examples in few rows: the longest first, each into the row of its opening that it fills best."""
    nothing = np.zeros(0, dtype=np.int64)
    by_opening: dict[bytes, list[Example]] = defaultdict(list)
    for example in examples:
        by_opening[next((o.tobytes() for o in openings if _begins_with(example, o)), b"")].append(example)
    rows = []
    for opening in (*openings, nothing):
        rows += _packed(by_opening.pop(opening.tobytes(), []), length, opening)
    return rows


def make_batch(rows: Sequence[Row], length: int) -> Batch:
    """Rows as arrays of one shape."""
    layout = lay_out([example for row in rows for example in row.examples])
    starts, documents, shared = np.array(list(_placed(rows, length))).T
    inside = np.arange(len(layout.tokens)) - np.searchsorted(layout.owners, layout.owners)
    places = starts[layout.owners] + inside
    is_opening, is_first = inside < shared[layout.owners], documents[layout.owners] == 1
    kept = is_first | ~is_opening
    shape = (len(rows), length)

    def filled(values: Tokens, empty: int) -> Int[np.ndarray, "_ _"]:
        array = np.full(shape, empty)
        array.flat[places[kept]] = values[kept]
        return array

    asked = places[layout.asked]
    order = np.argsort(asked, kind="stable")
    return Batch(
        tokens=filled(layout.tokens, PAD),
        positions=filled(layout.positions, 0),
        groups=filled(layout.groups, 0),
        documents=filled(np.where(is_opening, SHARED, documents[layout.owners]), 0),
        before=np.stack([filled(column, -1) for column in layout.before.T], axis=-1),
        asked=asked[order],
        targets=layout.targets[order],
        weights=layout.weights[order],
    )


def _common_beginning(heads: Sequence[Tokens]) -> Tokens:
    shortest = min(len(head) for head in heads) - 1
    differs = np.any([head[:shortest] != heads[0][:shortest] for head in heads], axis=0)
    return heads[0][: int(np.argmax(differs)) if differs.any() else shortest]


def _begins_with(example: Example, opening: Tokens) -> bool:
    """Whether the head begins with it and goes on; what is asked of its last token depends on the whole head."""
    return len(example.head) > len(opening) and example.head[: len(opening)].tobytes() == opening.tobytes()


def _packed(examples: Sequence[Example], length: int, opening: Tokens) -> list[Row]:
    open_rows: dict[int, list[Row]] = defaultdict(list)
    rows: list[Row] = []
    for example in sorted(examples, key=len, reverse=True):
        size = len(example) - len(opening)
        room = next((left for left in range(size, length + 1) if open_rows[left]), None)
        row = Row(opening=opening, examples=[]) if room is None else open_rows[room].pop()
        if room is None:
            rows.append(row)
        row.examples.append(example)
        open_rows[(length - len(opening) if room is None else room) - size].append(row)
    return rows


def _placed(rows: Sequence[Row], length: int) -> Iterator[tuple[int, int, int]]:
    """For each example the flat place where it would begin, its number in the row, and how much of it is shared."""
    for number, row in enumerate(rows):
        start, shared = number * length, len(row.opening)
        for document, example in enumerate(row.examples, start=1):
            yield start, document, shared
            start += len(example) - shared
