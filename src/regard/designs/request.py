"""`regard design`: what somebody's own queries give among random keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from regard.core.errors import InputError
from regard.designs import Demand, Scenario
from regard.designs.designed import DesignReport


@dataclass(frozen=True, kw_only=True)
class DesignRequest:
    """Queries, the scenario they meet, what they are for, and the numbers that their letters stand for."""

    heads: Sequence[str]
    scenario: Scenario = field(default_factory=Scenario)
    demand: Demand = field(default_factory=Demand)
    scalars: Mapping[str, str] = field(default_factory=dict)


def design(request: DesignRequest) -> DesignReport:
    """The report on the request's heads."""
    return request.scenario.design(*request.heads, demand=request.demand, **request.scalars)


def read_settings(texts: Sequence[str], *, what: str) -> dict[str, str]:
    """Each NAME=NUMBER once.

    >>> read_settings(["a=0.5,b=0.1"], what="--norm-noise")
    {'a': '0.5', 'b': '0.1'}
    """
    found: dict[str, str] = {}
    for part in (piece.strip() for text in texts for piece in text.split(",")):
        name, sign, number = (piece.strip() for piece in part.partition("="))
        if not (name and sign and number):
            raise InputError(f"{what} {part!r} cannot be read. Write a name and a number: {what} a=0.5.")
        if found.get(name, number) != number:
            raise InputError(f"{what} says both {name}={found[name]} and {name}={number}. Give each name once.")
        found[name] = number
    return found
