"""Conditions on the length of a key, "gamma > 0", as people type them."""

import math
from collections.abc import Mapping
from fractions import Fraction

from regard.analysis.scenarios import Deviation
from regard.core.errors import InputError
from regard.derivations.notation.parser import parse
from regard.derivations.notation.statements import Chain, read_chains
from regard.derivations.notation.syntax import Symbol, describe
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.designs.expressions import Reader
from regard.designs.numbers import rounded
from regard.designs.spelling import as_latex, shown

_UPWARDS = {"<": True, "≤": True, ">": False, "≥": False}


def read_condition(text: str, noise: Mapping[str, float], scalars: Mapping[str, Fraction]) -> Deviation:
    """The deviation that a condition on γ speaks of: γ = 1 + δ, so γ > 0 is δ > −1.

    `gamma` alone is the factor of the only key whose length is random.

    >>> str(read_condition("0 < gamma <= 2", {"a": 0.5}, {}))
    '0 ≤ γ_a ≤ 2'
    """
    chain = _chain(text)
    reader = Reader(vector="gamma", scalars=scalars)
    keys = [_key(side, noise, text) for side in chain.sides]
    places = [place for place, key in enumerate(keys) if key is not None]
    if len(places) != 1:
        raise InputError(f"The condition {shown(text)} must speak of one γ. Write for example gamma>0.")
    place = places[0]
    lower, upper = -math.inf, math.inf
    for number, sign in enumerate(chain.signs):
        if sign.text not in _UPWARDS:
            raise InputError(f"The condition {shown(text)} has probability zero or one. Write <, ≤, > or ≥: gamma>0.")
        if number not in (place - 1, place):
            raise InputError(f"The condition {shown(text)} compares numbers with numbers. Write for example 0<gamma<2.")
        bound = rounded(reader.number(chain.sides[number + (number == place)], text))
        is_above = _UPWARDS[sign.text] == (number < place)
        lower, upper = (max(lower, bound), upper) if is_above else (lower, min(upper, bound))
    if not lower < upper:
        raise InputError(
            f"The condition {shown(text)} has probability zero: no γ lies above {lower:g} and below {upper:g}."
        )
    key = keys[place]
    assert key is not None
    return Deviation(group=key, lower=lower - 1, upper=upper - 1)


def _chain(text: str) -> Chain:
    try:
        chains = read_chains(as_latex(text))
    except NotUnderstood as error:
        raise InputError(f"The condition {shown(text)} cannot be read: {error} Write for example gamma>0.") from error
    if len(chains) != 1 or not all(chains[0].sides):
        raise InputError(f"The condition {shown(text)} is not one comparison. Write for example gamma>0.")
    return chains[0]


def _key(side: tuple[Token, ...], noise: Mapping[str, float], text: str) -> str | None:
    """The key whose γ the side is, None if it is something else."""
    try:
        node = parse(side)
    except NotUnderstood as error:
        raise InputError(f"The condition {shown(text)} cannot be read: {error} Write for example gamma>0.") from error
    if not isinstance(node, Symbol) or node.name != "gamma":
        return None
    if node.subscripts:
        return describe(node.subscripts[0])
    if len(noise) != 1:
        found = f"{len(noise)} keys ({', '.join(noise)})" if noise else "no key"
        raise InputError(f"'gamma' is ambiguous in {shown(text)}: {found} have a random length. Write gamma_a>0.")
    return next(iter(noise))
