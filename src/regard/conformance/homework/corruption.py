"""Corrupted documents, `CharCorruptionDataset`: each is truncated, and a span of it is masked and moved to the end."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from regard.conformance.homework import HomeworkFunction, called, yes_no
from regard.conformance.law import NO_INPUTS, Comparison, Comparisons, Law, LawTrial, NotTried
from regard.conformance.verdict import Diagnosis

MASK, PAD = "\u2047", "\u25a1"
FALSE_ALARM = 1e-6

_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz ABCDEFGH.,0123456789é"))
_SHORTEST = 4
_BLOCK = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class Corpus:
    """A dataset of corrupted documents: its vocabulary, and `item(index)` → the two rows of numbers (x, y).

    `items(index, times)` draws several at once, which saves messages if the dataset is in another process.
    """

    size: int
    stoi: Mapping[str, int]
    itos: Mapping[int, str]
    mask_char: Any
    pad_char: Any
    vocab_size: int | None
    item: Callable[[int], tuple[np.ndarray, np.ndarray]]
    items: Callable[[int, int], Sequence[tuple[np.ndarray, np.ndarray]]] | None = None

    def draws(self, index: int, times: int) -> Sequence[tuple[np.ndarray, np.ndarray]]:
        """The item, drawn anew several times."""
        return [self.item(index) for _ in range(times)] if self.items is None else self.items(index, times)


_Parts = tuple[str, str, str]
_Cut = Callable[[str, int, np.random.Generator], _Parts]


def longest(block_size: int) -> int:
    """⌊7/8·block⌋: how long a truncated document may be."""
    return int(block_size * 7 / 8)


def reference_cut(
    document: str, block_size: int, rng: np.random.Generator, *, shortest: int = _SHORTEST, most_masked: float = 0.5
) -> _Parts:
    """Prefix, masked span and suffix: between 4 and ⌊7/8·block⌋ characters, a quarter masked on average."""
    kept = document[: int(rng.integers(shortest, longest(block_size), endpoint=True))]
    masked = int(rng.integers(0, int(len(kept) * most_masked), endpoint=True))
    start = int(rng.integers(0, len(kept) - masked, endpoint=True))
    return kept[:start], kept[start : start + masked], kept[start + masked :]


def reference_corpus(data: str, block_size: int, seed: int, *, cut: _Cut = reference_cut) -> Corpus:
    """A correct dataset of `prefix MASK suffix MASK masked PAD…`, or a broken one with another cut."""
    rng = np.random.default_rng(seed)
    characters = [PAD, MASK, *sorted(set(data))]
    stoi = {character: number for number, character in enumerate(characters)}
    documents = data.split("\n")

    def item(index: int) -> tuple[np.ndarray, np.ndarray]:
        prefix, masked, suffix = cut(documents[index], block_size, rng)
        text = (prefix + MASK + suffix + MASK + masked).ljust(block_size + 1, PAD)
        row = np.array([stoi[character] for character in text], dtype=np.int64)
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


@dataclass(frozen=True, kw_only=True)
class CorruptedExample:
    """One item read back; `fault` says why it cannot be read, in which case the parts are empty."""

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

    @property
    def is_broken(self) -> bool:
        """True if it cannot be read, or loses or moves text."""
        return self.fault is not None or self.rebuilt not in self.document


def read_example(document: str, text: str) -> CorruptedExample:
    """`prefix MASK suffix MASK masked PAD…` taken apart.

    >>> read_example("abcdef", "a⁇ef⁇bcd□□").rebuilt
    'abcdef'
    """
    body = text.rstrip(PAD)
    if PAD in body:
        return CorruptedExample(document=document, text=text, fault="there is a pad before the end")
    if body.count(MASK) != 2:
        return CorruptedExample(document=document, text=text, fault=f"it has {body.count(MASK)} MASK instead of 2")
    prefix, suffix, masked = body.split(MASK)
    return CorruptedExample(document=document, text=text, prefix=prefix, masked=masked, suffix=suffix)


def _documents(trial: LawTrial, lengths: Sequence[int]) -> list[str]:
    """Random letters, so that a lost or moved part is not mistaken for another."""
    rng = trial.rng("documents")
    return ["".join(rng.choice(_LETTERS, size=length)) for length in lengths]


def _corpus(trial: LawTrial, texts: list[str], block_size: int) -> Corpus:
    return called(trial, "\n".join(texts), block_size, trial.seed)


def _text_of(corpus: Corpus, x: np.ndarray, y: np.ndarray) -> str:
    """The whole string: x, and the one character that only y has."""
    numbers = [*np.ravel(x).tolist(), *np.ravel(y).tolist()[-1:]]
    return "".join(str(corpus.itos[int(number)]) for number in numbers)


def _examples(trial: LawTrial, texts: list[str], block_size: int, draws: int) -> list[CorruptedExample]:
    """Every document several times."""
    corpus = _corpus(trial, texts, block_size)
    return [
        read_example(document, _text_of(corpus, *pair))
        for index, document in enumerate(texts)
        for pair in corpus.draws(index, draws)
    ]


def _readable(examples: list[CorruptedExample]) -> list[CorruptedExample]:
    """The examples, if all can be read and rebuild their documents; CORRUPT-SPANS refutes the others."""
    if any(each.is_broken for each in examples):
        raise NotTried("examples cannot be read back, see CORRUPT-SPANS")
    return examples


def _first_fault(corpus: Corpus, index: int, document: str) -> str | None:
    """What is wrong with some of 40 draws from a document: they cannot be read, lose text, or have another length."""
    for _ in range(40):
        x, y = corpus.item(index)
        example = read_example(document, _text_of(corpus, x, y))
        if example.fault:
            return f"{example.text!r} does not rebuild it, {example.fault}"
        if example.is_broken or len(example.rebuilt) < min(_SHORTEST, len(document)):
            return f"{example.text!r} does not rebuild it"
        if len(x) not in (_BLOCK, _BLOCK - 1):
            return f"x has {len(x)} characters"
    return None


def _every(trial: LawTrial) -> Comparisons:
    """Lengths about the shortest, the longest that is kept, and the block's own."""
    texts = _documents(trial, (7, 4, 5, 6, 27, 28, 29, 31, 32, 33, 100))
    corpus = _corpus(trial, texts, _BLOCK)
    for index, document in enumerate(texts):
        try:
            fault = _first_fault(corpus, index, document)
        except NotImplementedError:
            raise
        except Exception as error:  # noqa: BLE001 - a student's code may raise anything
            fault = f"__getitem__ raises {type(error).__name__}: {error}"
        yield yes_no(f"block_size {_BLOCK}, document {document!r} of {len(document)} characters: {fault}", not fault)


