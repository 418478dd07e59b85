"""The fields of a problem file, and what is wrong with one: all of it at once, each with the path of the field.

docs/problems.md says what the fields mean.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.core.errors import did_you_mean
from regard.derivations.judging.setting import Assumption
from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.statements import read_chains
from regard.derivations.notation.tokens import NotUnderstood, tokenize

KeyPath = tuple[str | int, ...]
ORTHOGONAL_TO = "orthogonal to "
_YES_OR_NO = ("yes", "no")
_NUMBERS = ("number", "share", "weight")
_TYPES: Mapping[str, tuple[type, ...]] = {**dict.fromkeys(_NUMBERS, (int, float)), "count": (int,), "flag": (bool,)}
_CHOICES = {"zero or infinity": ("zero", "infinity")}
_EXPECTED = {
    "count": "a whole number of at least 1",
    "flag": "true or false",
    "number": "a finite number",
    "share": "a share from 0 to 1",
    "weight": "a positive number",
}
_IN_RANGE: Mapping[str, Callable[[float], bool]] = {
    "count": lambda value: value >= 1,
    "number": math.isfinite,
    "share": lambda value: 0 <= value <= 1,
    "weight": lambda value: value > 0 and math.isfinite(value),
}
Scalar = Literal["text", "formula", "relation", "number", "share", "weight", "count", "flag", "zero or infinity"]


@dataclass(frozen=True, kw_only=True)
class ListOf:
    """An array whose items are all alike."""

    item: "FieldShape"


@dataclass(frozen=True, kw_only=True)
class TableOf:
    """A table whose keys are names of the instructor's own."""

    value: "FieldShape"


@dataclass(frozen=True, kw_only=True)
class TableShape:
    """A table with known fields."""

    fields: Mapping[str, "FieldShape"]
    required: tuple[str, ...] = field(default=())


FieldShape = Scalar | ListOf | TableOf | TableShape

_TEXTS = ListOf(item="text")
_RELATIONS = ListOf(item="relation")
_SIZE = TableShape(fields={"at_least": "count", "above": _TEXTS, "even": "flag", "twice": "text"})
_SYMBOL = TableShape(
    fields={
        "shape": "text",
        "assume": _TEXTS,
        "is": "formula",
        "over": "text",
        "tends": "zero or infinity",
        "mean": "number",
        "variance": "number",
        "law": "formula",
    }
)
_FUNCTION = TableShape(
    fields={"arguments": _TEXTS, "is": "formula", "on_vectors": "formula", "subscripted": "flag"},
    required=("arguments", "is"),
)
_SETTING = TableShape(
    fields={
        "extends": "text",
        "ones": "text",
        "otherwise": "text",
        "assuming": "text",
        "said_by": _TEXTS,
        "reading": "text",
        "complex": "flag",
        "sizes": TableOf(value=_SIZE),
        "fixed": TableOf(value="text"),
        "free": TableOf(value="text"),
        "symbols": TableOf(value=_SYMBOL),
        "functions": TableOf(value=_FUNCTION),
        "aliases": TableOf(value=_TEXTS),
        "permutations": TableOf(value="text"),
    }
)
_DESIGN = TableShape(
    fields={
        "symbols": _TEXTS,
        "goal": "relation",
        "weight": "weight",
        "solutions": ListOf(item=TableOf(value="formula")),
        "without": _TEXTS,
        "show": "formula",
        "show_as": "text",
        "show_at": TableOf(value="count"),
        "target": "number",
    },
    required=("symbols", "goal"),
)
_CHOICE = TableShape(
    fields={
        "answer": "text",
        "yes": _TEXTS,
        "no": _TEXTS,
        "options": TableOf(value=_TEXTS),
        "value": "number",
        "tolerance": "share",
        "cues": _TEXTS,
        "why": "text",
        "weight": "weight",
    }
)
_REQUIRED = TableShape(fields={"any_of": _RELATIONS, "weight": "weight", "bare": "share"}, required=("any_of",))
_QUESTION = TableShape(
    fields={
        "id": "text",
        "title": "text",
        "titles": _TEXTS,
        "path": _TEXTS,
        "setting": "text",
        "points": "number",
        "optional": "flag",
        "given": _RELATIONS,
        "show": _RELATIONS,
        "claims": _TEXTS,
        "design": _DESIGN,
        "choice": _CHOICE,
        "required": ListOf(item=_REQUIRED),
        "slip": "share",
        "pending": "share",
    },
    required=("id", "title", "setting"),
)
PROBLEM = TableShape(
    fields={
        "schema": "text",
        "name": "text",
        "title": "text",
        "source": "text",
        "settings": TableOf(value=_SETTING),
        "questions": ListOf(item=_QUESTION),
    },
    required=("schema", "name", "title", "settings", "questions"),
)


