"""Corrupted documents drawn and read back: prefix, masked and suffix out of the numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regard.conformance.homework import MASK, PAD, Corpus, corruption_of
from regard.conformance.law import LawTrial, NotTried

_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz ABCDEFGH.,0123456789é"))


@dataclass(frozen=True, kw_only=True)
class Example:
    """One item read back; `fault` says why it cannot be read, and then the parts are empty."""

    document: str
    text: str
    prefix: str = ""
    masked: str = ""
    suffix: str = ""
    fault: str | None = None

    @property
    def rebuilt(self) -> str:
        """The truncated document."""
        return self.prefix + self.masked + self.suffix


def documents(trial: LawTrial, lengths: tuple[int, ...]) -> list[str]:
    """Random letters, so that a lost or moved part is not mistaken for another."""
    rng = trial.rng("documents")
    return ["".join(rng.choice(_LETTERS, size=length)) for length in lengths]


def longest(block_size: int) -> int:
    """⌊7/8·block⌋: how long a truncated document may be."""
    return int(block_size * 7 / 8)


def open_corpus(trial: LawTrial, texts: list[str], block_size: int) -> Corpus:
    """The dataset over these documents."""
    return corruption_of(trial).corpus("\n".join(texts), block_size, trial.seed)


def text_of(corpus: Corpus, x: np.ndarray, y: np.ndarray) -> str:
    """The whole string: x, and the one character that only y has."""
    numbers = [*np.ravel(x).tolist(), *np.ravel(y).tolist()[-1:]]
    return "".join(str(corpus.itos[int(number)]) for number in numbers)


def read(document: str, text: str) -> Example:
    """`prefix MASK suffix MASK masked PAD…` taken apart.

    >>> read("abcdef", "a⁇ef⁇bcd□□").rebuilt
    'abcdef'
    """
    body = text.rstrip(PAD)
    if PAD in body:
        return Example(document=document, text=text, fault="a pad stands before the end")
    if body.count(MASK) != 2:
        return Example(document=document, text=text, fault=f"it has {body.count(MASK)} MASK instead of 2")
    prefix, suffix, masked = body.split(MASK)
    return Example(document=document, text=text, prefix=prefix, masked=masked, suffix=suffix)


def drawn(corpus: Corpus, texts: list[str], times: int) -> Iterator[Example]:
    """Every document several times."""
    for index, document in enumerate(texts):
        for _ in range(times):
            yield read(document, text_of(corpus, *corpus.item(index)))


def readable(examples: Iterator[Example]) -> list[Example]:
    """The examples, if all can be read and rebuild their documents; what SPANS refutes is not refuted again."""
    found = list(examples)
    if any(each.fault or each.rebuilt not in each.document for each in found):
        raise NotTried("examples cannot be read back, see CORRUPT-SPANS")
    return found


def fault_of(corpus: Corpus, index: int, document: str, block_size: int) -> str | None:
    """What is wrong with one draw from a document: it cannot be read, loses text, or has another length."""
    x, y = corpus.item(index)
    example = read(document, text_of(corpus, x, y))
    if example.fault:
        return f"{example.text!r} does not rebuild it, {example.fault}"
    if example.rebuilt not in document or len(example.rebuilt) < min(4, len(document)):
        return f"{example.text!r} does not rebuild it"
    return None if len(x) in (block_size, block_size - 1) else f"x has {len(x)} characters"
