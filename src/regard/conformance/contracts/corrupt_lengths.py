"""Truncated documents are neither too short nor too long."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._examples import documents, drawn, longest, open_corpus, readable
from regard.conformance.homework import Corpus, Corruption, honest_corpus
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.subject import Subject

_DRAWS = 400
SHORTEST = 4


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    for block_size in (20, 32, 128):
        texts = documents(trial, (SHORTEST, 9, 3 * block_size))
        examples = readable(drawn(open_corpus(trial, texts, block_size), texts, _DRAWS))
        lengths = [len(each.rebuilt) for each in examples]
        outside = max(SHORTEST - min(lengths), max(lengths) - longest(block_size), 0)
        yield Comparison(
            what=f"block_size {block_size}: truncated documents have {min(lengths)} to {max(lengths)} characters, and "
            f"{SHORTEST} to {longest(block_size)} are allowed",
            error=float(outside),
            tolerance=0.0,
        )


def _down_to_one(data: str, block_size: int, seed: int) -> Corpus:
    def cut(document: str, block: int, rng: np.random.Generator) -> tuple[str, str, str]:
        kept = document[: int(rng.integers(1, longest(block), endpoint=True))]
        return "", kept[: len(kept) // 4], kept[len(kept) // 4 :]

    return honest_corpus(data, block_size, seed, cut=cut)


def _broken_example() -> Subject:
    return Corruption(_down_to_one, name="truncates to one character")


LAW = Law(
    id="CORRUPT-LENGTHS",
    statement="a truncated document has at least 4 and at most int(block_size·7/8) characters",
    needs=("corruption",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=("the bounds of the random length", "the document is not truncated", "an end of the range"),
)
