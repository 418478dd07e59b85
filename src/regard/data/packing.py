"""Packing: examples side by side in rows of one length, with hardly a place left empty."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from regard.axes import Float, Int
from regard.data.encoding import Lesson
from regard.data.examples import Example
from regard.data.objectives import Objective
from regard.data.tokenizing import PAD

__all__ = ["Batch", "Rows", "make_batch", "pack", "rows_of_pass"]

Rows = list[list[Example]]


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


def rows_of_pass(lessons: Sequence[Lesson], objective: Objective, rng: np.random.Generator, *, max_length: int) -> Rows:
    """The rows of one pass over all lessons, in random order."""
    shown = (e for lesson in lessons for e in objective.examples(lesson, rng, max_length=max_length))
    examples = [example for example in shown if len(example.asked)]
    rows = pack([examples[number] for number in rng.permutation(len(examples))], max_length)
    return [rows[number] for number in rng.permutation(len(rows))]


def pack(examples: Sequence[Example], length: int) -> Rows:
    """The examples in few rows: the longest first, each into the row that it fills best."""
    open_rows: dict[int, Rows] = defaultdict(list)
    rows: Rows = []
    for example in sorted(examples, key=len, reverse=True):
        room = next((left for left in range(len(example), length + 1) if open_rows[left]), None)
        row: list[Example] = [] if room is None else open_rows[room].pop()
        if room is None:
            rows.append(row)
        row.append(example)
        open_rows[(length if room is None else room) - len(example)].append(row)
    return rows


def make_batch(rows: Rows, length: int) -> Batch:
    """Rows as arrays of one shape."""
    shape = (len(rows), length)
    tokens, groups, documents = np.full(shape, PAD), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    positions, before = np.zeros(shape, dtype=np.int64), np.full((*shape, 2), -1)
    asked, targets, weights = [], [], []
    for number, column, document, example in _placed(rows):
        place = (number, slice(column, column + len(example)))
        tokens[place], positions[place], groups[place] = example.tokens, example.positions, example.groups
        documents[place], before[place] = document, example.before
        asked.append(number * length + column + example.asked)
        targets.append(example.targets)
        weights.append(example.weights)
    flat = np.concatenate(asked)
    order = np.argsort(flat, kind="stable")
    return Batch(
        tokens=tokens,
        positions=positions,
        groups=groups,
        documents=documents,
        before=before,
        asked=flat[order],
        targets=np.concatenate(targets)[order],
        weights=np.concatenate(weights)[order],
    )


def _placed(rows: Rows) -> Iterator[tuple[int, int, int, Example]]:
    """Each example with its row, its column and its number in the row."""
    for number, row in enumerate(rows):
        column = 0
        for document, example in enumerate(row, start=1):
            yield number, column, document, example
            column += len(example)
