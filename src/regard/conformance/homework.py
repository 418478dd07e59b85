"""The pieces of a homework that contracts judge: three callables in numpy's terms, and honest versions of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.conformance.law import LawTrial
from regard.conformance.subject import Subject
from regard.positions.rotary import Rotary

MASK, PAD = "\u2047", "\u25a1"


class RotaryTable(Subject):
    """`table(dim, max_positions)` gives the cosines and sines of a rotary code."""

    capabilities = frozenset({"table"})

    def __init__(self, table: Callable[[int, int], np.ndarray], *, name: str = "precompute_rotary_emb") -> None:
        self.table, self.name = table, name


class RotaryTurn(Subject):
    """`turn(x, table)` turns x of [batch, head, position, width] by a table of cosines and sines."""

    capabilities = frozenset({"turn"})

    def __init__(self, turn: Callable[[np.ndarray, np.ndarray], np.ndarray], *, name: str = "apply_rotary_emb") -> None:
        self.turn, self.name = turn, name


@dataclass(frozen=True, kw_only=True, eq=False)
class Corpus:
    """A dataset of corrupted documents: its vocabulary, and `item(index)` → the two rows of numbers (x, y)."""

    size: int
    stoi: Mapping[str, int]
    itos: Mapping[int, str]
    mask_char: Any
    pad_char: Any
    vocab_size: int | None
    item: Callable[[int], tuple[np.ndarray, np.ndarray]]


class Corruption(Subject):
    """`corpus(data, block_size, seed)` is the dataset over the lines of the data."""

    capabilities = frozenset({"corruption"})

    def __init__(self, corpus: Callable[[str, int, int], Corpus], *, name: str = "CharCorruptionDataset") -> None:
        self.corpus, self.name = corpus, name


def table_of(trial: LawTrial) -> RotaryTable:
    """The subject of a contract on tables."""
    assert isinstance(trial.subject, RotaryTable)
    return trial.subject


def turn_of(trial: LawTrial) -> RotaryTurn:
    """The subject of a contract on turning."""
    assert isinstance(trial.subject, RotaryTurn)
    return trial.subject


def corruption_of(trial: LawTrial) -> Corruption:
    """The subject of a contract on corrupted documents."""
    assert isinstance(trial.subject, Corruption)
    return trial.subject


def honest_table(dim: int, max_positions: int) -> np.ndarray:
    """(cos tθ_i, sin tθ_i) for every position t and pair i, θ_i = 10000^{−2(i−1)/dim}, in float64."""
    angles = np.arange(max_positions)[:, None] * Rotary().frequencies(dim)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def honest_turn(x: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Neighbours (x_1, x_2), (x_3, x_4) … as complex numbers, times cos + i sin of their positions."""
    wide = x.astype(np.float64)
    cos, sin = np.moveaxis(table[: x.shape[-2]].astype(np.float64), -1, 0)
    first, second = wide[..., 0::2], wide[..., 1::2]
    turned = np.stack([first * cos - second * sin, first * sin + second * cos], axis=-1)
    return turned.reshape(x.shape).astype(x.dtype)


Cut = Callable[[str, int, np.random.Generator], tuple[str, str, str]]
Arrange = Callable[[tuple[str, str, str], int], str]


def honest_cut(document: str, block_size: int, rng: np.random.Generator) -> tuple[str, str, str]:
    """Prefix, masked and suffix: at least 4 and at most ⌊7/8·block⌋ characters, a quarter masked on average."""
    kept = document[: int(rng.integers(4, int(block_size * 7 / 8), endpoint=True))]
    masked = int(rng.integers(0, len(kept) // 2, endpoint=True))
    start = int(rng.integers(0, len(kept) - masked, endpoint=True))
    return kept[:start], kept[start : start + masked], kept[start + masked :]


def honest_arrangement(parts: tuple[str, str, str], block_size: int) -> str:
    """`prefix MASK suffix MASK masked PAD…`, one longer than the block."""
    prefix, masked, suffix = parts
    return (prefix + MASK + suffix + MASK + masked).ljust(block_size + 1, PAD)


def honest_corpus(
    data: str, block_size: int, seed: int, *, cut: Cut = honest_cut, arrange: Arrange = honest_arrangement
) -> Corpus:
    """A lawful dataset, or an outlaw with one of its two steps replaced."""
    rng = np.random.default_rng(seed)
    characters = [PAD, MASK, *sorted(set(data))]
    stoi = {character: number for number, character in enumerate(characters)}
    documents = data.split("\n")

    def item(index: int) -> tuple[np.ndarray, np.ndarray]:
        row = np.array([stoi[c] for c in arrange(cut(documents[index], block_size, rng), block_size)], dtype=np.int64)
        return row[:-1], row[1:]

    return Corpus(
        size=len(documents),
        stoi=stoi,
        itos=dict(enumerate(characters)),
        mask_char=MASK,
        pad_char=PAD,
        vocab_size=len(characters),
        item=item,
    )
