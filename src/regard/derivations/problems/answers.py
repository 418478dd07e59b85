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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from regard.core.errors import InputError
from regard.derivations.notation.tokens import GREEK
from regard.derivations.problems.problem import Problem, Question, load_problem, shipped_problems
from regard.derivations.problems.toml_places import KeyPath, TomlPlaces, find_places
from regard.derivations.reading.document import Document, MappedText
from regard.derivations.reading.files import read_text

SCHEMA = "regard-answers/1"
_FIELDS = ("choice", "design", "answer", "prose")
_GAP = "\n\n"
_DELIMITED = re.compile(r"\$|\\\(|\\\[|\\begin\b")
_HOW = """\
# Fill in what you answer and leave the rest empty; an empty question counts as unanswered.
#   design.q = '…'    the LaTeX of what you choose for a symbol that the question leaves open
#   choice = "yes"    or "no", or another of the options or the number that the question asks for
#   answer = '''…'''  your derivation in LaTeX, one statement per line; a line that begins with = continues
#                     the one above. With dollar signs in it, it is read as Markdown instead.
#   prose = '''…'''   words; they are kept and shown, not judged
# Single quotes keep backslashes as they are. Then: regard verify answers.toml
"""


# -- the Markdown text that the fields make up -------------------------------------------------------------------------
class Composition:
    r"""Paragraphs in the order in which they are added.

    >>> composition = Composition()
    >>> composition.formula(MappedText.joined([("b", 20)]), lead="a = ", lead_at=11)
    >>> composition.written.text, [composition.written.origin.at(place) for place in (2, 6, 8)]
    ('$$\na = b\n$$', [20, 11, 20])
    """

    def __init__(self) -> None:
        self._signs: list[tuple[str, int]] = []

    @property
    def written(self) -> MappedText:
        """All paragraphs so far, and where in the file they come from."""
        return MappedText.joined(self._signs)

    def say(self, text: str, *, at: int) -> None:
        """A paragraph of our own words, which all stand at one place of the file."""
        self._gap(at)
        self._own(text, at)

    def copy(self, written: MappedText) -> None:
        """A paragraph copied from the file."""
        self._gap(written.origin.targets[0])
        self._copy(written, *_trimmed(written.text))

    def formula(self, written: MappedText, *, lead: str = "", lead_at: int = 0, is_by_lines: bool = False) -> None:
        """A displayed formula; by lines, each line of the string is a line of the formula."""
        first = written.origin.targets[0]
        self._gap(first)
        self._own("$$\n", first)
        if lead:
            self._own(lead, lead_at)
        begin, end = _trimmed(written.text)
        if is_by_lines:
            self._copy_lines(written, begin, end)
        else:
            self._copy(written, begin, end, is_flat=True)
        self._own("\n$$", self._signs[-1][1])

    def _gap(self, at: int) -> None:
        if self._signs:
            self._own(_GAP, at)

    def _own(self, text: str, at: int) -> None:
        self._signs += [(sign, at) for sign in text]

    def _copy(self, written: MappedText, begin: int, end: int, *, is_flat: bool = False) -> None:
        text = written.text.replace("\n", " ") if is_flat else written.text
        self._signs += [(text[place], written.origin.at(place)) for place in range(begin, end)]

    def _copy_lines(self, written: MappedText, begin: int, end: int) -> None:
        place, link = begin, ""
        for line in written.text[begin:end].splitlines(keepends=True):
            content = line.rstrip()
            if content:
                self._own(link, written.origin.at(place))
                self._copy(written, place, place + len(content))
                link = "\n" if content.endswith("\\\\") else " \\\\\n"
            place += len(line)


def _trimmed(text: str) -> tuple[int, int]:
    """Where the text begins and ends without the blanks around it."""
    return len(text) - len(text.lstrip()), len(text.rstrip())


# -- answers -----------------------------------------------------------------------------------------------------------
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
    written = composition.written
    document = read_text(written.text or "(no answers)", kind="markdown", path=path)
    placed = replace(document, origin=document.origin.onto(written.origin), stored_lines=places.line_starts)
    return Answers(document=placed, problem=problem)


def _table(source: str, path: str) -> dict[str, Any]:
    try:
        table = tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None
    if table.get("schema") != SCHEMA:
        raise InputError(
            f'{path} is not an answers file: it lacks the line schema = "{SCHEMA}". '
            f"`regard verify --new-answers {shipped_problems()[0]}` writes a template."
        )
    return table


def _named_problem(table: Mapping[str, Any], path: str) -> Problem:
    name = table.get("problem")
    if name not in shipped_problems():
        known = ", ".join(shipped_problems())
        raise InputError(
            f"{path} names the problem {name!r}, which is not a shipped one ({known}). Use --problem FILE."
        )
    return load_problem(name)


