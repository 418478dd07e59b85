"""Prefix, masked and suffix rebuild the truncated document."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._examples import Example, documents, drawn, open_corpus
from regard.conformance.homework import Corpus, Corruption, honest_corpus
from regard.conformance.homework import honest_cut as right_cut
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.subject import Subject

_DRAWS = 60


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    for block_size in (32, 64):
        texts = documents(trial, (12, block_size - 4, 2 * block_size, 5 * block_size))
        examples = list(drawn(open_corpus(trial, texts, block_size), texts, _DRAWS))
        broken = [each for each in examples if each.fault or each.rebuilt not in each.document]
        told = _told(broken[0]) if broken else "every example rebuilds its document"
        yield Comparison(
            what=f"block_size {block_size}: {told}",
            error=len(broken) / len(examples),
            tolerance=0.0,
            signature={"looks": _looks(broken)},
        )


def _told(example: Example) -> str:
    if example.fault:
        return f"{example.text!r}: {example.fault}"
    start = example.document[: len(example.rebuilt) + 4]
    return f"{example.text!r}: prefix + masked + suffix = {example.rebuilt!r} is no part of the document {start!r}…"


def _looks(broken: list[Example]) -> tuple[str, ...]:
    """The order of the parts that would rebuild all of the broken examples."""
    orders = {
        "[prefix] MASK [masked] MASK [suffix] instead of [prefix] MASK [suffix] MASK [masked]": lambda each: (
            each.prefix + each.suffix + each.masked
        ),
        "[suffix] and [prefix] exchanged": lambda each: each.suffix + each.masked + each.prefix,
    }
    clean = [each for each in broken if not each.fault]
    if not clean or len(clean) < len(broken):
        return ()
    return tuple(
        f"matches {name}" for name, order in orders.items() if all(order(each) in each.document for each in clean)
    )


def _loses_one(data: str, block_size: int, seed: int) -> Corpus:
    def cut(document: str, block: int, rng: np.random.Generator) -> tuple[str, str, str]:
        prefix, masked, suffix = right_cut(document, block, rng)
        return prefix, masked, suffix[1:]

    return honest_corpus(data, block_size, seed, cut=cut)


def _broken_example() -> Subject:
    return Corruption(_loses_one, name="loses a character after the span")


LAW = Law(
    id="CORRUPT-SPANS",
    statement="an example is [prefix] MASK [suffix] MASK [masked] PAD…, and nothing of the truncated document is lost",
    needs=("corruption",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=(
        "a character is lost or doubled where the span ends",
        "a MASK is missing",
        "pads are on the wrong side",
        "the text is longer than the block and cut off",
    ),
)
