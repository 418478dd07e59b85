"""Tables of settings, as files and flags give them, made into dataclasses; what does not fit is refused in words."""

import dataclasses
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from regard.core.errors import InputError

Section = TypeVar("Section")

_IN_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def table(given: Any, where: str) -> dict[str, Any]:
    """What was given, if it is a table."""
    if not isinstance(given, dict):
        raise InputError(f"{where} is {given!r}, but it should be a table of settings.")
    return given


def build(kind: type[Section], given: Any, where: str) -> Section:
    """The dataclass with these fields; unknown and missing ones and those of another type are refused."""
    fields: tuple[dataclasses.Field, ...] = dataclasses.fields(kind)  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    for key, value in table(given, where).items():
        if key not in hints:
            raise InputError(f"{where} has no setting {key!r}. There are: {', '.join(sorted(f.name for f in fields))}.")
        if not _fits(value, hints[key]):
            raise InputError(f"{where}.{key} is {value!r}, but it should be {_words(hints[key])}.")
    for each in fields:
        if each.name not in given and each.default is each.default_factory is dataclasses.MISSING:
            raise InputError(f"{where} lacks the setting {each.name!r}.")
    return kind(**given)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a number stands where a number is wanted, and so on; what is no plain value is not looked at."""
    if get_origin(hint) is UnionType:
        return any(_fits(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return isinstance(value, str)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return isinstance(value, hint) if hint in (bool, str, NoneType) else True


def _words(hint: Any) -> str:
    plain = [_IN_WORDS.get(each, "text") for each in get_args(hint) or (hint,) if each is not NoneType]
    return plain[0]
