"""Synthetic biographies: documents about made-up people, and questions about them."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from regard.core.errors import InputError
from regard.training.data.corpus import CorpusDocument, FactQuestion, TrainingData

_PHRASES = tomllib.loads((files("regard.training.data") / "biographies.toml").read_text(encoding="utf-8"))
_WORDINGS: dict[str, list[str]] = _PHRASES["wordings"]
_ONSETS, _VOWELS, _CODAS, _TOWNS, _TRADES = (
    _PHRASES[name].split() for name in ("onsets", "vowels", "codas", "towns", "trades")
)


@dataclass(frozen=True, kw_only=True)
class Biographies:
    """How many people there are, how varied their biographies are, and how many of them training asks about.

    Each fact has `wordings` possible phrasings. Training asks about `asked_share` of the people; questions about the
    others are held out.
    """

    people: int = 800
    wordings: int = 5
    is_shuffled: bool = True
    asked_share: float = 0.75

    def __post_init__(self) -> None:
        most = min(len(some) for some in _WORDINGS.values())
        if not 4 <= self.people <= 100_000:
            raise InputError(f"Can't make up {self.people} people. Ask for 4 to 100,000.")
        if not 1 <= self.wordings <= most:
            raise InputError(f"Each fact has at most {most} wordings, not {self.wordings}. Use 1 to {most}.")
        if not 0 < self.asked_share < 1:
            raise InputError(
                f"A share of {self.asked_share} leaves nobody to train on or nobody to ask about. Use 0.1 to 0.9."
            )


def make_biographies(settings: Biographies, *, seed: int) -> TrainingData:
    """People with a birthplace, a year of birth, a university and an employer, all drawn independently.

    Facts about one person therefore don't help with another: correct answers about held-out people come from reading.
    """
    rng = np.random.default_rng([seed, settings.people])
    places, schools = _names(rng, 60, _town), _names(rng, 40, _town)
    works = _names(rng, 40, lambda g: f"{_word(g)} {_pick(g, _TRADES)}")
    firsts = _names(rng, 60, _word)
    lasts = _names(rng, max(60, settings.people // 4), lambda g: _word(g) + _pick(g, _CODAS) + _pick(g, _VOWELS))
    names = _names(rng, settings.people, lambda g: f"{_pick(g, firsts)} {_pick(g, lasts)}")
    people = [
        {
            "name": name,
            "first": name.split()[0],
            "last": name.split()[1],
            "place": _pick(rng, places),
            "year": str(rng.integers(1850, 1990)),
            "school": _pick(rng, schools),
            "work": _pick(rng, works),
        }
        for name in names
    ]
    asked = round(settings.asked_share * len(people))
    return TrainingData(
        documents=tuple(_document(facts, settings, rng) for facts in people),
        questions=tuple(question for facts in people[:asked] for question in _questions(facts)),
        held_out=tuple(question for facts in people[asked:] for question in _questions(facts)),
        sources=(f"{settings.people} made-up biographies",),
    )


def _document(facts: dict[str, str], settings: Biographies, rng: np.random.Generator) -> CorpusDocument:
    order = list(_WORDINGS)
    if settings.is_shuffled:
        order = [order[number] for number in rng.permutation(len(order))]
    sentences = [_WORDINGS[fact][int(rng.integers(settings.wordings))].format(**facts) for fact in order]
    return CorpusDocument(name=facts["name"], text=" ".join(sentences))


def _questions(facts: dict[str, str]) -> list[FactQuestion]:
    return [FactQuestion(text=text.format(**facts), answer=facts[fact]) for fact, text in _PHRASES["questions"].items()]


def _names(rng: np.random.Generator, count: int, make: Callable[[np.random.Generator], str]) -> list[str]:
    """`count` different names."""
    found: dict[str, None] = {}
    for _ in range(1000 * count):
        found.setdefault(make(rng))
        if len(found) == count:
            return list(found)
    raise AssertionError("there are more names than this")


def _word(rng: np.random.Generator) -> str:
    return (_pick(rng, _ONSETS) + _pick(rng, _VOWELS) + _pick(rng, _CODAS)).capitalize()


def _town(rng: np.random.Generator) -> str:
    return _word(rng) + _pick(rng, _TOWNS)


def _pick(rng: np.random.Generator, some: Sequence[str]) -> str:
    return some[int(rng.integers(len(some)))]
