"""Examples: what a model reads in one go, and what it must say at each place."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.axes import Float, Int

__all__ = ["Example", "Part", "assemble", "plain"]

Tokens = Int[np.ndarray, " _"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """A run of tokens that is read after the head; `targets` holds what follows each token, −1 where nobody asks."""

    tokens: Tokens
    targets: Tokens


@dataclass(frozen=True, kw_only=True, eq=False)
class Example:
    """Tokens with their places, who sees whom, and what is asked.

    A token sees the tokens before it that are in group 0 (the head) or in its own group. `before` are the tokens one
    and two places back as it sees them. The token at `asked[i]` should predict `targets[i]`, with weight `weights[i]`.
    """

    tokens: Tokens
    positions: Tokens
    groups: Tokens
    before: Int[np.ndarray, "token 2"]
    asked: Int[np.ndarray, " target"]
    targets: Int[np.ndarray, " target"]
    weights: Float[np.ndarray, " target"]

    def __len__(self) -> int:
        return len(self.tokens)


def assemble(head: Tokens, parts: Sequence[Part], bag: Tokens, bag_weight: float) -> Example:
    """A head and parts that see the head and themselves; each part is placed as if it came right after the head.

    The last token of the head should predict every token of the bag.
    """
    lengths = np.array([len(part.tokens) for part in parts], dtype=np.int64)
    tokens = np.concatenate([head, *(part.tokens for part in parts)])
    starts = len(head) + np.cumsum(lengths) - lengths
    groups = np.concatenate([np.zeros(len(head), dtype=np.int64), np.repeat(np.arange(1, len(parts) + 1), lengths)])
    offsets = np.arange(len(tokens))
    positions = offsets.copy()
    positions[len(head) :] -= np.repeat(starts, lengths) - len(head)
    targets = np.concatenate([np.full(len(head), -1), *(part.targets for part in parts)])
    asked = np.flatnonzero(targets >= 0)
    return Example(
        tokens=tokens,
        positions=positions,
        groups=groups,
        before=np.stack([_back(tokens, positions, len(head), steps) for steps in (1, 2)], axis=-1),
        asked=np.concatenate([np.full(len(bag), len(head) - 1), asked]),
        targets=np.concatenate([bag, targets[asked]]),
        weights=np.concatenate([np.full(len(bag), bag_weight), np.ones(len(asked))]).astype(np.float32),
    )


def plain(tokens: Tokens, is_asked: np.ndarray) -> Example:
    """One run of tokens in which each that is marked should be predicted from all before it."""
    targets = np.where(is_asked, tokens, -1)
    part = Part(tokens=tokens[1:-1], targets=targets[2:])
    return assemble(tokens[:1], [part], targets[1:2][targets[1:2] >= 0], 1.0)


def _back(tokens: Tokens, positions: Tokens, head: int, steps: int) -> Tokens:
    """The token so many places back, as each token sees it; −1 before the first."""
    wanted = positions - steps
    places = np.where(wanted < head, wanted, np.arange(len(tokens)) - steps)
    return np.where(wanted >= 0, tokens[np.maximum(places, 0)], -1)
