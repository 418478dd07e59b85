"""One slip planted in a true derivation, and the place where it was planted."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from derivations.planting.chains import Chain, Derivation
from derivations.planting.layout import Page, Written, lay_out
from derivations.planting.matrices import MATRICES
from derivations.planting.positions import POSITIONS
from derivations.planting.retrieval import RETRIEVAL
from derivations.planting.slips import RULES, slips
from derivations.planting.terms import Term

LIBRARY = (*RETRIEVAL, *MATRICES, *POSITIONS)
FAMILIES = tuple(RULES)


@dataclass(frozen=True, kw_only=True)
class Slip:
    """A side of a chain as it should be replaced; `is_strict` if it stays true in the limit."""

    family: str
    derivation: Derivation
    chain: int
    side: int
    new: Term
    is_strict: bool = False

    @property
    def step(self) -> int:
        """The step that brings the slip in: the first one for the first side, else the one before the side."""
        return max(self.side - 1, 0)

    @property
    def where(self) -> str:
        """Which side of its chain it is on."""
        chain = self.derivation.chains[self.chain]
        ends = {0: "the first term", len(chain.sides) - 1: "the last term"}
        return "a design" if chain.role == "design" else ends.get(self.side, "a middle term")


@dataclass(frozen=True, kw_only=True)
class Planting:
    """A document with one slip, the same document without it, and the step that must be refuted."""

    document: str
    planted: Written
    original: Page
    slip: Slip


def plant(rng: np.random.Generator, family: str | None = None) -> Planting:
    """A document of one or two derivations with one slip, really false; the family is drawn evenly unless given."""
    slip = _false_slip(rng, family or FAMILIES[rng.integers(len(FAMILIES))])
    others = [other for other in LIBRARY if other.number != slip.derivation.number and rng.random() < 0.02]
    together = sorted([slip.derivation, *others[:1]], key=lambda derivation: derivation.number)
    look = int(rng.integers(2**32))
    original = lay_out(together, np.random.default_rng(look))
    changed = [_with(slip) if derivation is slip.derivation else derivation for derivation in together]
    page = lay_out(changed, np.random.default_rng(look))
    planted = page.find(slip.derivation.name, slip.chain, slip.step)
    return Planting(document=page.text, planted=planted, original=original, slip=slip)


def _false_slip(rng: np.random.Generator, family: str) -> Slip:
    """A slip that numpy finds false: each derivation has the same chance, then each place in it."""
    by_derivation = _candidates(family)
    while True:
        candidates = by_derivation[rng.integers(len(by_derivation))]
        slip = _judged(candidates[rng.integers(len(candidates))])
        if slip is not None:
            return slip


@cache
def _candidates(family: str) -> tuple[tuple[Slip, ...], ...]:
    found = (tuple(_slips_in(derivation, family)) for derivation in LIBRARY)
    return tuple(candidates for candidates in found if candidates)


def _slips_in(derivation: Derivation, family: str) -> Iterator[Slip]:
    for place, chain in enumerate(derivation.chains):
        for side in _sides(chain):
            is_limit = side > 0 and chain.signs[side - 1] in ("≈", "→", "<")
            for new in slips(chain.sides[side], family, is_limit=is_limit):
                yield Slip(family=family, derivation=derivation, chain=place, side=side, new=new)


def _sides(chain: Chain) -> range:
    """What the problem gives stays; a design is changed on its right side only."""
    first = {"step": 0, "design": 1, "given": len(chain.sides)}[chain.role]
    return range(first, len(chain.sides))


@cache
def _judged(slip: Slip) -> Slip | None:
    """The slip if its step is false, marked if it is true in the limit; None if it is true or not plainly false."""
    sides = list(slip.derivation.chains[slip.chain].sides)
    sides[slip.side] = slip.new
    truth = slip.derivation.truth_with(slip.chain, slip.step, *sides[slip.step : slip.step + 2])
    if truth == "limit":
        return replace(slip, is_strict=True)
    return slip if truth == "false" else None


def _with(slip: Slip) -> Derivation:
    chain = slip.derivation.chains[slip.chain]
    sides = (*chain.sides[: slip.side], slip.new, *chain.sides[slip.side + 1 :])
    chains = slip.derivation.chains
    changed = (*chains[: slip.chain], replace(chain, sides=sides), *chains[slip.chain + 1 :])
    return replace(slip.derivation, chains=changed)
