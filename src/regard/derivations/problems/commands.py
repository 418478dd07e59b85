"""`regard problems`: what there is to answer, laid open, begun and checked."""

import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from regard.core.catalog import entry_names
from regard.core.errors import InputError
from regard.derivations.context.questions import opened_by
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.problems.answers import heading, latex_name
from regard.derivations.problems.checking import ancestors, find_faults
from regard.derivations.problems.pages import Complaint, ProblemEntry, ProblemPage, QuestionEntry, SymbolEntry
from regard.derivations.problems.problem import (
    Problem,
    Question,
    load_problem,
    parse_problem,
    problem_source,
    shipped_problems,
)
from regard.derivations.problems.toml_places import KeyPath, TomlPlaces, find_places
from regard.derivations.reading import read_text
from regard.derivations.sheet import judge_document


def list_problems() -> list[ProblemEntry]:
    """The problems that come with Regard."""
    problems = map(load_problem, shipped_problems())
    return [
        ProblemEntry(
            name=problem.name,
            title=problem.title,
            num_questions=len(problem.questions),
            points=sum(question.points for question in problem.questions),
        )
        for problem in problems
    ]


def show_problem(name_or_path: str) -> ProblemPage:
    """What a problem asks, and what its symbols mean."""
    problem = load_problem(name_or_path)
    settings = {question.setting.name: question.setting for question in problem.questions}
    written = tomllib.loads(problem_source(name_or_path))["settings"]
    return ProblemPage(
        name=problem.name,
        title=problem.title,
        source=problem.source,
        questions=tuple(map(_question_entry, problem.questions)),
        settings=tuple(
            (
                name,
                tuple(
                    SymbolEntry(name=key, meaning=_meaning(symbol, _formula(key, name, written)))
                    for key, symbol in setting.symbols.items()
                ),
            )
            for name, setting in settings.items()
        ),
    )


def new_problem(original: str | None = None) -> str:
    """A commented problem to start from, or a copy of another."""
    if original is not None:
        return problem_source(original)
    return resources.files("regard.derivations.problems").joinpath("template.toml").read_text(encoding="utf-8")


def check_problem(path: str) -> list[Complaint]:
    """Everything that is wrong with a problem file; last, whether its own solutions are judged right."""
    source = problem_source(path)
    try:
        table = tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return [Complaint(line=None, message=f"It is not valid TOML: {error}.")]
    places = find_places(source)
    faults = [(fault.path, fault.message) for fault in find_faults(table)]
    if not faults:
        try:
            problem = parse_problem(source, path)
        except InputError as error:
            return [Complaint(line=None, message=str(error))]
        faults = [*_unknown_claims(problem), *_unheard_headings(problem), *_unreached_goals(problem)]
    return sorted((_complaint(places, *fault) for fault in faults), key=lambda complaint: complaint.line or 0)


def _complaint(places: TomlPlaces, path: KeyPath, message: str) -> Complaint:
    return Complaint(line=places.line(path), message=message)


def _question_entry(question: Question) -> QuestionEntry:
    asks = [f"show: {identity}" for identity in question.show]
    if question.design:
        asks.append(f"choose {', '.join(question.design.symbols)} such that {question.design.goal}")
    if question.choice:
        asks.append("yes or no")
    return QuestionEntry(
        id=question.id,
        title=question.title,
        setting=question.setting.name,
        points=question.points,
        asks=tuple(asks),
        given=question.given,
        claims=question.claims,
    )


def _formula(key: str, setting: str, settings: Mapping[str, Any]) -> str | None:
    """The formula of a symbol as the file writes it, in the setting itself or the nearest that it extends."""
    for name in ancestors(setting, settings) or ():
        row = settings[name].get("symbols", {}).get(key)
        if row is not None:
            return row.get("is")
    return None


def _meaning(symbol: SymbolMeaning, formula: str | None) -> str:
    rows, columns = symbol.shape
    shape = (
        "a number" if (rows, columns) == ("1", "1") else f"{rows} numbers" if columns == "1" else f"{rows} × {columns}"
    )
    parts = [formula] if formula else [shape, *symbol.assume]
    if symbol.over:
        parts.insert(0, f"for each {symbol.index} of {symbol.over}")
    if symbol.tends:
        parts.append(f"tends to {symbol.tends}")
    if symbol.variance is not None:
        parts.append(f"random, mean {symbol.mean:g}, variance {symbol.variance:g}")
    return ", ".join(parts)


def _unknown_claims(problem: Problem) -> Iterator[tuple[KeyPath, str]]:
    known = {name.replace("_", "-") for name in entry_names("regard.claims.catalog")}
    for number, question in enumerate(problem.questions):
        for index, claim in enumerate(question.claims):
            if claim not in known:
                message = f"There is no claim '{claim}'. `regard claims --list` shows every claim."
                yield ("questions", number, "claims", index), message


def _unheard_headings(problem: Problem) -> Iterator[tuple[KeyPath, str]]:
    for number, question in enumerate(problem.questions):
        line = heading(question)
        found = opened_by(line, problem)
        if found is not question:
            heard = f"opens '{found.id}'" if found else "opens no question"
            yield ("questions", number, "title"), f"The heading '{line.strip('# ')}' {heard}, not '{question.id}'."


def _unreached_goals(problem: Problem) -> Iterator[tuple[KeyPath, str]]:
    """The solutions that do not reach their goal, and the identities to show that are not so."""
    for number, question in enumerate(problem.questions):
        for index, solution in enumerate(question.design.solutions if question.design else ()):
            formulas = [f"{latex_name(symbol)} = {formula}" for symbol, formula in solution.items()]
            path: KeyPath = ("questions", number, "design", "solutions", index)
            yield from ((path, f"The solution {said}") for said in _objections(problem, question, formulas))
        for index, identity in enumerate(question.show):
            path = ("questions", number, "show", index)
            yield from ((path, f"The identity {said}") for said in _objections(problem, question, [identity]))


def _objections(problem: Problem, question: Question, formulas: list[str]) -> Iterator[str]:
    text = "\n\n".join([heading(question), *(f"$${formula}$$" for formula in formulas)])
    for verdict in judge_document(read_text(text), problem).verdicts:
        if verdict.status in ("refuted", "undecided"):
            yield f"{verdict.statement} is {verdict.status}: {verdict.reason}. {verdict.counterexample or ''}".strip()
