"""Documents of any length from 4 characters on have examples."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regard.conformance.contracts._examples import documents, fault_of, open_corpus
from regard.conformance.homework import Corpus, Corruption, honest_corpus
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.subject import Subject

_BLOCK = 32
_DRAWS = 40
# About the shortest length, the longest that is kept, and the block's own.
_LENGTHS = (7, 4, 5, 6, 27, 28, 29, 31, 32, 33, 100)


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    texts = documents(trial, _LENGTHS)
    corpus = open_corpus(trial, texts, _BLOCK)
    for index, document in enumerate(texts):
        fault = _fault(corpus, index, document)
        yield Comparison(
            what=f"block_size {_BLOCK}, document {document!r} of {len(document)} characters: {fault or 'all is well'}",
            error=1.0 if fault else 0.0,
            tolerance=0.0,
        )


def _fault(corpus: Corpus, index: int, document: str) -> str | None:
    """What goes wrong with one document in some draws; whatever it raises belongs to this document."""
    try:
        faults = (fault_of(corpus, index, document, _BLOCK) for _ in range(_DRAWS))
        return next((fault for fault in faults if fault), None)
    except NotImplementedError:
        raise
    except Exception as error:  # noqa: BLE001
        return f"__getitem__ raises {type(error).__name__}: {error}"


def _picky(data: str, block_size: int, seed: int) -> Corpus:
    right, texts = honest_corpus(data, block_size, seed), data.split("\n")

    def item(index: int) -> tuple[np.ndarray, np.ndarray]:
        if len(texts[index]) < 7:
            raise ValueError("empty range for randrange()")
        return right.item(index)

    return replace(right, item=item)


def _broken_example() -> Subject:
    return Corruption(_picky, name="fails on short documents")


LAW = Law(
    id="CORRUPT-EVERY",
    statement="every document of 4 characters or more has an example, those shorter than the block too",
    needs=("corruption",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=("a random range that is empty for short documents", "lengths drawn without regard to the document"),
)
