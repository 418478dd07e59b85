"""The fields of a problem file: what each may hold. docs/problems.md says what they mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ASSUMPTIONS = frozenset(
    {
        "orthonormal",
        "orthonormal columns",
        "permutation",
        "positive",
        "integer",
        "complex",
        "unit vectors",
        "one-hot",
        "distribution",
        "small",
        "unit",
        "any",
        "frequencies",
    }
)

Scalar = Literal["text", "formula", "relation", "number", "count", "flag", "yes or no", "zero or infinity"]


@dataclass(frozen=True, kw_only=True)
class ListOf:
    """An array whose items are all alike."""

    item: "Shape"


@dataclass(frozen=True, kw_only=True)
class TableOf:
    """A table whose keys are names of the instructor's own."""

    value: "Shape"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with known fields."""

    fields: Mapping[str, "Shape"]
    required: tuple[str, ...] = field(default=())


Shape = Scalar | ListOf | TableOf | Table

_TEXTS = ListOf(item="text")
_RELATIONS = ListOf(item="relation")
_SIZE = Table(fields={"at_least": "count", "above": _TEXTS, "even": "flag", "twice": "text"})
_SYMBOL = Table(
    fields={
        "shape": "text",
        "assume": _TEXTS,
        "is": "formula",
        "over": "text",
        "tends": "zero or infinity",
        "mean": "number",
        "variance": "number",
    }
)
_FUNCTION = Table(
    fields={"arguments": _TEXTS, "is": "formula", "on_vectors": "formula", "subscripted": "flag"},
    required=("arguments", "is"),
)
_SETTING = Table(
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
_DESIGN = Table(
    fields={
        "symbols": _TEXTS,
        "goal": "relation",
        "solutions": ListOf(item=TableOf(value="formula")),
        "show": "formula",
        "show_as": "text",
        "show_at": TableOf(value="count"),
        "target": "number",
    },
    required=("symbols", "goal"),
)
_CHOICE = Table(
    fields={"answer": "yes or no", "yes": _TEXTS, "no": _TEXTS, "cues": _TEXTS, "why": "text"}, required=("answer",)
)
_QUESTION = Table(
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
    },
    required=("id", "title", "setting"),
)
PROBLEM = Table(
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
