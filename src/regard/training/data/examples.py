"""Examples: what a model reads in one go, and what it must say at each place."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regard.core.axes import Float, Int

Tokens = Int[np.ndarray, " _"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Bag:
    """Tokens that one token should predict all at once, each with its weight."""

    tokens: Int[np.ndarray, " target"]
    weights: Float[np.ndarray, " target"]


NOTHING = Bag(tokens=np.zeros(0, dtype=np.int64), weights=np.zeros(0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """A run of tokens that is read after the head.

    `targets` holds what follows each token, −1 where nobody asks; the last token should predict the bag too.
    """

    tokens: Tokens
    targets: Tokens
    bag: Bag = NOTHING


@dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """A head and parts that see the head and themselves; each part is placed as if it came right after the head.

    The last token of the head should predict the bag.
    """

    head: Tokens
    parts: Sequence[Part]
    bag: Bag

    def __len__(self) -> int:
        return len(self.head) + sum(len(part.tokens) for part in self.parts)

    @cached_property
    def weight(self) -> float:
        """The weights of all that is asked, together."""
        bags = np.concatenate([self.bag.weights, *(part.bag.weights for part in self.parts)])
        targets = np.concatenate([NOTHING.tokens, *(part.targets for part in self.parts)])
        return float(bags.sum()) + int(np.count_nonzero(targets >= 0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Examples one after the other, as arrays; `owners` says whose each token is.

    A token sees the tokens before it, of its example, that are in group 0 (the head) or in its own group. `before` are
    the tokens one and two places back in its own group, −1 before the first: pairs and triples of words reach from the
    head into no part, so that what is known about a name is kept where every part can read it. The token at `asked[i]`
    should predict `targets[i]`, with weight `weights[i]`.
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
    bags = [bag for example in examples for bag in (example.bag, *(part.bag for part in example.parts))]
    lengths = np.array([len(run) for run in runs])
    num_runs = np.array([1 + len(example.parts) for example in examples])
    heads = np.cumsum(num_runs) - num_runs
    ends = np.cumsum(lengths)
    starts, run_owners = ends - lengths, np.repeat(np.arange(len(examples)), num_runs)
    groups = np.arange(len(runs)) - heads[run_owners]
    offsets = np.where(groups == 0, 0, lengths[heads][run_owners])
    tokens, owners = np.concatenate(runs), np.repeat(run_owners, lengths)
    inside = np.arange(len(tokens)) - np.repeat(starts, lengths)
    following = [
        targets
        for example in examples
        for targets in (np.full(len(example.head), -1), *(part.targets for part in example.parts))
    ]
    targets = np.concatenate(following)
    asked = np.flatnonzero(targets >= 0)
    return Layout(
        tokens=tokens,
        owners=owners,
        positions=inside + np.repeat(offsets, lengths),
        groups=np.repeat(groups, lengths),
        before=np.stack([np.where(inside >= back, np.roll(tokens, back), -1) for back in (1, 2)], axis=-1),
        asked=np.concatenate([np.repeat(ends - 1, [len(bag.tokens) for bag in bags]), asked]),
        targets=np.concatenate([*(bag.tokens for bag in bags), targets[asked]]),
        weights=np.concatenate([*(bag.weights for bag in bags), np.ones(len(asked))]).astype(np.float32),
    )


def plain(tokens: Tokens, is_asked: np.ndarray) -> Example:
    """One run of tokens in which each that is marked should be predicted from all before it."""
    targets = np.where(is_asked, tokens, -1)
    part = Part(tokens=tokens[1:-1], targets=targets[2:])
    first = targets[1:2][targets[1:2] >= 0]
    return Example(head=tokens[:1], parts=[part], bag=Bag(tokens=first, weights=np.ones(len(first))))
