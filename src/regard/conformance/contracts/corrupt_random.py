"""Every length can be drawn, and the span's length and place vary."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.contracts._examples import Example, documents, drawn, longest, open_corpus, readable
from regard.conformance.contracts.corrupt_lengths import SHORTEST
from regard.conformance.homework import Corpus, Corruption, honest_corpus
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.subject import Subject

_BLOCK = 32
# A length drawn with a chance of 1/200 or more is missed with probability (1 − 1/200)^4000 < 2e-9; with 25 lengths the
# false-alarm rate is below 1e-7. Uniform lengths have a chance of 1/25 each.
_DRAWS = 4000


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    texts = documents(trial, (5 * _BLOCK,))
    examples = readable(drawn(open_corpus(trial, texts, _BLOCK), texts, _DRAWS))
    seen = {len(each.rebuilt) for each in examples}
    never = [length for length in range(SHORTEST, longest(_BLOCK) + 1) if length not in seen]
    told = f"lengths {_listed(never)} are never drawn" if never else "every length is drawn"
    yield Comparison(what=f"block_size {_BLOCK}, {_DRAWS} draws: {told}", error=float(len(never)), tolerance=0.0)
    for what, is_kept in _variety(examples).items():
        yield Comparison(what=f"in {_DRAWS} draws {what}", error=0.0 if is_kept else 1.0, tolerance=0.0)


def _variety(examples: list[Example]) -> dict[str, bool]:
    long = [each for each in examples if len(each.rebuilt) >= 2 * SHORTEST]
    shares = [len(each.masked) - len(each.rebuilt) / 4 for each in long]
    return {
        "the span is never shorter than a quarter": any(share < 0 for share in shares),
        "the span is never longer than a quarter": any(share > 0 for share in shares),
        "the span always begins at the same place": len({len(each.prefix) for each in long}) > 1,
    }


def _listed(lengths: list[int]) -> str:
    shown = ", ".join(map(str, lengths[:5]))
    return shown if len(lengths) <= 5 else f"{shown} and {len(lengths) - 5} more"


def _always_whole(data: str, block_size: int, seed: int) -> Corpus:
    def cut(document: str, block: int, rng: np.random.Generator) -> tuple[str, str, str]:
        kept = document[: longest(block)]
        masked = int(rng.integers(0, len(kept) // 2, endpoint=True))
        return kept[:3], kept[3 : 3 + masked], kept[3 + masked :]

    return honest_corpus(data, block_size, seed, cut=cut)


def _broken_example() -> Subject:
    return Corruption(_always_whole, name="always the longest")


LAW = Law(
    id="CORRUPT-RANDOM",
    statement="every length from 4 to int(block_size·7/8) has a chance, and the span varies in length and place",
    needs=("corruption",),
    compare=_compare,
    broken_example=_broken_example,
    size=InputSize(batch=1, length=1),
    suspects=("the last length is excluded by a half-open range", "a length is fixed instead of drawn"),
)