def _short(trial: LawTrial) -> Comparisons:
    """The homework's own file has no such document and its text does not mention them, so raising is no fault."""
    texts = _documents(trial, (9, 3, 2, 1, 0))
    corpus = _corpus(trial, texts, _BLOCK)
    # The first document is there only for its letters.
    for index, document in list(enumerate(texts))[1:]:
        about = f"document {document!r} of {len(document)} characters"
        try:
            fault = _first_fault(corpus, index, document)
        except NotImplementedError:
            raise
        except Exception as error:
            raised = f"{about} raises {type(error).__name__}: {error}"
            raise NotTried(f"{raised}; the homework does not say what it should do") from error
        yield yes_no(f"block_size {_BLOCK}, {about}: {fault}", not fault)


def _lengths(trial: LawTrial) -> Comparisons:
    for block_size in (20, 32, 128):
        texts = _documents(trial, (_SHORTEST, 9, 3 * block_size))
        lengths = [len(each.rebuilt) for each in _readable(_examples(trial, texts, block_size, 400))]
        outside = max(_SHORTEST - min(lengths), max(lengths) - longest(block_size), 0)
        yield Comparison(
            what=f"block_size {block_size}: truncated documents have {min(lengths)} to {max(lengths)} characters; "
            f"{_SHORTEST} to {longest(block_size)} are allowed",
            error=float(outside),
            tolerance=0.0,
            is_yes_no=True,
        )


