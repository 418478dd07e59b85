"""The numbers a claim is decided at, and the domain in which it is meant."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace

from regard.core.errors import DomainError, InputError


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A number that a claim depends on: its default, and the ends of its domain.

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
        return f"{self._range}, {self.name} even" if self.is_even else self._range

    @property
    def _range(self) -> str:
        below, above = ("<", ">") if self.is_open else ("≤", "≥")
        if math.isinf(self.lower) and math.isinf(self.upper):
            return f"{self.name} any {'whole' if self.is_integer else 'finite'} number"
        if math.isinf(self.upper):
            return f"{self.name} {above} {self.lower:g}"
        if math.isinf(self.lower):
            return f"{self.name} {below} {self.upper:g}"
        return f"{self.lower:g} {below} {self.name} {below} {self.upper:g}"

    def check(self, value: float) -> float:
        """The value itself if it lies in the domain, else a DomainError that names the domain."""
        inside = self.lower < value < self.upper if self.is_open else self.lower <= value <= self.upper
        if not (math.isfinite(value) and inside):
            raise DomainError(
                f"{self.name} = {value:g} lies outside the claim's domain {self.domain}. Choose {self.name} inside it."
            )
        if self.is_integer and value != int(value):
            raise DomainError(f"{self.name} = {value:g} is not a whole number. Choose {self.name} among {self.domain}.")
        if self.is_even and value % 2:
            raise DomainError(f"{self.name} = {value:g} is odd. Choose {self.name} among {self.domain}.")
        return int(value) if self.is_integer else float(value)


def settings(parameters: tuple[Parameter, ...], overrides: Mapping[str, float]) -> SimpleNamespace:
    """The defaults with the overrides put in, each checked against its domain."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in overrides:
        if name not in known:
            takes = ", ".join(known) or "none"
            raise InputError(f"There is no parameter '{name}' here. The parameters are: {takes}.")
    return SimpleNamespace(**{name: p.check(overrides.get(name, p.default)) for name, p in known.items()})
