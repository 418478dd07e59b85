"""What a claim is: a statement with parameters, methods that decide it, near misses, a figure and a verdict."""

import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from regard.analysis.engines.symbolic import Field
from regard.claims._evidence import combine, conjunction
from regard.core.errors import DomainError, InputError
from regard.core.verdict import Evidence, Status, Verdict
from regard.render.figures import Figure


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A number that a claim depends on: its default value and its domain.

    Args:
        name: its name, as in `--set n=1000`.
        default: its value unless another one is set.
        lower: the lower end of its domain.
        upper: the upper end of its domain.
        is_open: True if the ends themselves are outside the domain.
        is_integer: True if it must be a whole number.
        is_even: True if it must be even.

    >>> Parameter(name="n", default=10, lower=3, is_integer=True).domain
    'n ≥ 3'
    >>> Parameter(name="epsilon", default=0.1, lower=0, upper=0.5, is_open=True).domain
    '0 < epsilon < 0.5'
    >>> Parameter(name="d", default=4, lower=2, is_integer=True, is_even=True).domain
    'd ≥ 2, d even'
    """

    name: str
    default: float
    lower: float = -math.inf
    upper: float = math.inf
    is_open: bool = False
    is_integer: bool = False
    is_even: bool = False

    @property
    def domain(self) -> str:
        """The domain as a reader would write it."""
        below, above = ("<", ">") if self.is_open else ("≤", "≥")
        if math.isinf(self.lower) and math.isinf(self.upper):
            shown = f"{self.name} any {'whole' if self.is_integer else 'finite'} number"
        elif math.isinf(self.upper):
            shown = f"{self.name} {above} {self.lower:g}"
        else:
            least = "" if math.isinf(self.lower) else f"{self.lower:g} {below} "
            shown = f"{least}{self.name} {below} {self.upper:g}"
        return f"{shown}, {self.name} even" if self.is_even else shown

    def check(self, value: float) -> float:
        """The value itself if it is in the domain, else a DomainError that names the domain."""
        inside = self.lower < value < self.upper if self.is_open else self.lower <= value <= self.upper
        if not (math.isfinite(value) and inside):
            raise DomainError(
                f"{self.name} = {value:g} is outside the claim's domain {self.domain}. Choose {self.name} inside it."
            )
        if self.is_integer and value != int(value):
            raise DomainError(f"{self.name} = {value:g} is not a whole number. Choose {self.name} with {self.domain}.")
        if self.is_even and value % 2:
            raise DomainError(f"{self.name} = {value:g} is odd. Choose {self.name} with {self.domain}.")
        return int(value) if self.is_integer else float(value)


# The values of a claim's parameters, by name.
Settings = SimpleNamespace


def integer(name: str, default: int, **domain: Any) -> Parameter:
    """A parameter that is a whole number."""
    return Parameter(name=name, default=default, is_integer=True, **domain)


def real(name: str, default: float, **domain: Any) -> Parameter:
    """A parameter that is a real number."""
    return Parameter(name=name, default=default, **domain)


def settings(parameters: tuple[Parameter, ...], overrides: Mapping[str, float]) -> Settings:
    """The default values with the overrides applied, each checked against its domain."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in overrides:
        if name not in known:
            raise InputError(f"There is no parameter '{name}' here. The parameters are: {', '.join(known) or 'none'}.")
    return Settings(**{name: p.check(overrides.get(name, p.default)) for name, p in known.items()})


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a method decides.

    Args:
        form: the closed form under test: the claim's own, or that of a near miss.
        at: the values of the claim's parameters, by name.
        seed: the seed of every random draw.
    """

    form: Any
    at: Settings
    seed: int

    def rng(self, name: str) -> np.random.Generator:
        """A random stream of its own for each name, so that one method never changes another's draws."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def field(self, *symbols: str, stream: str = "algebra", **kinds: tuple[str, ...]) -> Field:
        """A field of generic symbols whose counterexamples are drawn from the stream of that name."""
        return Field(*symbols, rng=self.rng(stream), **kinds)


Method = Callable[[Trial], Evidence | Iterable[Evidence]]


class Form(SimpleNamespace):
    """The parts of a statement by name: closed forms, numbers, and answers to yes/no questions."""


@dataclass(frozen=True)
class NearMiss:
    """A statement that is almost the claim: in the claim's place, its form must turn the verdict into `becomes`.

    Args:
        statement: what it says, for a reader.
        form: its closed form; where the claim's form has parts, only those that it changes.
        becomes: the verdict that it must get; by default `refuted`, or `proved` if the claim is a misconception.
    """

    statement: str
    form: Any
    becomes: Status | None = None


