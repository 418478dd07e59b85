"""Problems from TOML: shipped ones by name, an instructor's own by path."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.syntax import Expression
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.problems.model import Choice, Design, Function, Problem, Question, Setting, Size, SymbolMeaning
from regard.errors import InputError

__all__ = ["ASSUMPTIONS", "load_problem", "parse_problem", "problem_source", "shipped_problems"]

_LIBRARY = resources.files("regard.derivations.problems") / "library"
ASSUMPTIONS = {
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


def shipped_problems() -> tuple[str, ...]:
    """The names of the problems that come with Regard."""
    return tuple(
        sorted(entry.name.removesuffix(".toml") for entry in _LIBRARY.iterdir() if entry.name.endswith(".toml"))
    )


def problem_source(name_or_path: str) -> str:
    """The TOML text of a shipped problem, or of the file at that path."""
    if name_or_path in shipped_problems():
        return (_LIBRARY / f"{name_or_path}.toml").read_text(encoding="utf-8")
    path = Path(name_or_path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(shipped_problems())
        raise InputError(
            f"'{name_or_path}' is neither a shipped problem ({known}) nor a readable TOML file: {error}."
        ) from None


@cache
def load_problem(name_or_path: str) -> Problem:
    """The problem of that name, or in the TOML file at that path."""
    return parse_problem(problem_source(name_or_path), name_or_path)


@cache
def parse_problem(source: str, name: str = "problem.toml") -> Problem:
    """The problem in a TOML text; `name` is only what complaints call it."""
    try:
        table = tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"The problem '{name}' is not valid TOML: {error}.") from None
    try:
        return _problem(table)
    except NotUnderstood as error:
        raise InputError(f"The problem '{name}' has a formula that cannot be read: {error}") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"The problem '{name}' lacks or misuses the field {error}. See docs/problems.md.") from None


def _problem(table: Mapping[str, Any]) -> Problem:
    if table.get("schema") != "regard-problem/1":
        raise InputError(f"The problem's schema is {table.get('schema')!r}; this Regard reads 'regard-problem/1'.")
    tables = table.get("settings", {})
    settings = {name: _setting(name, _extended(name, tables)) for name in tables}
    questions = tuple(_question(row, settings) for row in table["questions"])
    return Problem(name=table["name"], title=table["title"], source=table.get("source", ""), questions=questions)


def _extended(name: str, tables: Mapping[str, Any], seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """The setting's table with what it extends filled in below it."""
    if name not in tables or name in seen:
        raise InputError(f"The setting '{name}' does not exist, or extends itself.")
    table = tables[name]
    if "extends" not in table:
        return dict(table)
    merged = _extended(table["extends"], tables, (*seen, name))
    for key, value in table.items():
        is_merged = isinstance(value, dict) and key not in ("fixed", "free")
        merged[key] = {**merged.get(key, {}), **value} if is_merged else value
    return merged


def _formula(source: str, functions: Mapping[str, Any]) -> Expression:
    return parse(tokenize(source), Reading(functions=frozenset(functions)))


def _setting(name: str, table: Mapping[str, Any]) -> Setting:
    functions = table.get("functions", {})
    fixed, free = table.get("fixed", {}), table.get("free", {})
    return Setting(
        name=name,
        sizes={
            key: Size(
                minimum=row.get("at_least", 2),
                above=tuple(row.get("above", ())),
                is_even=row.get("even", False),
                twice=row.get("twice"),
            )
            for key, row in table.get("sizes", {}).items()
        },
        fixed=fixed,
        free={letter: size for letter, size in free.items() if letter not in fixed},
        symbols={key: _meaning(key, row, free, functions) for key, row in table.get("symbols", {}).items()},
        functions={
            key: Function(
                arguments=tuple(row["arguments"]),
                formula=_formula(row["is"], functions),
                is_subscripted=row.get("subscripted", False),
                vector_formula=_formula(row["on_vectors"], functions) if "on_vectors" in row else None,
            )
            for key, row in functions.items()
        },
        aliases={key: tuple(names) for key, names in table.get("aliases", {}).items()},
        ones=table.get("ones"),
        permutations=table.get("permutations", {}),
        is_complex=table.get("complex", False),
    )


def _meaning(key: str, row: Mapping[str, Any], free: Mapping[str, str], functions: Mapping[str, Any]) -> SymbolMeaning:
    base, _, script = key.rpartition("_")
    is_family = bool(base) and script in free
    assume = tuple(row.get("assume", ()))
    for assumption in assume:
        if assumption not in ASSUMPTIONS and not assumption.startswith("orthogonal to "):
            raise InputError(f"The symbol '{key}' assumes '{assumption}', which is not among {sorted(ASSUMPTIONS)}.")
    return SymbolMeaning(
        name=base if is_family else key,
        index=script if is_family else None,
        over=row.get("over", free[script]) if is_family else None,
        shape=_shape(row.get("shape", "1")),
        assume=assume,
        formula=_formula(row["is"], functions) if "is" in row else None,
        tends=row.get("tends"),
        mean=row.get("mean", 0.0),
        variance=row.get("variance"),
    )


def _shape(text: str) -> tuple[str, str]:
    rows, _, columns = text.replace("x", "×").replace(" ", "").partition("×")
    return rows, columns or "1"


def _question(row: Mapping[str, Any], settings: Mapping[str, Setting]) -> Question:
    if row["setting"] not in settings:
        raise InputError(
            f"The question '{row['id']}' uses the setting '{row['setting']}', which is not among {sorted(settings)}."
        )
    design, choice = row.get("design"), row.get("choice")
    return Question(
        id=row["id"],
        title=row["title"],
        path=tuple(row.get("path", _path(row["id"]))),
        titles=tuple(title.lower() for title in (row["title"], *row.get("titles", ()))),
        setting=settings[row["setting"]],
        points=row.get("points", 0.0),
        given=tuple(row.get("given", ())),
        show=tuple(row.get("show", ())),
        claims=tuple(row.get("claims", ())),
        design=None
        if design is None
        else Design(
            symbols=tuple(design["symbols"]),
            goal=design["goal"],
            solutions=tuple(design.get("solutions", ())),
            show_at=design.get("show_at", {}),
            show=design.get("show"),
            show_as=design.get("show_as", design.get("show", "")),
            target=design.get("target", 0.5),
        ),
        choice=None
        if choice is None
        else Choice(
            answer=choice["answer"],
            yes=tuple(choice.get("yes", ())),
            no=tuple(choice.get("no", ())),
            cues=tuple(choice.get("cues", ())),
            why=choice.get("why", ""),
        ),
    )


def _path(id: str) -> tuple[str, ...]:
    """'1c.ii' opens at 1, c, ii."""
    head, _, rest = id.partition(".")
    number = head.rstrip("abcdefghijklmnopqrstuvwxyz")
    return tuple(part for part in (number, head[len(number) :], rest) if part)
