"""Problem files in a terminal: a list of them, one in detail, and everything that is wrong with one."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from rich.console import Console
from rich.text import Text

from regard.core.catalog import entry_names
from regard.core.errors import InputError
from regard.core.verdict import Status
from regard.derivations.context.questions import opened_by
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.problems.answers import heading, latex_name
from regard.derivations.problems.checking import ancestors, find_faults
from regard.derivations.problems.problem import (
    Problem,
    Question,
    load_problem,
    parse_problem,
    problem_source,
    shipped_problems,
)
from regard.derivations.problems.toml_places import KeyPath, find_places
from regard.derivations.reading.files import read_text
from regard.derivations.report import plural
from regard.derivations.verify import judge_document
from regard.render.terminal import ALARM, say, spelled


def show_problems(console: Console) -> None:
    """Prints a line per shipped problem."""
    problems = [load_problem(name) for name in shipped_problems()]
    width = max(len(problem.name) for problem in problems)
    for problem in problems:
        points = sum(question.points for question in problem.questions)
        size = f"{plural(len(problem.questions), 'question')}, {plural(points, 'point')}"
        say(console, f"{problem.title} ({size})", lead=Text(problem.name.ljust(width + 2), style="green"))


def new_problem(original: str | None = None) -> str:
    """A commented problem to start from, or a copy of another."""
    if original is not None:
        return problem_source(original)
    return resources.files("regard.derivations.problems").joinpath("template.toml").read_text(encoding="utf-8")


# -- one problem -------------------------------------------------------------------------------------------------------
def show_problem(console: Console, name_or_path: str) -> None:
    """Prints the questions of a problem, then the symbols of each setting that they use."""
    problem = load_problem(name_or_path)
    say(console, f"{problem.name}: {problem.title}", style="bold")
    if problem.source:
        say(console, problem.source, style="dim")
    for question in problem.questions:
        console.print()
        points = f"  ({plural(question.points, 'point')})" if question.points else ""
        say(console, f"{question.title}{points}", lead=Text(f"{question.id}  ", style="green"))
        for text in (*_asked(question), *(f"given: {text}" for text in question.given)):
            say(console, text, indent=6)
        claims = f"; claims: {', '.join(question.claims)}" if question.claims else ""
        say(console, f"symbols: {question.setting.name}{claims}", style="dim", indent=6)
    written = tomllib.loads(problem_source(name_or_path))["settings"]
    for setting in {question.setting.name: question.setting for question in problem.questions}.values():
        console.print()
        say(console, f"Symbols of {setting.name}", style="bold")
        width = max(map(len, setting.symbols), default=0)
        for name, symbol in setting.symbols.items():
            meaning = _meaning(symbol, _formula(name, setting.name, written))
            say(console, meaning, lead=Text(f"  {name.ljust(width + 2)}"))


def _asked(question: Question) -> Iterator[str]:
    yield from (f"show: {identity}" for identity in question.show)
    yield from (f"reach: {' or '.join(step.any_of)}" for step in question.required)
    if question.design:
        yield f"choose {', '.join(question.design.symbols)} such that {question.design.goal}"
    if question.choice:
        yield "a number" if question.choice.value is not None else " or ".join(question.choice.options or ("yes", "no"))


def _formula(key: str, setting: str, settings: Mapping[str, Any]) -> str | None:
    """The formula of a symbol as the file writes it, in the setting itself or the nearest that it extends."""
    for name in ancestors(setting, settings) or ():
        row = settings[name].get("symbols", {}).get(key)
        if row is not None:
            return row.get("is")
    return None


def _meaning(symbol: SymbolMeaning, formula: str | None) -> str:
    rows, columns = symbol.shape
    if (rows, columns) == ("1", "1"):
        shape = "a number"
    else:
        shape = f"{rows} numbers" if columns == "1" else f"{rows} × {columns}"
    parts = [formula] if formula else [shape, *symbol.assume]
    if symbol.over:
        parts.insert(0, f"for each {symbol.index} of {symbol.over}")
    if symbol.tends:
        parts.append(f"tends to {symbol.tends}")
    if symbol.variance is not None:
        parts.append(f"random, mean {symbol.mean:g}, variance {symbol.variance:g}")
    return ", ".join(parts)


# -- checking ----------------------------------------------------------------------------------------------------------
def check_problem(path: str) -> list[tuple[int | None, str]]:
    """Everything that is wrong with a problem file, each with its line; last, whether its own solutions are right."""
    source = problem_source(path)
    try:
        table = tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return [(None, f"Not valid TOML: {error}.")]
    places = find_places(source)
    faults = [(fault.path, fault.message) for fault in find_faults(table)]
    if not faults:
        try:
            problem = parse_problem(source, path)
        except InputError as error:
            return [(None, str(error))]
        faults = [*_unknown_claims(problem), *_misread_headings(problem), *_missed_goals(problem)]
    located = [(places.line(place), message) for place, message in faults]
    return sorted(located, key=lambda fault: fault[0] or 0)


def show_faults(console: Console, file: str, faults: Sequence[tuple[int | None, str]]) -> None:
    """Prints one unwrapped line per fault, as compilers do, or that there are none."""
    for line, message in faults:
        place = f"{file}:{line}: " if line else f"{file}: "
        console.print(Text(spelled(f"{place}{message}", console.encoding), style=ALARM), soft_wrap=True)
    if not faults:
        console.print(Text(spelled(f"{file}: no problems found", console.encoding), style="green"), soft_wrap=True)


def _unknown_claims(problem: Problem) -> Iterator[tuple[KeyPath, str]]:
    known = {name.replace("_", "-") for name in entry_names("regard.claims.catalog")}
    for number, question in enumerate(problem.questions):
        for index, claim in enumerate(question.claims):
            if claim not in known:
                message = f"There is no claim '{claim}'. `regard claims --list` lists all claims."
                yield ("questions", number, "claims", index), message


def _misread_headings(problem: Problem) -> Iterator[tuple[KeyPath, str]]:
    for number, question in enumerate(problem.questions):
        line = heading(question)
        found = opened_by(line, problem)
        if found is not question:
            opened = f"opens '{found.id}'" if found else "opens no question"
            yield ("questions", number, "title"), f"The heading '{line.strip('# ')}' {opened}, not '{question.id}'."


def _missed_goals(problem: Problem) -> Iterator[tuple[KeyPath, str]]:
    """The solutions that do not reach their goal, and the identities to show that do not hold."""
    for number, question in enumerate(problem.questions):
        for index, solution in enumerate(question.design.solutions if question.design else ()):
            formulas = [f"{latex_name(symbol)} = {formula}" for symbol, formula in solution.items()]
            path: KeyPath = ("questions", number, "design", "solutions", index)
            yield from ((path, f"The solution {fault}") for fault in _unproved(problem, question, formulas))
        for index, identity in enumerate(question.show):
            path = ("questions", number, "show", index)
            yield from ((path, f"The identity {fault}") for fault in _unproved(problem, question, [identity]))
        for index, way in ((k, way) for k, step in enumerate(question.required) for way in step.any_of):
            path = ("questions", number, "required", index, "any_of")
            faults = _unproved(problem, question, [way], statuses=("refuted",))
            yield from ((path, f"The required step {fault}") for fault in faults)


def _unproved(
    problem: Problem, question: Question, formulas: list[str], statuses: Sequence[Status] = ("refuted", "undecided")
) -> Iterator[str]:
    text = "\n\n".join([heading(question), *(f"$${formula}$$" for formula in formulas)])
    for verdict in judge_document(read_text(text), problem).verdicts:
        if verdict.status in statuses:
            yield f"{verdict.statement} is {verdict.status}: {verdict.reason}. {verdict.counterexample or ''}".strip()
