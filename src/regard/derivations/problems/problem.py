"""Problems: what a course asks, from TOML: shipped ones by name, an instructor's own by path."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from regard.core.errors import InputError, did_you_mean
from regard.derivations.judging.setting import Assumption, DefinedFunction, Setting, Size, SymbolMeaning
from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.syntax import Distribution, Expression
from regard.derivations.notation.tokens import NotUnderstood, tokenize
from regard.derivations.problems.checking import ORTHOGONAL_TO, Fault, find_faults

_LIBRARY = Path(__file__).parent / "library"
_KINDS = {
    "sizes": "size",
    "symbols": "symbol",
    "functions": "function",
    "fixed": "letter",
    "free": "letter",
    "aliases": "alias of",
    "permutations": "permutation",
}


# -- what is asked -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Design:
    """Symbols left open to the student, the goal that they must reach, and solutions that do.

    `without` names symbols on which a design may not depend, since it is to work for all of them.
    A design that fails is shown by the quantity `show`, called `show_as`, at the sizes `show_at`, beside its `target`.
    """

    symbols: tuple[str, ...]
    goal: str
    solutions: tuple[Mapping[str, str], ...] = ()
    without: tuple[str, ...] = ()
    weight: float = 1.0
    show_at: Mapping[str, int] = field(default_factory=dict)
    show: str | None = None
    show_as: str = ""
    target: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A question of words or of a number: the right answer, phrases that give each one, `cues` that identify it.

    Without `options` it is a yes/no question; with a `value` it asks for a number, which may be off by `tolerance`
    times its size.
    """

    answer: str = ""
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    value: float | None = None
    tolerance: float = 0.0
    cues: tuple[str, ...] = ()
    why: str = ""
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class RequiredStep:
    """A step that an answer must reach, in one of several ways; each way is a relation, or several with commas.

    `weight` is its share of the question's points beside the other parts, `bare` the share of its own points that it
    earns if it is only stated.
    """

    any_of: tuple[str, ...]
    weight: float = 1.0
    bare: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question: where it stands, what its symbols mean, what is given and asked.

    `slip` is the share of a part's points that refuted steps on its way cost (None: a part after one earns what it does
    if it is only stated), `pending` the share that an undecided part earns before a person has looked at it.
    """

    id: str
    title: str
    setting: Setting
    path: tuple[str, ...]
    titles: tuple[str, ...] = ()
    points: float = 0.0
    is_optional: bool = False
    given: tuple[str, ...] = ()
    design: Design | None = None
    show: tuple[str, ...] = ()
    choice: Choice | None = None
    required: tuple[RequiredStep, ...] = ()
    slip: float | None = None
    pending: float = 0.0
    claims: tuple[str, ...] = ()

    @property
    def required_steps(self) -> tuple[RequiredStep, ...]:
        """Every step that the answer must reach; what is to be shown must be derived."""
        return (*self.required, *(RequiredStep(any_of=(relation,)) for relation in self.show))


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A set of questions by the name of their course."""

    name: str
    title: str
    questions: tuple[Question, ...]
    source: str = ""

    def question(self, question_id: str) -> Question:
        """The question of that id."""
        return next(question for question in self.questions if question.id == question_id)


# -- problem files -----------------------------------------------------------------------------------------------------
def shipped_problems() -> tuple[str, ...]:
    """The names of the problems that come with Regard."""
    return tuple(sorted(path.stem for path in _LIBRARY.glob("*.toml")))