# -- faults ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong, and the path of keys that leads to it."""

    path: KeyPath
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


def _shape_faults(value: Any, shape: FieldShape, path: KeyPath, functions: frozenset[str]) -> Iterator[Fault]:
    if isinstance(shape, TableShape):
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


def _table_faults(value: Any, shape: TableShape, path: KeyPath, functions: frozenset[str]) -> Iterator[Fault]:
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
            hint = did_you_mean(key, shape.fields) or f"The fields here: {', '.join(shape.fields)}."
            yield Fault(path=(*path, key), message=f"'{key}' is not a field of a problem file. {hint}")


def _named(path: KeyPath) -> str:
    return ".".join(map(str, path)) or "the file"


def _called(path: KeyPath) -> str:
    """A field by its own name; an item of a list by its number."""
    return f"item {path[-1] + 1} of '{path[-2]}'" if isinstance(path[-1], int) else f"'{path[-1]}'"


def _scalar_faults(value: Any, kind: str, path: KeyPath, functions: frozenset[str]) -> Iterator[Fault]:
    is_right = isinstance(value, _TYPES.get(kind, (str,))) and (kind == "flag" or not isinstance(value, bool))
    if not is_right or not _IN_RANGE.get(kind, lambda _: True)(value):
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
    return None if chains else "it has no relation sign such as =."


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
    path: KeyPath = ("settings", name)
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


def _unknown_assumptions(path: KeyPath, assumptions: Iterable[str]) -> Iterator[Fault]:
    for assumption in assumptions:
        if assumption not in list(Assumption) and not assumption.startswith(ORTHOGONAL_TO):
            known = ", ".join(sorted(Assumption))
            message = f"'{assumption}' is not a known assumption. Known: {known}, orthogonal to …."
            yield Fault(path=path, message=message)


def _unknown_size(path: KeyPath, names: Iterable[str], sizes: set[str]) -> Iterator[Fault]:
    for name in names:
        if name not in sizes and not name.isdigit():
            known = ", ".join(sorted(sizes)) or "none"
            yield Fault(path=path, message=f"'{name}' is not a size of this setting. Its sizes: {known}.")


def ancestors(name: str, settings: Mapping[str, Any]) -> list[str] | None:
    """The setting and all that it extends, or None if the chain is broken or circular."""
    chain = [name]
    while "extends" in settings[chain[-1]]:
        parent = settings[chain[-1]]["extends"]
        if parent not in settings or parent in chain:
            return None
        chain.append(parent)
    return chain


def _question_faults(question: Mapping[str, Any], settings: Mapping[str, Any], path: KeyPath) -> Iterator[Fault]:
    if question["setting"] not in settings:
        known = ", ".join(settings)
        yield Fault(
            path=(*path, "setting"), message=f"There is no setting '{question['setting']}'. The settings: {known}."
        )
    for index, step in enumerate(question.get("required", ())):
        if not step["any_of"]:
            yield Fault(path=(*path, "required", index, "any_of"), message="'any_of' is empty: name a relation.")
    choice = question.get("choice")
    if choice is not None and "value" not in choice:
        options = choice.get("options", _YES_OR_NO)
        if choice.get("answer") not in options:
            neither = " nor ".join(map(repr, options))
            message = f"The answer {choice.get('answer', '')!r} is neither {neither}."
            yield Fault(path=(*path, "choice", "answer"), message=message)
    design = question.get("design", {})
    for index, solution in enumerate(design.get("solutions", ())):
        for symbol in solution:
            if symbol not in design["symbols"]:
                message = f"The solution gives '{symbol}', which the design does not leave open."
                yield Fault(path=(*path, "design", "solutions", index, symbol), message=message)
    holding = ancestors(question["setting"], settings) if question["setting"] in settings else None
    known = [key for name in holding or () for key in settings[name].get("symbols", {})]
    for index, symbol in enumerate(design.get("without", ())):
        if symbol not in known:
            message = f"'{symbol}' is not a symbol of this setting. Its symbols: {', '.join(known)}."
            yield Fault(path=(*path, "design", "without", index), message=message)
