"""A quarter is masked on average."""

import math
from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._examples import documents, drawn, longest, open_corpus, readable
from regard.conformance.homework import Corpus, Corruption, honest_corpus
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.subject import Subject

_BLOCK = 128
_DRAWS = 6_000
# "About" a quarter: rounding may take or add a character, and a tenth of the quarter is no alarm.
_CHARACTERS, _PART = 1.0, 0.1
FALSE_ALARM = 1e-6


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """The mean of masked − length/4 against its bound; draws are independent, so the rate of false alarms is ≤ 1e-6."""
    texts = documents(trial, (5 * _BLOCK,))
    examples = readable(drawn(open_corpus(trial, texts, _BLOCK), texts, _DRAWS))
    lengths = np.array([len(each.rebuilt) for each in examples], dtype=float)
    masked = np.array([len(each.masked) for each in examples], dtype=float)
    excess = masked - lengths / 4
    share = masked.mean() / lengths.mean()
    yield Comparison(
        what=f"block_size {_BLOCK}, {_DRAWS} draws: {share:.1%} of the characters are masked, "
        f"{masked.mean():.1f} of {lengths.mean():.1f}, and about a quarter is asked for",
        error=abs(float(excess.mean())),
        tolerance=_CHARACTERS + _PART * float(lengths.mean()) / 4 + deviation(excess, spread=float(longest(_BLOCK))),
    )


def deviation(values: np.ndarray, *, spread: float) -> float:
    """How far a mean may be from its expectation but for a chance of FALSE_ALARM, whatever the law of the values.

    The empirical Bernstein bound of Maurer and Pontil: √(2V ln(4/δ)/n) + 7R ln(4/δ)/(3(n − 1)), V the sample variance
    and R the length of the interval that the values come from.
    """
    n, log = len(values), math.log(4 / FALSE_ALARM)
    return math.sqrt(2 * float(values.var(ddof=1)) * log / n) + 7 * spread * log / (3 * (n - 1))


def _half(data: str, block_size: int, seed: int) -> Corpus:
    def cut(document: str, block: int, rng: np.random.Generator) -> tuple[str, str, str]:
        kept = document[: int(rng.integers(4, longest(block), endpoint=True))]
        masked = int(rng.integers(0, len(kept), endpoint=True))
        return "", kept[:masked], kept[masked:]

    return honest_corpus(data, block_size, seed, cut=cut)


def _broken_example() -> Subject:
    return Corruption(_half, name="masks a half")


LAW = Law(
    id="CORRUPT-QUARTER",
    statement="the masked span is a quarter of the truncated document on average",
    needs=("corruption",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=("the range of the span's length", "the span is cut off at the document's end"),
)