def _question(name: str, problem: Problem, path: str, places: TomlPlaces) -> Question:
    for question in problem.questions:
        if question.id == name:
            return question
    known = ", ".join(question.id for question in problem.questions)
    raise InputError(
        f"{path}:{places.line((name,))} answers '{name}', which {problem.name} does not ask. It asks: {known}."
    )


def _check_fields(question: Question, fields: Any, path: str, places: TomlPlaces) -> None:
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
    if choice and question.choice is not None and question.choice.value is None:
        known = [name.lower() for name in question.choice.options] or ["yes", "no"]
        if choice not in known:
            raise InputError(f"{where} the choice {choice!r} is neither {' nor '.join(map(repr, known))}.")


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


def _compose(composition: Composition, question: Question, fields: Mapping[str, Any], places: TomlPlaces) -> None:
    written = {field: places.strings.get((question.id, field)) for field in _FIELDS}
    designs = {symbol: places.strings[(question.id, "design", symbol)] for symbol in fields.get("design", {})}
    if not any(item and item.text.strip() for item in (*written.values(), *designs.values())):
        return
    composition.say(heading(question), at=places.keys[(question.id,)])
    if (choice := written["choice"]) and choice.text.strip():
        composition.say(f"{_phrase(question, choice.text.strip().lower())}.", at=choice.origin.targets[0])
    for symbol, formula in designs.items():
        if formula.text.strip():
            _compose_design(composition, symbol, formula, (question.id, "design", symbol), places)
    if (answer := written["answer"]) and answer.text.strip():
        _compose_answer(composition, answer)
    if (prose := written["prose"]) and prose.text.strip():
        composition.copy(prose)


def heading(question: Question) -> str:
    """The heading under which the reader recognises the question.

    >>> from regard.derivations.problems.problem import load_problem
    >>> heading(load_problem("cs224n-a4").question("1c.i"))
    '## 1.(c)(i) Drawbacks of single-headed attention: a query'
    """
    number, *parts = question.path or ("",)
    enumerator = f"{number}." + "".join(f"({part})" for part in parts if part.isalpha() and len(part) < 5)
    return f"## {enumerator if question.path else ''} {question.title}".replace("  ", " ")


def _phrase(question: Question, choice: str) -> str:
    """Words that the reader takes for this choice."""
    assert question.choice is not None
    if question.choice.value is not None:
        return choice
    options = {name.lower(): phrases for name, phrases in question.choice.options.items()}
    phrases = options.get(choice) or (question.choice.yes if choice == "yes" else question.choice.no)
    return choice if choice in phrases or not phrases else phrases[0]


def _compose_design(
    composition: Composition, symbol: str, formula: MappedText, path: KeyPath, places: TomlPlaces
) -> None:
    key = places.keys[path]
    text = formula.text.strip()
    if _DELIMITED.search(text) or re.match(rf"\s*{re.escape(latex_name(symbol))}\s*=", text):
        composition.formula(formula)
    else:
        composition.formula(formula, lead=f"{latex_name(symbol)} = ", lead_at=key)


def _compose_answer(composition: Composition, answer: MappedText) -> None:
    if _DELIMITED.search(answer.text):
        composition.copy(answer)
    else:
        composition.formula(answer, is_by_lines=True)


def latex_name(symbol: str) -> str:
    r"""A problem's symbol as LaTeX: `mu_a` is `\mu_a`, `X_perm` is `X_{perm}`."""
    base, _, script = symbol.partition("_")
    base = f"\\{base}" if f"\\{base}" in GREEK.values() else base
    return f"{base}_{{{script}}}" if len(script) > 1 else f"{base}_{script}" if script else base


# -- the template ------------------------------------------------------------------------------------------------------
def answers_template(problem: Problem) -> str:
    """The template as TOML that reads back as a file of empty answers."""
    head = f'schema = "{SCHEMA}"\nproblem = "{problem.name}"\n'
    return "\n".join([f"# Answers to {_one_line(problem.title)}", _HOW, head, *map(_block, problem.questions)])


def _block(question: Question) -> str:
    return "\n".join([*_lines(question), ""])


def _lines(question: Question) -> Iterator[str]:
    points = f" ({question.points:g} points)" if question.points else ""
    yield f"# {_one_line(question.title)}{points}"
    for given in question.given:
        yield f"#   given: {_one_line(given)}"
    if question.design:
        yield f"#   goal: {_one_line(question.design.goal)}"
    for identity in question.show:
        yield f"#   show: {_one_line(identity)}"
    yield f'["{question.id}"]'
    if question.choice:
        yield 'choice = ""'
    if question.design:
        yield from (f"design.{_key(symbol)} = ''" for symbol in question.design.symbols)
    yield "answer = '''\n'''"
    yield "prose = '''\n'''"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _key(symbol: str) -> str:
    is_bare = symbol.isascii() and symbol.replace("_", "").replace("-", "").isalnum()
    return symbol if is_bare else '"' + symbol.replace("\\", "\\\\").replace('"', '\\"') + '"'
