"""Examples: what a model reads in one go, and what it must say at each place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.axes import Float, Int

__all__ = ["Example", "Layout", "Part", "lay_out", "plain"]

Tokens = Int[np.ndarray, " _"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """A run of tokens that is read after the head; `targets` holds what follows each token, −1 where nobody asks."""

    tokens: Tokens
    targets: Tokens


@dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """A head and parts that see the head and themselves; each part is placed as if it came right after the head.

    The last token of the head should predict every token of the bag, with `bag_weight` each.
    """

    head: Tokens
    parts: Sequence[Part]
    bag: Tokens
    bag_weight: float = 1.0

    def __len__(self) -> int:
        return len(self.head) + sum(len(part.tokens) for part in self.parts)

    @property
    def weight(self) -> float:
        """The weights of all that is asked, together."""
        return self.bag_weight * len(self.bag) + sum(np.count_nonzero(part.targets >= 0) for part in self.parts)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Examples one after the other, as arrays; `owners` says whose each token is.

    A token sees the tokens before it, of its example, that are in group 0 (the head) or in its own group. `before` are
    the tokens one and two places back as it sees them, −1 before the first. The token at `asked[i]` should predict
    `targets[i]`, with weight `weights[i]`.
    """

    tokens: Int[np.ndarray, " token"]
    owners: Int[np.ndarray, " token"]
    positions: Int[np.ndarray, " token"]
    groups: Int[np.ndarray, " token"]
    before: Int[np.ndarray, "token 2"]
    asked: Int[np.ndarray, " target"]
    targets: Int[np.ndarray, " target"]
    weights: Float[np.ndarray, " target"]


def lay_out(examples: Sequence[Example]) -> Layout:
    """The examples as arrays, all at once, since a batch has hundreds of them."""
    runs = [run for example in examples for run in (example.head, *(part.tokens for part in example.parts))]
    lengths = np.array([len(run) for run in runs])
    num_runs = np.array([1 + len(example.parts) for example in examples])
    heads = np.cumsum(num_runs) - num_runs
    ends = np.cumsum(lengths)
    starts, run_owners = ends - lengths, np.repeat(np.arange(len(examples)), num_runs)
    groups = np.arange(len(runs)) - heads[run_owners]
    head_lengths = lengths[heads]
    offsets = np.where(groups == 0, 0, head_lengths[run_owners])
    tokens, owners = np.concatenate(runs), np.repeat(run_owners, lengths)
    positions = np.arange(len(tokens)) + np.repeat(offsets - starts, lengths)
    begins, head_ends = starts[heads][owners], head_lengths[owners]
    following = [
        targets
        for example in examples
        for targets in (np.full(len(example.head), -1), *(part.targets for part in example.parts))
    ]
    targets = np.concatenate(following)
    asked = np.flatnonzero(targets >= 0)
    bags = [len(example.bag) for example in examples]
    return Layout(
        tokens=tokens,
        owners=owners,
        positions=positions,
        groups=np.repeat(groups, lengths),
        before=np.stack([_back(tokens, positions, begins, head_ends, steps) for steps in (1, 2)], axis=-1),
        asked=np.concatenate([np.repeat(ends[heads] - 1, bags), asked]),
        targets=np.concatenate([*(example.bag for example in examples), targets[asked]]),
        weights=np.concatenate(
            [np.repeat([example.bag_weight for example in examples], bags), np.ones(len(asked))]
        ).astype(np.float32),
    )


def plain(tokens: Tokens, is_asked: np.ndarray) -> Example:
    """One run of tokens in which each that is marked should be predicted from all before it."""
    targets = np.where(is_asked, tokens, -1)
    part = Part(tokens=tokens[1:-1], targets=targets[2:])
    return Example(head=tokens[:1], parts=[part], bag=targets[1:2][targets[1:2] >= 0])


def _back(tokens: Tokens, positions: Tokens, begins: Tokens, head_ends: Tokens, steps: int) -> Tokens:
    """The token so many places back, as each token sees it; −1 before the first."""
    wanted = positions - steps
    places = np.where(wanted < head_ends, begins + wanted, np.arange(len(tokens)) - steps)
    return np.where(wanted >= 0, tokens[np.maximum(places, 0)], -1)
