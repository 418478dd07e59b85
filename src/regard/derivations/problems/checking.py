"""What is wrong with a problem file, all of it at once, each with the path of the field."""

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.statements import read_chains
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.problems.schema import ASSUMPTIONS, PROBLEM, ListOf, Shape, Table, TableOf

Path = tuple[str | int, ...]
_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,), "formula": (str,), "relation": (str,), "number": (int, float), "count": (int,), "flag": (bool,),
    "yes or no": (str,), "zero or infinity": (str,),
}  # fmt: skip
_CHOICES = {"yes or no": ("yes", "no"), "zero or infinity": ("zero", "infinity")}
_EXPECTED = {"count": "a whole number of at least 1", "flag": "true or false", "number": "a finite number"}


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong, and the path of keys that leads to it."""

    path: Path
    message: str


def find_faults(table: Mapping[str, Any]) -> list[Fault]:
    """Everything that the table itself shows to be wrong: fields, formulas, and names that nothing explains."""
    faults = list(_shape_faults(table, PROBLEM, (), _functions(table)))
    return faults or [*_name_faults(table)]


def _functions(table: Mapping[str, Any]) -> frozenset[str]:
    settings = table.get("settings", {})
    tables = settings.values() if isinstance(settings, dict) else ()
    found = [setting.get("functions") for setting in tables if isinstance(setting, dict)]
    return frozenset(name for functions in found if isinstance(functions, dict) for name in functions)


def _shape_faults(value: Any, shape: Shape, path: Path, functions: frozenset[str]) -> Iterator[Fault]:
    if isinstance(shape, Table):
        yield from _table_faults(value, shape, path, functions)
    elif isinstance(shape, TableOf):
        if not isinstance(value, dict):
            yield Fault(path=path, message=f"{_called(path)} must be a table.")
            return
        for key, item in value.items():
            yield from _shape_faults(item, shape.value, (*path, key), functions)
    elif isinstance(shape, ListOf):
        if not isinstance(value, list):
            yield Fault(path=path, message=f"{_called(path)} must be a list in square brackets.")
            return
        for index, item in enumerate(value):
            yield from _shape_faults(item, shape.item, (*path, index), functions)
    else:
        yield from _scalar_faults(value, shape, path, functions)


def _table_faults(value: Any, shape: Table, path: Path, functions: frozenset[str]) -> Iterator[Fault]:
    if not isinstance(value, dict):
        yield Fault(path=path, message=f"'{_named(path)}' must be a table.")
        return
    for key in shape.required:
        if key not in value:
            yield Fault(path=path, message=f"'{_named(path)}' lacks the field '{key}'.")
    for key, item in value.items():
        if key in shape.fields:
            yield from _shape_faults(item, shape.fields[key], (*path, key), functions)
        else:
            near = difflib.get_close_matches(key, shape.fields, n=1)
            hint = f"Is it '{near[0]}'?" if near else f"The fields here: {', '.join(shape.fields)}."
            yield Fault(path=(*path, key), message=f"'{key}' is not a field of a problem file. {hint}")


def _named(path: Path) -> str:
    return ".".join(map(str, path)) or "the file"


def _called(path: Path) -> str:
    """A field by its own name; an item of a list by its number."""
    return f"item {path[-1] + 1} of '{path[-2]}'" if isinstance(path[-1], int) else f"'{path[-1]}'"


def _scalar_faults(value: Any, kind: str, path: Path, functions: frozenset[str]) -> Iterator[Fault]:
    is_right = isinstance(value, _TYPES[kind]) and (kind == "flag" or not isinstance(value, bool))
    if not is_right or (kind == "count" and value < 1) or (kind == "number" and not math.isfinite(value)):
        yield Fault(path=path, message=f"{_called(path)} must be {_EXPECTED.get(kind, 'a string in quotes')}.")
    elif kind in _CHOICES and value not in _CHOICES[kind]:
        yield Fault(path=path, message=f"{value!r} is neither {' nor '.join(map(repr, _CHOICES[kind]))}.")
    elif isinstance(value, str) and kind in ("formula", "relation"):
        complaint = _unreadable(value, functions, is_relation=kind == "relation")
        if complaint:
            yield Fault(path=path, message=f"{value!r} cannot be read: {complaint}")


def _unreadable(source: str, functions: frozenset[str], *, is_relation: bool) -> str | None:
    """Why a formula, or a relation between two, cannot be read."""
    reading = Reading(functions=functions)
    try:
        if not is_relation:
            parse(tokenize(source), reading)
            return None
        chains = read_chains(source)
        for side in (side for chain in chains for side in chain.sides):
            parse(side, reading)
    except NotUnderstood as error:
        return str(error)
    return None if chains else "there is no relation sign such as = in it."


def _name_faults(table: Mapping[str, Any]) -> Iterator[Fault]:
    if table["schema"] != "regard-problem/1":
        yield Fault(
            path=("schema",), message=f"{table['schema']!r} is not a schema that this Regard reads: 'regard-problem/1'."
        )
    settings = table["settings"]
    for name in settings:
        yield from _setting_faults(name, settings)
    ids = Counter(question["id"] for question in table["questions"])
    for index, question in enumerate(table["questions"]):
        if ids[question["id"]] > 1:
            yield Fault(path=("questions", index, "id"), message=f"The id '{question['id']}' is given twice.")
        yield from _question_faults(question, settings, ("questions", index))


def _setting_faults(name: str, settings: Mapping[str, Any]) -> Iterator[Fault]:
    path: Path = ("settings", name)
    chain = ancestors(name, settings)
    if chain is None:
        yield Fault(path=(*path, "extends"), message=f"'{name}' extends a setting that does not exist, or itself.")
        return
    sizes = {size for ancestor in chain for size in settings[ancestor].get("sizes", {})}
    for kind in ("fixed", "free"):
        for letter, size in settings[name].get(kind, {}).items():
            yield from _unknown_size((*path, kind, letter), [size], sizes)
    for key, size in settings[name].get("sizes", {}).items():
        others = [*size.get("above", ()), *([size["twice"]] if "twice" in size else [])]
        yield from _unknown_size((*path, "sizes", key), others, sizes)
    for key, symbol in settings[name].get("symbols", {}).items():
        yield from _unknown_assumptions((*path, "symbols", key), symbol.get("assume", ()))
        shape = symbol.get("shape", "1").replace("x", "×").replace(" ", "").split("×")
        yield from _unknown_size(
            (*path, "symbols", key), [*shape, *([symbol["over"]] if "over" in symbol else [])], sizes
        )


def _unknown_assumptions(path: Path, assumptions: Iterable[str]) -> Iterator[Fault]:
    for assumption in assumptions:
        if assumption not in ASSUMPTIONS and not assumption.startswith("orthogonal to "):
            known = ", ".join(sorted(ASSUMPTIONS))
            yield Fault(path=path, message=f"'{assumption}' is not an assumption. There are: {known}, orthogonal to ….")


def _unknown_size(path: Path, names: Iterable[str], sizes: set[str]) -> Iterator[Fault]:
    for name in names:
        if name not in sizes and not name.isdigit():
            known = ", ".join(sorted(sizes)) or "none"
            yield Fault(path=path, message=f"'{name}' is not a size of this setting. Its sizes: {known}.")


def ancestors(name: str, settings: Mapping[str, Any]) -> list[str] | None:
    """The setting and all that it extends, or None if the chain breaks or bites its tail."""
    chain = [name]
    while "extends" in settings[chain[-1]]:
        parent = settings[chain[-1]]["extends"]
        if parent not in settings or parent in chain:
            return None
        chain.append(parent)
    return chain


def _question_faults(question: Mapping[str, Any], settings: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    if question["setting"] not in settings:
        known = ", ".join(settings)
        yield Fault(
            path=(*path, "setting"), message=f"There is no setting '{question['setting']}'. There are: {known}."
        )
    design = question.get("design", {})
    for index, solution in enumerate(design.get("solutions", ())):
        for symbol in solution:
            if symbol not in design["symbols"]:
                message = f"The solution gives '{symbol}', which the design does not leave open."
                yield Fault(path=(*path, "design", "solutions", index, symbol), message=message)
