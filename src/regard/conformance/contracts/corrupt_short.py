"""A document too short to be truncated is kept whole, if it has an example at all."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._examples import documents, fault_of, open_corpus
from regard.conformance.homework import Corpus, Corruption, honest_corpus
from regard.conformance.law import Comparison, InputSize, Law, LawTrial, NotTried
from regard.conformance.subject import Subject

_BLOCK = 32
_DRAWS = 40
# The first is there for its letters only.
_LENGTHS = (9, 3, 2, 1, 0)


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """The homework's own file has no such document and its text is silent on them, so that raising is no fault."""
    texts = documents(trial, _LENGTHS)
    corpus = open_corpus(trial, texts, _BLOCK)
    for index, document in list(enumerate(texts))[1:]:
        for _ in range(_DRAWS):
            yield _finding(corpus, index, document)


def _finding(corpus: Corpus, index: int, document: str) -> Comparison:
    told = f"document {document!r} of {len(document)} characters"
    try:
        fault = fault_of(corpus, index, document, _BLOCK)
    except NotImplementedError:
        raise
    except Exception as error:
        raise NotTried(f"{told} raises {type(error).__name__}: {error}; the homework asks for nothing here") from error
    return Comparison(
        what=f"block_size {_BLOCK}, {told}: {fault or 'all is well'}", error=1.0 if fault else 0.0, tolerance=0.0
    )


def _loses_short_ones(data: str, block_size: int, seed: int) -> Corpus:
    def cut(document: str, block: int, rng: np.random.Generator) -> tuple[str, str, str]:
        del block, rng
        return (document[:1], document[1:2], document[2:]) if len(document) > 3 else ("", "", "")

    return honest_corpus(data, block_size, seed, cut=cut)


def _broken_example() -> Subject:
    return Corruption(_loses_short_ones, name="empties short documents")


LAW = Law(
    id="CORRUPT-SHORT",
    statement="a document of fewer than 4 characters that has an example is whole in it",
    needs=("corruption",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=("lengths drawn without regard to the document",),
)
