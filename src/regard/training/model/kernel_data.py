"""What `kernel` works on: tensors, matrices and tiles as flat arrays, with where to find what in them."""

from typing import Any, NamedTuple


class Heads(NamedTuple):
    """A tensor [batch, head, place, width] as a flat array, with the distances between neighbours."""

    values: Any
    batch: int
    head: int
    place: int


class Matrix(NamedTuple):
    """A part of a flat array: where it starts, and how far its rows and columns are apart."""

    values: Any
    start: int
    row: int
    column: int


class Chance(NamedTuple):
    """Which shares are dropped: those whose number, drawn from the seeds, is below the limit. The others grow."""

    seed: Any
    other_seed: Any
    limit: Any
    growth: Any


class Task(NamedTuple):
    """What attention is made of; `tiles` says of each ROWS × LANES logits whether any may be seen."""

    queries: Heads
    keys: Heads
    values: Heads
    bias: Heads
    tiles: Any
    scale: Any
    chance: Chance


class Outcome(NamedTuple):
    """What attention gave, the logarithms that came with it, and the gradient of what it gave."""

    made: Heads
    logs: Any
    gradient: Heads


class Size(NamedTuple):
    """Of a task, with how far heads and lines are apart in its desks: no power of two, for the cache's sake."""

    batch: int
    heads: int
    length: int
    width: int
    step: int
    line: int


class Seen(NamedTuple):
    """Tiles side by side: the first of them, how far apart they are, their number, and how many places each has."""

    tiles: Any
    first: int
    step: int
    count: int
    places: int


class Place(NamedTuple):
    """A place of a row."""

    batch: int
    place: int


class Block(NamedTuple):
    """ROWS queries: where their biases begin, the number of the first one among all, and their tiles."""

    bias: int
    query: int
    seen: Seen


class Desk(NamedTuple):
    """Where the heads of a row lie, each in one piece, and one head turned."""

    queries: Any
    keys: Any
    values: Any
    turned_keys: Any


class BackDesk(NamedTuple):
    """What gradients need besides: what attention gave, its gradient, and what becomes of a head's logits."""

    made: Any
    gradient: Any
    turned_values: Any
    shares: Any
    errors: Any
    means: Any
