"""What a claim is, and how its verdict comes about."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from regard.claims.parameters import Parameter, settings
from regard.core.verdict import ClaimVerdict, Evidence, Status, combine
from regard.render.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One hearing of a claim: the closed form on trial, the numbers it is tried at, and the seed."""

    form: Any
    at: SimpleNamespace
    seed: int

    def rng(self, name: str) -> np.random.Generator:
        """A random stream of its own for each name, so that one route never changes another's draws."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])


Route = Callable[[Trial], Evidence]


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A near miss: put in the place of the claim's closed form, it must turn the verdict into `becomes`."""

    statement: str
    form: Any
    becomes: Status = "refuted"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement with the routes that decide it.

    Every route is given the closed form as `trial.form`, so that a rival put in its place is tried just as hard.
    A myth is a claim whose expected verdict is `refuted`; among its rivals is the truth.
    Where the truth depends on the parameters, `expected_at` says what to expect at them.
    `figure` shows the claim at its parameters, to those who would rather look than read.
    """

    id: str
    section: str
    statement: str
    latex: str
    expected: Status
    form: Any
    rivals: tuple[Rival, ...]
    routes: tuple[Route, ...]
    derivation: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    conditions: tuple[str, ...] = ()
    assumes: tuple[str, ...] = field(default=())
    expected_at: Callable[[SimpleNamespace], Status] | None = None
    figure: Callable[[SimpleNamespace], Figure] | None = None

    @property
    def is_myth(self) -> bool:
        """True if the claim is in the catalogue because people believe it, not because it is so."""
        return self.expected == "refuted"

    @property
    def domain(self) -> str:
        """Where the claim is meant to hold."""
        return ", ".join([*(parameter.domain for parameter in self.parameters), *self.conditions])

    def decide(self, overrides: Mapping[str, float] | None = None, *, seed: int = 0, form: Any = None) -> ClaimVerdict:
        """The verdict at the given parameters; `form` puts a rival on trial in the claim's place."""
        overrides = overrides or {}
        trial = Trial(form=self.form if form is None else form, at=settings(self.parameters, overrides), seed=seed)
        evidence = tuple(route(trial) for route in self.routes)
        status, reason = combine(evidence)
        measured = next((item for item in evidence if item.value is not None and not item.is_of_smaller_case), None)
        refuting = next((item for item in evidence if item.counterexample), None)
        return ClaimVerdict(
            id=self.id,
            statement=self.statement,
            status=status,
            outcome="myth refuted" if self.is_myth and status == "refuted" else status,
            method=" + ".join(dict.fromkeys(item.route for item in evidence)),
            reason=reason,
            domain=self.domain,
            assumes=self.assumes,
            value=None if measured is None else measured.value,
            bound=None if measured is None else measured.bound,
            seed=seed,
            reproduce=self._command(overrides, seed),
            counterexample=None if refuting is None or status != "refuted" else refuting.counterexample,
            expected=self.expected if self.expected_at is None else self.expected_at(trial.at),
            evidence=evidence,
        )

    def _command(self, overrides: Mapping[str, float], seed: int) -> str:
        sets = "".join(f" --set {name}={_exactly(value)}" for name, value in overrides.items())
        return f"regard claims {self.id}{sets} --seed {seed}"


def _exactly(value: float) -> str:
    """The shortest text that reads back as the same number.

    >>> _exactly(10.0), _exactly(0.1 + 0.2), _exactly(1e300)
    ('10', '0.30000000000000004', '1e+300')
    """
    return repr(float(value)).removesuffix(".0")