def _pair(trial: LawTrial) -> Comparisons:
    """The whole string has block_size characters in the course's older text, one more in its newer: both are right."""
    block_size = 64
    texts = _documents(trial, (30, 64, 200))
    corpus = _corpus(trial, texts, block_size)
    pairs = [pair for index in range(len(texts)) for pair in corpus.draws(index, 20)]
    kinds = sorted({f"{side.dtype} {side.shape}" for pair in pairs for side in pair})
    lengths = {side.shape for pair in pairs for side in pair}
    is_long = all(side.dtype == np.int64 for pair in pairs for side in pair)
    yield yes_no(
        f"for block_size {block_size}, x and y are {', '.join(kinds[:4])} instead of Long rows of {block_size} "
        f"(or always {block_size - 1})",
        lengths in ({(block_size,)}, {(block_size - 1,)}) and is_long,
    )
    broken = sum(not np.array_equal(np.ravel(x)[1:], np.ravel(y)[:-1]) for x, y in pairs)
    what = f"y is not x moved on by one in {broken} of {len(pairs)} draws"
    yield Comparison(what=what, error=float(broken), tolerance=0.0, is_yes_no=True)


def _quarter(trial: LawTrial) -> Comparisons:
    """The mean of masked − length/4 against its bound; draws are independent, so the rate of false alarms is ≤ 1e-6.

    "About" a quarter: one character for rounding, and a tenth of the quarter, are allowed.
    """
    block_size, draws = 128, 6_000
    texts = _documents(trial, (5 * block_size,))
    examples = _readable(_examples(trial, texts, block_size, draws))
    lengths = np.array([len(each.rebuilt) for each in examples], dtype=float)
    masked = np.array([len(each.masked) for each in examples], dtype=float)
    excess = masked - lengths / 4
    share = masked.mean() / lengths.mean()
    yield Comparison(
        what=f"block_size {block_size}, {draws} draws: {share:.1%} of the characters are masked, "
        f"{masked.mean():.1f} of {lengths.mean():.1f}, instead of about a quarter",
        error=abs(float(excess.mean())),
        tolerance=1.0 + 0.1 * float(lengths.mean()) / 4 + mean_bound(excess, spread=float(longest(block_size))),
        is_yes_no=True,
    )


def mean_bound(values: np.ndarray, *, spread: float) -> float:
    """How far a mean may be from its expectation except with probability FALSE_ALARM, whatever the distribution.

    The empirical Bernstein bound of Maurer and Pontil: √(2V ln(4/δ)/n) + 7R ln(4/δ)/(3(n − 1)), V the sample variance
    and R the length of the interval that the values come from.
    """
    n, log = len(values), math.log(4 / FALSE_ALARM)
    return math.sqrt(2 * float(values.var(ddof=1)) * log / n) + 7 * spread * log / (3 * (n - 1))


def _random(trial: LawTrial) -> Comparisons:
    """Every length is drawn, and the span's length and place vary.

    A length of probability 1/200 or more is missed with probability (1 − 1/200)^4000 < 2e-9; with 25 lengths the rate
    of false alarms is below 1e-7. Uniform lengths have probability 1/25 each.
    """
    draws = 4000
    examples = _readable(_examples(trial, _documents(trial, (5 * _BLOCK,)), _BLOCK, draws))
    seen = {len(each.rebuilt) for each in examples}
    never = [length for length in range(_SHORTEST, longest(_BLOCK) + 1) if length not in seen]
    listed = ", ".join(map(str, never[:5])) + (f" and {len(never) - 5} more" if len(never) > 5 else "")
    what = f"block_size {_BLOCK}, {draws} draws: lengths {listed} are never drawn"
    yield Comparison(what=what, error=float(len(never)), tolerance=0.0, is_yes_no=True)
    long = [each for each in examples if len(each.rebuilt) >= 2 * _SHORTEST]
    excess = [len(each.masked) - len(each.rebuilt) / 4 for each in long]
    yield yes_no(f"in {draws} draws the span is never shorter than a quarter", any(each < 0 for each in excess))
    yield yes_no(f"in {draws} draws the span is never longer than a quarter", any(each > 0 for each in excess))
    starts = {len(each.prefix) for each in long}
    yield yes_no(f"in {draws} draws the span always begins at the same place", len(starts) > 1)


