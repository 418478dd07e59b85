"""PAD is 0, MASK is 1, and the data's characters follow in order."""

from collections.abc import Iterator
from dataclasses import replace

from regard.conformance.contracts._examples import documents, open_corpus
from regard.conformance.homework import MASK, PAD, Corpus, Corruption, honest_corpus
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.subject import Subject


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    texts = documents(trial, (40, 90))
    corpus = open_corpus(trial, texts, 64)
    wanted = [PAD, MASK, *sorted(set("\n".join(texts)))]
    stoi = {character: number for number, character in enumerate(wanted)}
    told = {
        "PAD_CHAR is not U+25A1 or MASK_CHAR is not U+2047": (corpus.pad_char, corpus.mask_char) == (PAD, MASK),
        "stoi is not PAD, MASK and the data's characters in order": dict(corpus.stoi) == stoi,
        "itos does not undo stoi": dict(corpus.itos) == {number: character for character, number in stoi.items()},
        "vocab_size is not the number of characters": corpus.vocab_size in (None, len(wanted)),
        "len(dataset) is not the number of lines": corpus.size == len(texts),
    }
    for what, is_kept in told.items():
        yield Comparison(what=what, error=0.0 if is_kept else 1.0, tolerance=0.0)


def _mask_first(data: str, block_size: int, seed: int) -> Corpus:
    right = honest_corpus(data, block_size, seed)
    stoi = {**right.stoi, PAD: 1, MASK: 0}
    return replace(right, stoi=stoi, itos={number: character for character, number in stoi.items()})


def _broken_example() -> Subject:
    return Corruption(_mask_first, name="MASK before PAD")


LAW = Law(
    id="CORRUPT-VOCABULARY",
    statement="PAD U+25A1 is 0, MASK U+2047 is 1, the data's sorted characters follow, and there is one item a line",
    needs=("corruption",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=("MASK and PAD are exchanged", "characters are not sorted"),
)
