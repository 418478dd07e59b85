"""`answers.toml`: a table for each question, read into a document that is judged like any other.

schema = "regard-answers/1"
problem = "cs224n-a4"

["1b"]
design.q = '\\beta(k_a + k_b)'
answer = '''
c \\approx \\frac12(v_a + v_b)
'''
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from regard.core.errors import InputError
from regard.derivations.problems.loading import load_problem, shipped_problems
from regard.derivations.problems.model import Problem, Question
from regard.derivations.questions import questions_of
from regard.derivations.reading.document import Document
from regard.derivations.reading.files import read_text
from regard.derivations.reading.outline import outline
from regard.derivations.structured.compose import Composition
from regard.derivations.structured.places import Path, Places, Written, find_places

SCHEMA = "regard-answers/1"
_FIELDS = ("choice", "design", "answer", "prose")
_DELIMITED = re.compile(r"\$|\\\(|\\\[|\\begin\b")
_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi "
    "omega".split()
)


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers of a file as a document, and the problem that they answer."""

    document: Document
    problem: Problem


def read_answers(source: str, *, path: str = "answers.toml", problem: Problem | None = None) -> Answers:
    """The document that the fields make up; its places are lines of the TOML file.

    A problem that is given goes before the one that the file names, which must be a shipped one.
    """
    table = _table(source, path)
    problem = problem or _named_problem(table, path)
    places = find_places(source)
    composition = Composition()
    for name, fields in table.items():
        if name in ("schema", "problem"):
            continue
        question = _question(name, problem, path, places)
        _check_fields(question, fields, path, places)
        _compose(composition, question, fields, places)
    document = read_text(composition.text or "(no answers)", kind="markdown", path=path)
    return Answers(document=composition.placed(document, places.line_starts), problem=problem)


def _table(source: str, path: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None
    if table.get("schema") != SCHEMA:
        raise InputError(f'{path} is not a file of answers: it lacks the line schema = "{SCHEMA}". '
                         f"`regard verify --new-answers {shipped_problems()[0]}` writes a template.")  # fmt: skip
    return table


def _named_problem(table: Mapping[str, Any], path: str) -> Problem:
    name = table.get("problem")
    if name not in shipped_problems():
        known = ", ".join(shipped_problems())
        raise InputError(
            f"{path} names the problem {name!r}, which is not a shipped one ({known}). Use --problem FILE."
        )
    return load_problem(name)


def _question(name: str, problem: Problem, path: str, places: Places) -> Question:
    for question in problem.questions:
        if question.id == name:
            return question
    known = ", ".join(question.id for question in problem.questions)
    raise InputError(
        f"{path}:{places.line((name,))} answers '{name}', which {problem.name} does not ask. It asks: {known}."
    )


def _check_fields(question: Question, fields: Any, path: str, places: Places) -> None:
    """Raises an InputError of one line for whatever the question cannot take."""
    if not isinstance(fields, dict):
        raise InputError(
            f"{path}:{places.line((question.id,))} '{question.id}' must be a table with {', '.join(_FIELDS)}."
        )
    for field, value in fields.items():
        where = f"{path}:{places.line((question.id, field))}"
        if field not in _FIELDS:
            raise InputError(f"{where} '{field}' is not a field of an answer. The fields are {', '.join(_FIELDS)}.")
        if field == "design":
            _check_design(question, value, where)
        elif not isinstance(value, str):
            raise InputError(f"{where} '{field}' must be a string, not {type(value).__name__}.")
    choice = fields.get("choice", "").strip().lower()
    where = f"{path}:{places.line((question.id, 'choice'))}"
    if choice and question.choice is None:
        raise InputError(f"{where} '{question.id}' asks for no choice. Leave the field out.")
    if choice not in ("", "yes", "no"):
        raise InputError(f"{where} the choice {choice!r} is neither 'yes' nor 'no'.")


def _check_design(question: Question, value: Any, where: str) -> None:
    open_symbols = question.design.symbols if question.design else ()
    if not isinstance(value, dict):
        raise InputError(f"{where} 'design' must be a table: design.q = '…'.")
    for symbol, formula in value.items():
        if symbol not in open_symbols:
            left = f"It leaves {', '.join(open_symbols)} open." if open_symbols else "It leaves no symbol open."
            raise InputError(f"{where} '{symbol}' is not a design of '{question.id}'. {left}")
        if not isinstance(formula, str):
            raise InputError(f"{where} the design of '{symbol}' must be a string of LaTeX.")


def _compose(composition: Composition, question: Question, fields: Mapping[str, Any], places: Places) -> None:
    written = {field: places.strings.get((question.id, field)) for field in _FIELDS}
    designs = {symbol: places.strings[(question.id, "design", symbol)] for symbol in fields.get("design", {})}
    if not any(item and item.text.strip() for item in (*written.values(), *designs.values())):
        return
    composition.say(heading(question), at=places.keys[(question.id,)])
    if (choice := written["choice"]) and choice.text.strip():
        composition.say(f"{_phrase(question, choice.text.strip().lower())}.", at=choice.targets[0])
    for symbol, formula in designs.items():
        if formula.text.strip():
            _compose_design(composition, symbol, formula, (question.id, "design", symbol), places)
    if (answer := written["answer"]) and answer.text.strip():
        _compose_answer(composition, answer)
    if (prose := written["prose"]) and prose.text.strip():
        composition.copy(prose)


def heading(question: Question) -> str:
    """The heading under which the reader recognises the question.

    >>> from regard.derivations.problems.loading import load_problem
    >>> heading(load_problem("cs224n-a4").question("1c.i"))
    '## 1.(c)(i) Drawbacks of single-headed attention: a query'
    """
    number, *parts = question.path or ("",)
    enumerator = f"{number}." + "".join(f"({part})" for part in parts if part.isalpha() and len(part) < 5)
    return f"## {enumerator if question.path else ''} {question.title}".replace("  ", " ")


def opened_by(line: str, problem: Problem) -> Question | None:
    """The question that the reader takes a heading to open."""
    sections = outline(read_text(f"{line}\n\n$x = 1$"))
    found = questions_of(sections[-1].path, [sections[-1].title], problem) if sections else ()
    return found[0] if found else None


def _phrase(question: Question, choice: str) -> str:
    """Words that the reader takes for this choice."""
    assert question.choice is not None
    phrases = question.choice.yes if choice == "yes" else question.choice.no
    return choice if choice in phrases or not phrases else phrases[0]


def _compose_design(composition: Composition, symbol: str, formula: Written, path: Path, places: Places) -> None:
    key = places.keys[path]
    text = formula.text.strip()
    if _DELIMITED.search(text) or re.match(rf"\s*{re.escape(latex_name(symbol))}\s*=", text):
        composition.formula(formula)
    else:
        composition.formula(formula, lead=f"{latex_name(symbol)} = ", lead_at=key)


def _compose_answer(composition: Composition, answer: Written) -> None:
    if _DELIMITED.search(answer.text):
        composition.copy(answer)
    else:
        composition.formula(answer, is_by_lines=True)


def latex_name(symbol: str) -> str:
    r"""A problem's symbol as LaTeX: `mu_a` is `\mu_a`, `X_perm` is `X_{perm}`."""
    base, _, script = symbol.partition("_")
    base = f"\\{base}" if base.lower() in _GREEK else base
    return f"{base}_{{{script}}}" if len(script) > 1 else f"{base}_{script}" if script else base