@dataclass(frozen=True, kw_only=True)
class ClaimVerdict(Verdict):
    """The verdict on a claim of the catalog, beside the one that the catalog expects.

    Args:
        expected: the verdict that the catalog expects.
        evidence: what each method found.
    """

    expected: Status
    evidence: tuple[Evidence, ...] = ()

    @property
    def is_as_expected(self) -> bool:
        """True if the catalog expects this very verdict."""
        return self.status == self.expected

    def _repr_html_(self) -> str:
        from regard.claims.page import verdicts_frame

        return verdicts_frame([self])

    def to_dict(self) -> dict[str, Any]:
        """The verdict's fields, with each method's evidence as a mapping."""
        return {**super().to_dict(), "evidence": [item.to_dict() for item in self.evidence]}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement with the independent methods that decide it, by name.

    Every method gets the closed form as `trial.form`, so that near misses are tested just as hard; a statement of
    several parts has a `Form`. A method may return evidence for each part; the weakest part counts.
    A misconception is a claim whose expected verdict is `refuted`; the truth is among its near misses.

    Args:
        id: its name, unique in the catalog.
        section: where the table puts it: a number and a title.
        statement: what it says, for a terminal.
        latex: the same, for a page.
        expected: the verdict that it should get.
        form: its closed form, or a `Form` with a name for each of several parts.
        near_misses: statements that are almost this one and must get another verdict.
        methods: functions of a `Trial` that return `Evidence`, by name.
        derivation: why it is true, or false, in a few lines.
        source: where it comes from.
        figure: draws the claim at the values of its parameters.
        parameters: the numbers that it depends on.
        conditions: what else it supposes, in words.
        assumes: the lemmas that its proof cites.
        expected_at: the expected verdict at given values, where it depends on them.
        demonstration: the part of the interactive page that shows it live, and the state of its controls, as in
            "copy?goal=average&beta=5".
    """

    id: str
    section: str
    statement: str
    latex: str
    expected: Status
    form: Any
    near_misses: tuple[NearMiss, ...]
    methods: Mapping[str, Method]
    derivation: str
    source: str
    figure: Callable[[Settings], Figure]
    parameters: tuple[Parameter, ...] = ()
    conditions: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    expected_at: Callable[[Settings], Status] | None = None
    demonstration: str | None = None

    def __post_init__(self) -> None:
        becomes: Status = "proved" if self.is_misconception else "refuted"
        completed = [
            replace(each, form=self._completed(each.form), becomes=each.becomes or becomes) for each in self.near_misses
        ]
        object.__setattr__(self, "near_misses", tuple(completed))

    def _completed(self, form: Any) -> Any:
        """The form, with the claim's own parts where it does not name them."""
        if not isinstance(form, Mapping):
            return form
        parts = vars(self.form)
        assert form.keys() <= parts.keys(), f"{self.id} has no part {form.keys() - parts.keys()}"
        return Form(**{**parts, **form})

    @property
    def is_misconception(self) -> bool:
        """True if the claim is in the catalog because people believe it, although it is false."""
        return self.expected == "refuted"

    @property
    def domain(self) -> str:
        """Where the claim is meant to hold."""
        return ", ".join([*(parameter.domain for parameter in self.parameters), *self.conditions])

    def decide(self, overrides: Mapping[str, float] | None = None, *, seed: int = 0, form: Any = None) -> ClaimVerdict:
        """The verdict at the given parameters; `form` puts a near miss in the claim's place."""
        overrides = overrides or {}
        trial = Trial(
            form=self.form if form is None else self._completed(form),
            at=settings(self.parameters, overrides),
            seed=seed,
        )
        evidence = tuple(_found(name, method, trial) for name, method in self.methods.items())
        status, reason = combine(evidence)
        measured = next((item for item in evidence if item.value is not None and not item.is_of_smaller_case), None)
        sets = "".join(f" --set {name}={_exactly(value)}" for name, value in overrides.items())
        refuting = next((item for item in evidence if item.counterexample), None)
        return ClaimVerdict(
            id=self.id,
            statement=self.statement,
            status=status,
            outcome="myth refuted" if self.is_misconception and status == "refuted" else status,
            method=" + ".join(self.methods),
            reason=reason,
            domain=self.domain,
            assumes=self.assumes,
            value=None if measured is None else measured.value,
            bound=None if measured is None else measured.bound,
            seed=seed,
            reproduce=f"regard claims {self.id}{sets} --seed {seed}",
            counterexample=None if refuting is None or status != "refuted" else refuting.counterexample,
            expected=self.expected if self.expected_at is None else self.expected_at(trial.at),
            evidence=evidence,
        )


def _found(name: str, method: Method, trial: Trial) -> Evidence:
    found = method(trial)
    return replace(found if isinstance(found, Evidence) else conjunction(*found), method=name)


def _exactly(value: float) -> str:
    """The shortest text that reads back as the same number.

    >>> _exactly(10.0), _exactly(0.1 + 0.2), _exactly(1e300)
    ('10', '0.30000000000000004', '1e+300')
    """
    return repr(float(value)).removesuffix(".0")