def _spans(trial: LawTrial) -> Comparisons:
    for block_size in (32, 64):
        texts = _documents(trial, (12, block_size - 4, 2 * block_size, 5 * block_size))
        examples = _examples(trial, texts, block_size, 60)
        broken = [each for each in examples if each.is_broken]
        yield Comparison(
            what=f"block_size {block_size}: {_span_fault(broken[0]) if broken else 'every example is right'}",
            error=len(broken) / len(examples),
            tolerance=0.0,
            suggests=_other_order(broken),
            is_yes_no=True,
        )


def _span_fault(example: CorruptedExample) -> str:
    if example.fault:
        return f"{example.text!r}: {example.fault}"
    start = example.document[: len(example.rebuilt) + 4]
    return f"{example.text!r}: prefix + masked + suffix = {example.rebuilt!r} is not in the document {start!r}…"


_OTHER_ORDERS: dict[str, Callable[[CorruptedExample], str]] = {
    "[prefix] MASK [masked] MASK [suffix] instead of [prefix] MASK [suffix] MASK [masked]": lambda each: (
        each.prefix + each.suffix + each.masked
    ),
    "[suffix] and [prefix] exchanged": lambda each: each.suffix + each.masked + each.prefix,
}


def _other_order(broken: list[CorruptedExample]) -> tuple[Diagnosis, ...]:
    """The orders of the parts that would rebuild all of the broken examples."""
    if not broken or any(each.fault for each in broken):
        return ()
    fitting = (name for name, order in _OTHER_ORDERS.items() if all(order(each) in each.document for each in broken))
    return tuple(Diagnosis(None, f"matches {name}") for name in fitting)


def _vocabulary(trial: LawTrial) -> Comparisons:
    texts = _documents(trial, (40, 90))
    corpus = _corpus(trial, texts, 64)
    wanted = [PAD, MASK, *sorted(set("\n".join(texts)))]
    stoi = {character: number for number, character in enumerate(wanted)}
    itos = dict(enumerate(wanted))
    characters = (corpus.pad_char, corpus.mask_char)
    yield yes_no("PAD_CHAR is not U+25A1 or MASK_CHAR is not U+2047", characters == (PAD, MASK))
    yield yes_no("stoi is not PAD, MASK and the data's characters in order", dict(corpus.stoi) == stoi)
    yield yes_no("itos is not the inverse of stoi", dict(corpus.itos) == itos)
    yield yes_no("vocab_size is not the number of characters", corpus.vocab_size in (None, len(wanted)))
    yield yes_no("len(dataset) is not the number of lines", corpus.size == len(texts))


def _cut_to_one(document: str, block_size: int, rng: np.random.Generator) -> _Parts:
    return reference_cut(document, block_size, rng, shortest=1)


def _cut_half(document: str, block_size: int, rng: np.random.Generator) -> _Parts:
    return reference_cut(document, block_size, rng, most_masked=1.0)


def _cut_longest(document: str, block_size: int, rng: np.random.Generator) -> _Parts:
    return reference_cut(document, block_size, rng, shortest=longest(block_size))


def _cut_losing_short(document: str, block_size: int, rng: np.random.Generator) -> _Parts:
    del block_size, rng
    return (document[:1], document[1:2], document[2:]) if len(document) > 3 else ("", "", "")


def _cut_losing_one(document: str, block_size: int, rng: np.random.Generator) -> _Parts:
    prefix, masked, suffix = reference_cut(document, block_size, rng)
    return prefix, masked, suffix[1:]


