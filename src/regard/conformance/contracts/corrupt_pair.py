"""y is x moved on by one."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regard.conformance.contracts._examples import documents, open_corpus
from regard.conformance.homework import Corpus, Corruption, honest_corpus
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.subject import Subject

_BLOCK = 64
_DRAWS = 20


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """The whole string has block_size characters in the course's older text, one more in its newer: both are right."""
    texts = documents(trial, (30, 64, 200))
    corpus = open_corpus(trial, texts, _BLOCK)
    pairs = [corpus.item(index) for index in range(len(texts)) for _ in range(_DRAWS)]
    kinds = sorted({f"{side.dtype} {side.shape}" for pair in pairs for side in pair})
    lengths = {side.shape for pair in pairs for side in pair}
    allowed = ({(_BLOCK,)}, {(_BLOCK - 1,)})
    is_long = all(side.dtype == np.int64 for pair in pairs for side in pair)
    yield Comparison(
        what=f"for block_size {_BLOCK}, x and y are {', '.join(kinds[:4])}, and Long rows of {_BLOCK} "
        f"(or always {_BLOCK - 1}) are asked for",
        error=0.0 if lengths in allowed and is_long else 1.0,
        tolerance=0.0,
    )
    broken = sum(not np.array_equal(np.ravel(x)[1:], np.ravel(y)[:-1]) for x, y in pairs)
    told = f"y is not x moved on by one in {broken} of {len(pairs)} draws"
    yield Comparison(what=told, error=float(broken), tolerance=0.0)


def _unmoved(data: str, block_size: int, seed: int) -> Corpus:
    right = honest_corpus(data, block_size, seed)

    def item(index: int) -> tuple[np.ndarray, np.ndarray]:
        x, _ = right.item(index)
        return x, x

    return replace(right, item=item)


def _broken_example() -> Subject:
    return Corruption(_unmoved, name="y is x")


LAW = Law(
    id="CORRUPT-PAIR",
    statement="x = tokens[:-1] and y = tokens[1:], Long rows of the block's length",
    needs=("corruption",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=("x and y are cut at the wrong ends", "pads do not fill the block", "numbers are not Long"),
)
