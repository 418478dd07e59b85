"""One file to be judged, packed so that it can be judged anywhere: its bytes, and the problem's text."""

import hashlib
import shlex
import time
from dataclasses import dataclass, replace
from pathlib import PurePath

from regard.core.errors import InputError
from regard.core.verdict import StepVerdict
from regard.derivations.context.questions import guess_problem
from regard.derivations.problems.answers import read_answers
from regard.derivations.problems.problem import Problem, parse_problem, problem_source
from regard.derivations.reading.document import Document
from regard.derivations.reading.files import KINDS, decoded, read_text
from regard.derivations.reports import DocumentReport
from regard.derivations.sheet import Sheet, SheetStep, judge_document

ANSWERS = ".toml"


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """How files are to be judged; `problem_text` is the TOML of the problem, None to guess it from each document."""

    problem_name: str | None = None
    problem_text: str | None = None
    is_strict: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"Seed {self.seed} is negative. Choose a seed of 0 or more.")

    @classmethod
    def for_problem(cls, name_or_path: str | None, *, is_strict: bool = False, seed: int = 0) -> "Assignment":
        """The assignment with the problem's text read in, and checked."""
        if name_or_path is None:
            return cls(is_strict=is_strict, seed=seed)
        text = problem_source(name_or_path)
        parse_problem(text, name_or_path)
        return cls(problem_name=name_or_path, problem_text=text, is_strict=is_strict, seed=seed)

    @property
    def problem(self) -> Problem | None:
        """The problem, unless it is to be guessed."""
        if self.problem_text is None:
            return None
        return parse_problem(self.problem_text, self.problem_name or "problem.toml")


@dataclass(frozen=True, kw_only=True)
class Task:
    """The bytes of one file, the name that its places shall carry, and how it is to be judged."""

    file: str
    content: bytes
    assignment: Assignment


def task_key(task: Task, version: str) -> str:
    """The same for two tasks exactly if their reports are the same."""
    assignment = task.assignment
    parts = (
        version,
        task.file,
        assignment.problem_name or "",
        assignment.problem_text or "",
        f"{assignment.is_strict} {assignment.seed}",
    )
    digest = hashlib.sha256()
    for part in (*(part.encode("utf-8", "surrogatepass") for part in parts), task.content):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def examine(task: Task) -> tuple[DocumentReport, Sheet]:
    """The report on a file, and the sheet that it comes from; raises an InputError if the file cannot be read."""
    start = time.perf_counter()
    document, named = _read(task)
    try:
        return _judged(task, document, named, start)
    except InputError as error:
        # Not the reader's fault: it must not pass for a file that cannot be read.
        raise AssertionError(f"the judge gave up on {task.file}: {error}") from error


def _judged(task: Task, document: Document, named: Problem | None, start: float) -> tuple[DocumentReport, Sheet]:
    problem = named or guess_problem(document)
    sheet = judge_document(document, _seeded(problem, task.assignment.seed), is_strict=task.assignment.is_strict)
    sheet = replace(sheet, steps=tuple(_signed(step, task) for step in sheet.steps))
    report = DocumentReport(
        file=task.file,
        problem=problem.name,
        is_guessed=named is None,
        verdicts=sheet.verdicts,
        questions=sheet.questions,
        seconds=time.perf_counter() - start,
    )
    return report, sheet


def _read(task: Task) -> tuple[Document, Problem | None]:
    """The document, and the problem if it was given or the file names it."""
    suffix = PurePath(task.file).suffix.lower()
    text = decoded(task.content, task.file)
    if suffix == ANSWERS:
        answers = read_answers(text, path=task.file, problem=task.assignment.problem)
        return answers.document, answers.problem
    if suffix not in KINDS:
        known = ", ".join((*KINDS, ANSWERS))
        raise InputError(f"{task.file} is of a kind that can't be read. The kinds that can: {known}.")
    return read_text(text, kind=KINDS[suffix], path=task.file), task.assignment.problem


def _seeded(problem: Problem, seed: int) -> Problem:
    """The problem with every symbol drawn from another seed; seed 0 leaves it as it is."""
    if seed == 0:
        return problem
    settings = {id(question.setting): replace(question.setting, seed=seed) for question in problem.questions}
    questions = tuple(replace(question, setting=settings[id(question.setting)]) for question in problem.questions)
    return replace(problem, questions=questions)


def _signed(step: SheetStep, task: Task) -> SheetStep:
    """The step with the seed it was judged from and the command that judges it again."""
    return replace(
        step, verdict=replace(step.verdict, seed=task.assignment.seed, reproduce=_command(task, step.verdict))
    )


def _command(task: Task, verdict: StepVerdict) -> str:
    """A command line that gives this verdict again."""
    words = ["regard", "verify", f"./{task.file}" if task.file.startswith("-") else task.file]
    if task.assignment.problem_name:
        words += ["--problem", task.assignment.problem_name]
    words += ["--strict"] if task.assignment.is_strict else []
    words += ["--seed", str(task.assignment.seed)] if task.assignment.seed else []
    return shlex.join([*words, *(["--line", str(verdict.where.line)] if verdict.where else [])])
