"""Units after the numbers of a relation: 0.007 s = 7 ms, 33554432 = 32 MiB."""

import re
from collections.abc import Iterator
from dataclasses import replace

from regard.derivations.judging.relations import Sides
from regard.derivations.notation.tokens import NotUnderstood, Token, tokenize

_DECIMAL = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "c": -2, "m": -3, "μ": -6, "u": -6, "n": -9}
_BINARY = {"k": 10, "K": 10, "M": 20, "G": 30, "T": 40, "Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
_PREFIXED = re.compile(
    r"(?P<prefix>[KMGT]i|[kKMGTPcmμun])?(?P<base>B|bytes?|bits?|b|s|m|g|Hz|W|J|N|V|A|FLOPs?|FLOP/s|B/s|m/s|L)"
)
_PLAIN = re.compile(r"(?P<prefix>[kKMGT])|min|h|hours?|tokens?|params?|parameters?|days?|years?|°C|%")
_SHORT = {"byte": "B", "bit": "b", "hour": "h", "parameter": "param"}


def without_units(sides: Sides) -> Iterator[Sides]:
    """The relation without units, in every way in which they may be meant, likeliest first; itself if it has none.

    NotUnderstood for units of different kinds, such as seconds and minutes.
    """
    (left, left_unit), (right, right_unit) = _cut(sides.left), _cut(sides.right)
    if not (left_unit or right_unit):
        yield sides
        return
    bases = {_base(unit) for unit in (left_unit, right_unit)} - {""}
    if len(bases) > 1:
        raise NotUnderstood(f"Units are not converted: {left_unit} and {right_unit}.")
    plain = replace(sides, left=left, right=right)
    if left_unit == right_unit or not (left_unit and right_unit):
        yield plain
    for factors in (_decimal, _binary):
        of_left, of_right = factors(left_unit), factors(right_unit)
        if of_left is not None and of_right is not None:
            yield replace(plain, left=_times(left, of_left), right=_times(right, of_right))


def _cut(side: tuple[Token, ...]) -> tuple[tuple[Token, ...], str]:
    """A side without the unit at its end, and that unit: 45 μs is 45 and μs."""
    for length in (2, 1):
        last = side[-length:]
        name = "".join("μ" if token.text == "\\mu" else token.text.strip() for token in last)
        is_after_number = len(side) > length and side[-length - 1].kind in ("number", "close")
        is_upright = bool(last) and (last[-1].font in ("roman", "text") or last[-1].kind == "text")
        if is_after_number and is_upright and (_PREFIXED.fullmatch(name) or _PLAIN.fullmatch(name)):
            return side[:-length], name
    return side, ""


def _decimal(unit: str) -> str | None:
    prefix = _prefix(unit)
    return None if prefix not in _DECIMAL else f"10^{{{_DECIMAL[prefix]}}}"


def _binary(unit: str) -> str | None:
    prefix = _prefix(unit)
    return f"2^{{{_BINARY[prefix]}}}" if prefix in _BINARY else "1" if not prefix else None


def _prefix(unit: str) -> str:
    found = _PREFIXED.fullmatch(unit) or _PLAIN.fullmatch(unit)
    return (found["prefix"] or "") if found is not None else ""


def _base(unit: str) -> str:
    """What is left of a unit without its prefix, and in one spelling: B for bytes, h for hours."""
    base = unit.removeprefix(_prefix(unit))
    singular = base.removesuffix("s") if len(base) > 1 else base
    return _SHORT.get(singular, singular)


def _times(side: tuple[Token, ...], factor: str) -> tuple[Token, ...]:
    """(side) · factor, with all its tokens where the side's last one is."""
    if factor in ("1", "10^{0}") or not side:
        return side
    at = side[-1].start
    opening, closing, *rest = (replace(each, start=at, end=at) for each in tokenize(rf"()\cdot {factor}"))
    return (opening, *side, closing, *rest)