def problem_source(name_or_path: str) -> str:
    """The TOML text of a shipped problem, or of the file at that path."""
    if name_or_path in shipped_problems():
        return (_LIBRARY / f"{name_or_path}.toml").read_text(encoding="utf-8")
    path = Path(name_or_path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        if path.suffix and isinstance(error, FileNotFoundError):
            raise InputError(f"There is no problem file {path}. Check the name.") from None
        known = ", ".join(shipped_problems())
        why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it is not UTF-8 text"
        message = f"'{name_or_path}' is neither a shipped problem ({known}) nor a readable TOML file: {why}."
        raise InputError(f"{message} {did_you_mean(name_or_path, shipped_problems())}".rstrip()) from None


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
    faults = find_faults(table)
    if faults:
        more = f" `regard problems check` lists {len(faults) - 1} more." if len(faults) > 1 else ""
        raise InputError(f"The problem '{name}', {_place(faults[0], table)}: {faults[0].message}{more}")
    return _problem(table)


def _place(fault: Fault, table: Mapping[str, Any]) -> str:
    """The question, or the setting and its symbol, that a fault concerns; else the field of the file."""
    match fault.path:
        case ("questions", int(index), *_):
            row = table["questions"][index]
            has_id = isinstance(row, dict) and "id" in row
            return f"question '{row['id']}'" if has_id else f"question number {index + 1}"
        case ("settings", setting, str(kind), key, *_) if kind in _KINDS:
            return f"setting '{setting}', {_KINDS[kind]} '{key}'"
        case ("settings", setting, *_):
            return f"setting '{setting}'"
        case (field, *_):
            return f"field '{field}'"
        case _:
            return "at its top"


def _problem(table: Mapping[str, Any]) -> Problem:
    tables = table["settings"]
    settings = {name: _setting_and_otherwise(name, tables) for name in tables}
    questions = tuple(_question(row, settings) for row in table["questions"])
    return Problem(name=table["name"], title=table["title"], source=table.get("source", ""), questions=questions)


def _extended(name: str, tables: Mapping[str, Any]) -> dict[str, Any]:
    """The setting's table with what it extends filled in below it."""
    table = tables[name]
    if "extends" not in table:
        return dict(table)
    merged = _extended(table["extends"], tables)
    for key, value in table.items():
        is_merged = isinstance(value, dict) and key not in ("fixed", "free")
        merged[key] = {**merged.get(key, {}), **value} if is_merged else value
    return merged


def _formula(key: str, source: str, functions: Mapping[str, Any]) -> Expression:
    """The formula of a symbol or function, read with the functions of its setting."""
    try:
        return parse(tokenize(source), Reading(functions=frozenset(functions)))
    except NotUnderstood as error:
        raise InputError(f"The formula '{source}' of '{key}' cannot be read in its setting: {error}") from None


def _setting_and_otherwise(name: str, tables: Mapping[str, Any]) -> Setting:
    """A setting with the ones that a step which fails is tried in, one after the other."""
    table, other = _extended(name, tables), tables[name].get("otherwise")
    if other is None:
        return _setting(name, table)
    changed = _changed(table, _extended(other, tables))
    return replace(_setting(name, table), otherwise=replace(_setting_and_otherwise(other, tables), changed=changed))


def _changed(first: Mapping[str, Any], second: Mapping[str, Any]) -> frozenset[str] | None:
    """The symbols that mean something else in a second setting; None if its sizes or indices are others too."""
    if any(first.get(key) != second.get(key) for key in ("sizes", "fixed", "free", "functions")):
        return None
    one, other = first.get("symbols", {}), second.get("symbols", {})
    return frozenset(key for key in {**one, **other} if one.get(key) != other.get(key))


def _setting(name: str, table: Mapping[str, Any]) -> Setting:
    functions = table.get("functions", {})
    fixed, free = table.get("fixed", {}), table.get("free", {})
    return Setting(
        name=name,
        sizes={
            key: Size(**_fields(row, at_least="minimum", even="is_even")) for key, row in table.get("sizes", {}).items()
        },
        fixed=fixed,
        free={letter: size for letter, size in free.items() if letter not in fixed},
        symbols={key: _meaning(key, row, free, functions) for key, row in table.get("symbols", {}).items()},
        functions={key: _function(key, row, functions) for key, row in functions.items()},
        aliases={key: tuple(names) for key, names in table.get("aliases", {}).items()},
        ones=table.get("ones"),
        assuming=table.get("assuming", ""),
        said_by=tuple(word.lower() for word in table.get("said_by", ())),
        reading=table.get("reading", ""),
        permutations=table.get("permutations", {}),
        is_complex=table.get("complex", False),
    )


def _function(key: str, row: Mapping[str, Any], functions: Mapping[str, Any]) -> DefinedFunction:
    return DefinedFunction(
        arguments=tuple(row["arguments"]),
        formula=_formula(key, row["is"], functions),
        is_subscripted=row.get("subscripted", False),
        vector_formula=_formula(key, row["on_vectors"], functions) if "on_vectors" in row else None,
    )


def _meaning(key: str, row: Mapping[str, Any], free: Mapping[str, str], functions: Mapping[str, Any]) -> SymbolMeaning:
    base, _, script = key.rpartition("_")
    is_family = bool(base) and script in free
    assumed = row.get("assume", ())
    return SymbolMeaning(
        name=base if is_family else key,
        index=script if is_family else None,
        over=row.get("over", free[script]) if is_family else None,
        shape=_shape(row.get("shape", "1")),
        assume=tuple(Assumption(name) for name in assumed if not name.startswith(ORTHOGONAL_TO)),
        orthogonal_to=tuple(name.removeprefix(ORTHOGONAL_TO) for name in assumed if name.startswith(ORTHOGONAL_TO)),
        formula=_formula(key, row["is"], functions) if "is" in row else None,
        tends=row.get("tends"),
        law=_law(key, row["law"], functions) if "law" in row else None,
        mean=row.get("mean", 0.0),
        variance=row.get("variance"),
    )


def _law(key: str, source: str, functions: Mapping[str, Any]) -> Distribution:
    law = _formula(key, source, functions)
    if not isinstance(law, Distribution):
        raise InputError(f"The law '{source}' of '{key}' is not one such as \\mathcal N(\\mu, \\sigma^2).")
    return law


def _shape(text: str) -> tuple[str, str]:
    """Rows and columns of d×m; a single size is a column."""
    rows, _, columns = text.replace("x", "×").replace(" ", "").partition("×")
    return rows, columns or "1"


def _question(row: Mapping[str, Any], settings: Mapping[str, Setting]) -> Question:
    fields = _fields(row, optional="is_optional")
    fields["titles"] = tuple(title.lower() for title in (row["title"], *row.get("titles", ())))
    fields["path"] = tuple(row.get("path", _path(row["id"])))
    fields["setting"] = settings[row["setting"]]
    if "design" in row:
        fields["design"] = Design(**{"show_as": row["design"].get("show", ""), **_fields(row["design"])})
    if "choice" in row:
        options = {name: tuple(phrases) for name, phrases in row["choice"].get("options", {}).items()}
        fields["choice"] = Choice(**{**_fields(row["choice"]), "options": options})
    fields["required"] = tuple(RequiredStep(**_fields(step)) for step in row.get("required", ()))
    return Question(**fields)


def _fields(row: Mapping[str, Any], **renamed: str) -> dict[str, Any]:
    """A table of the file as the fields of a class, some of which have other names there."""
    return {renamed.get(key, key): tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def _path(question_id: str) -> tuple[str, ...]:
    """The enumerators at which a question opens: 1, c, ii for 1c.ii."""
    head, _, rest = question_id.partition(".")
    number = head.rstrip("abcdefghijklmnopqrstuvwxyz")
    return tuple(part for part in (number, head[len(number) :], rest) if part)
