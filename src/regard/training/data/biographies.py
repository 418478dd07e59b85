"""Made-up people: documents about them, and questions about some of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.errors import InputError
from regard.training.data.reading import Document, Question

_ONSETS = "b br c ch d dr f fl g gr h j k l m n p pr qu r s sh st t tr v w y z".split()
_VOWELS = "a e i o u ai ea ia io ou".split()
_CODAS = "l m n r s th rd ck nd x".split()
_TOWNS = "bury ford gate ham haven holm mere mouth ness stead thorpe ton vale wick".split()
_TRADES = "Bakeries Boats Bridges Cables Clocks Glass Looms Maps Mills Paper Pumps Rails Salt Seeds".split()

_WORDINGS = {
    "place": (
        "{name} was born in {place} .",
        "Born in {place} , {last} grew up near the harbour .",
        "The birthplace of {name} is {place} .",
        "{last} comes from {place} and often says so .",
        "It was in {place} that {name} first saw the light of day .",
        "A native of {place} , {last} still visits every summer .",
        "{place} is the town where {last} was born .",
        "The family of {last} lived in {place} when {first} was born .",
    ),
    "year": (
        "{name} was born in the year {year} .",
        "The year of birth of {last} is {year} .",
        "Born in {year} , {last} was the youngest of four .",
        "In {year} , {name} came into the world .",
        "{last} , whose birth year is {year} , has two sisters .",
        "It was {year} when {last} was born .",
        "Church records give {year} as the birth year of {name} .",
        "{first} dates from {year} .",
    ),
    "school": (
        "{name} studied at the University of {school} .",
        "{last} holds a degree from the University of {school} .",
        "A graduate of the University of {school} , {last} learned five languages .",
        "The University of {school} counts {name} among its former students .",
        "After school {last} went to the University of {school} .",
        "At the University of {school} , {last} read history .",
        "{first} was a student at the University of {school} .",
        "It was the University of {school} that taught {last} .",
    ),
    "work": (
        "{name} works for {work} .",
        "{last} is employed by {work} .",
        "{work} hired {last} long ago .",
        "The employer of {name} is {work} .",
        "For many years {last} has worked for {work} .",
        "At {work} , {last} leads a team .",
        "{last} makes a living at {work} .",
        "{work} pays the wages of {name} .",
    ),
}
_ASKED = {
    "place": "Where was {name} born?",
    "year": "In which year was {name} born?",
    "school": "Where did {name} study?",
    "work": "Who does {name} work for?",
}


@dataclass(frozen=True, kw_only=True)
class Biographies:
    """How many people, in how many wordings each fact may be told, in which order, and who is asked about.

    Questions about `asked_share` of the people are for training; those about the others are kept back.
    """

    people: int = 800
    wordings: int = 5
    is_shuffled: bool = True
    asked_share: float = 0.75
    tellings: int = 1

    def __post_init__(self) -> None:
        most = min(len(some) for some in _WORDINGS.values())
        if not 4 <= self.people <= 100_000:
            raise InputError(f"{self.people} people can't be made up. Ask for 4 to 100,000.")
        if not 1 <= self.wordings <= most:
            raise InputError(f"There are 1 to {most} wordings of each fact, not {self.wordings}.")
        if not 0 < self.asked_share < 1:
            raise InputError(
                f"A share of {self.asked_share} leaves nobody to train on or nobody to ask. Use 0.1 to 0.9."
            )
        if self.tellings < 1:
            raise InputError(f"Each life is told {self.tellings} times. Use at least one.")


@dataclass(frozen=True, kw_only=True)
class World:
    """Documents about everybody; questions about some people, and those about the others."""

    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    held_out: tuple[Question, ...]


def biographies(settings: Biographies, *, seed: int) -> World:
    """People with a birthplace, a year of birth, a university and an employer, all drawn independently.

    So nothing about one person helps with another: what is known about those who are kept back was read.
    """
    rng = np.random.default_rng([seed, settings.people])
    places, schools = _names(rng, 60, _town), _names(rng, 40, _town)
    works = _names(rng, 40, lambda g: f"{_word(g)} {_pick(g, _TRADES)}")
    firsts = _names(rng, 60, _word)
    lasts = _names(rng, max(60, settings.people // 4), lambda g: _word(g) + _pick(g, _CODAS) + _pick(g, _VOWELS))
    names = _names(rng, settings.people, lambda g: f"{_pick(g, firsts)} {_pick(g, lasts)}")
    lives = [
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
    asked = round(settings.asked_share * len(lives))
    return World(
        documents=tuple(_document(life, settings, rng) for life in lives for _ in range(settings.tellings)),
        questions=tuple(question for life in lives[:asked] for question in _questions(life)),
        held_out=tuple(question for life in lives[asked:] for question in _questions(life)),
    )


def _document(life: dict[str, str], settings: Biographies, rng: np.random.Generator) -> Document:
    facts = list(_WORDINGS)
    if settings.is_shuffled:
        facts = [facts[number] for number in rng.permutation(len(facts))]
    sentences = [_WORDINGS[fact][int(rng.integers(settings.wordings))].format(**life) for fact in facts]
    return Document(name=life["name"], text=" ".join(sentences))


def _questions(life: dict[str, str]) -> list[Question]:
    return [Question(text=text.format(**life), answer=life[fact]) for fact, text in _ASKED.items()]


def _names(rng: np.random.Generator, count: int, make: Callable[[np.random.Generator], str]) -> list[str]:
    """So many different names."""
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