def _unmoved(data: str, block_size: int, seed: int) -> Corpus:
    right = reference_corpus(data, block_size, seed)
    return replace(right, item=lambda index: (right.item(index)[0],) * 2)


def _failing_on_short(data: str, block_size: int, seed: int) -> Corpus:
    right, texts = reference_corpus(data, block_size, seed), data.split("\n")

    def item(index: int) -> tuple[np.ndarray, np.ndarray]:
        if len(texts[index]) < 7:
            raise ValueError("empty range for randrange()")
        return right.item(index)

    return replace(right, item=item)


def _mask_first(data: str, block_size: int, seed: int) -> Corpus:
    right = reference_corpus(data, block_size, seed)
    stoi = {**right.stoi, PAD: 1, MASK: 0}
    return replace(right, stoi=stoi, itos={number: character for character, number in stoi.items()})


def _broken(name: str, corpus: Callable[[str, int, int], Corpus]) -> Callable[[], HomeworkFunction]:
    return lambda: HomeworkFunction("corruption", corpus, name=name)


_Contract = partial(Law, needs=("corruption",), size=NO_INPUTS, diagnosed_by="suspects")

CONTRACTS = (
    _Contract(
        id="CORRUPT-EVERY",
        statement="every document of 4 characters or more has an example, also those shorter than the block",
        compare=_every,
        broken_example=_broken("fails on short documents", _failing_on_short),
        suspects=("a random range that is empty for short documents", "lengths drawn regardless of the document"),
    ),
    _Contract(
        id="CORRUPT-LENGTHS",
        statement="a truncated document has at least 4 and at most int(block_size·7/8) characters",
        compare=_lengths,
        broken_example=_broken("truncates to one character", partial(reference_corpus, cut=_cut_to_one)),
        suspects=("the bounds of the random length", "the document is not truncated", "an end of the range"),
    ),
    _Contract(
        id="CORRUPT-PAIR",
        statement="x = tokens[:-1] and y = tokens[1:], Long rows of the block's length",
        compare=_pair,
        broken_example=_broken("y is x", _unmoved),
        suspects=("x and y are cut at the wrong ends", "pads do not fill the block", "numbers are not Long"),
    ),
    _Contract(
        id="CORRUPT-QUARTER",
        statement="the masked span is a quarter of the truncated document on average",
        compare=_quarter,
        broken_example=_broken("masks a half", partial(reference_corpus, cut=_cut_half)),
        suspects=("the range of the span's length", "the span is cut off at the document's end"),
    ),
    _Contract(
        id="CORRUPT-RANDOM",
        statement="every length from 4 to int(block_size·7/8) can occur, and the span varies in length and place",
        compare=_random,
        broken_example=_broken("always the longest", partial(reference_corpus, cut=_cut_longest)),
        suspects=("a half-open range excludes the last length", "a length is fixed instead of drawn"),
    ),
    _Contract(
        id="CORRUPT-SHORT",
        statement="if a document of fewer than 4 characters has an example, nothing of it is lost",
        compare=_short,
        broken_example=_broken("empties short documents", partial(reference_corpus, cut=_cut_losing_short)),
        suspects=("lengths drawn regardless of the document",),
    ),
    _Contract(
        id="CORRUPT-SPANS",
        statement="an example is [prefix] MASK [suffix] MASK [masked] PAD…, with all of the truncated document",
        compare=_spans,
        broken_example=_broken("loses a character after the span", partial(reference_corpus, cut=_cut_losing_one)),
        suspects=(
            "a character is lost or doubled where the span ends",
            "a MASK is missing",
            "pads are on the wrong side",
            "the text is longer than the block and cut off",
        ),
    ),
    _Contract(
        id="CORRUPT-VOCABULARY",
        statement="PAD U+25A1 is 0, MASK U+2047 is 1, the data's sorted characters follow; one item per line",
        compare=_vocabulary,
        broken_example=_broken("MASK before PAD", _mask_first),
        suspects=("MASK and PAD are exchanged", "characters are not sorted"),
    ),
)
