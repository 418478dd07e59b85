"""`regard.verify`: a document in, a report on its steps out."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from regard.core.errors import InputError
from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.judging_documents import judge_steps
from regard.derivations.context.placing import regions_of
from regard.derivations.context.questions import guess_problem, infer_problem
from regard.derivations.context.verdicts import choice_steps, formula_step, numbered, unclosed_steps
from regard.derivations.problems.problem import Problem, load_problem, parse_problem
from regard.derivations.reading.document import Document
from regard.derivations.reading.files import KINDS, declarations_beside, decoded, read_text, stored_bytes
from regard.derivations.reading.ignore_comments import IgnoreComment, ignore_comments
from regard.derivations.results import IGNORED, DocumentReport, PersonReason, StepVerdict
from regard.derivations.scoring import GradedStep, JudgedDocument
from regard.derivations.tasks import ANSWERS_SUFFIX, Assignment, DocumentTask

_NAME_OF_TEXT = "<text>.md"


def verify(
    path_or_text: str | os.PathLike[str], problem: str | None = None, *, is_strict: bool = False, seed: int = 0
) -> DocumentReport:
    r"""The verdicts on the document in a file, or in a Markdown text, in this process and without a time limit.

    Raises an InputError if there is nothing to read.

    Args:
        path_or_text: a path or a text; a string is a path if it is one line that ends like a document's name.
        problem: the name of a shipped problem or the path of a TOML file; guessed by default.
        is_strict: True to refute an = that holds only in the limit.
        seed: the seed of every random draw.

    >>> report = verify("1.(b) An average of two\n\nTake $q = k_a + k_b$.", "cs224n-a4")
    >>> report.verdicts[0].status, report.verdicts[0].counterexample
    ('refuted', 'at n = 10: each of the two weights is 0.2023, not 0.5')
    """
    assignment = Assignment.for_problem(problem, is_strict=is_strict, seed=seed)
    if isinstance(path_or_text, str) and not _is_path(path_or_text):
        content = path_or_text.encode("utf-8", "surrogatepass")
        return judge_task(DocumentTask(file=_NAME_OF_TEXT, content=content, assignment=assignment))
    path = Path(path_or_text)
    task = DocumentTask(
        file=str(path), content=stored_bytes(path), assignment=assignment, declarations=declarations_beside(path)
    )
    return judge_task(task)


def _is_path(text: str) -> bool:
    return "\n" not in text and Path(text).suffix.lower() in (*KINDS, ANSWERS_SUFFIX)


def judge_task(task: DocumentTask, *, has_questions: bool = True) -> DocumentReport:
    """The report on a file, or only the verdicts on its steps; raises an InputError if the file cannot be read."""
    start = time.perf_counter()
    document, named = _read(task)
    try:
        problem = named or guess_problem(document) or infer_problem(read_formulas(document))
        seeded = _with_seed(problem, task.assignment.seed)
        report = judge_document(document, seeded, is_strict=task.assignment.is_strict, has_questions=has_questions)
        report = _with_comments(report, list(ignore_comments(document)), is_graded=task.assignment.is_graded)
    except InputError as error:
        # A fault of the judge must not pass for a file that cannot be read.
        raise AssertionError(f"the judge gave up on {task.file}: {error}") from error
    verdicts = tuple(
        replace(
            verdict,
            seed=task.assignment.seed,
            reproduce=task.command(verdict.where.line if verdict.where else None),
            extent=document.extent(*verdict.span),
        )
        for verdict in report.verdicts
    )
    return replace(
        report, file=task.file, is_guessed=named is None, verdicts=verdicts, seconds=time.perf_counter() - start
    )


def judge_document(
    document: Document, problem: Problem, *, is_strict: bool = False, has_questions: bool = True
) -> DocumentReport:
    """The report on a document under a problem; `is_strict` refutes an = that holds only in the limit.

    Without `has_questions`, there is no row per question, which takes its time.
    """
    regions = regions_of(document, problem)
    items = judge_steps(document, problem, regions, is_strict=is_strict)
    found: list[GradedStep] = [(formula_step(document, item), item) for item in items]
    found += [(verdict, None) for verdict in choice_steps(document, problem, regions)]
    found += [(verdict, None) for verdict in unclosed_steps(document, regions)]
    found.sort(key=lambda step: step[0].span[0])
    verdicts = numbered([verdict for verdict, _ in found])
    steps = [(verdict, item) for verdict, (_, item) in zip(verdicts, found, strict=True)]
    judged = JudgedDocument(document=document, problem=problem, regions=regions, steps=steps)
    return DocumentReport(
        file=document.path,
        problem=problem.name,
        problem_title=problem.title,
        verdicts=verdicts,
        questions=judged.rows() if has_questions else (),
        images=judged.images,
        document=document,
    )


def _with_comments(report: DocumentReport, comments: Sequence[IgnoreComment], *, is_graded: bool) -> DocumentReport:
    """The report without what comments exempt; if the document is graded, with the questions flagged instead."""
    if not comments:
        return report
    exempt = {
        verdict.id: comment
        for comment in comments
        for verdict in report.verdicts
        if verdict.status in ("refuted", "undecided") and comment.exempted.holds(verdict.span[0])
    }
    if not is_graded:
        verdicts = (_ignored(step, exempt[step.id]) if step.id in exempt else step for step in report.verdicts)
        return replace(report, verdicts=tuple(verdicts))
    flagged = {verdict.question for verdict in report.verdicts if verdict.id in exempt}
    rows = (
        replace(row, reasons=(*row.reasons, PersonReason.IGNORED)) if row.id in flagged else row
        for row in report.questions
    )
    return replace(report, questions=tuple(rows), num_ineffective_comments=len(comments))


def _ignored(verdict: StepVerdict, comment: IgnoreComment) -> StepVerdict:
    """A step that a comment exempts; what was found of it is a note."""
    found = f"Without the comment: {verdict.status}" + (f". {verdict.reason}" if verdict.reason else "")
    return replace(
        verdict,
        status="undecided",
        outcome=IGNORED,
        reason=f"Ignored by a comment: {comment.reason}" if comment.reason else "Ignored by a comment",
        notes=(found, *verdict.notes),
        counterexample=None,
    )


def _read(task: DocumentTask) -> tuple[Document, Problem | None]:
    """The document, and the problem if it was given or the file names it."""
    suffix = PurePath(task.file).suffix.lower()
    assignment = task.assignment
    given = None
    if assignment.problem_text is not None:
        given = parse_problem(assignment.problem_text, assignment.problem_name or "problem.toml")
    text = decoded(task.content, task.file)
    if suffix == ANSWERS_SUFFIX:
        from regard.derivations.problems.answers import read_answers

        answers = read_answers(text, path=task.file, problem=given)
        return replace(answers.document, images_beside=task.images_beside), answers.problem
    if suffix not in KINDS:
        raise InputError(f"{task.file} has an unknown file type. Supported: {', '.join((*KINDS, ANSWERS_SUFFIX))}.")
    document = read_text(text, kind=KINDS[suffix], path=task.file)
    return replace(document, declarations=task.declarations, images_beside=task.images_beside), given


def _with_seed(problem: Problem, seed: int) -> Problem:
    """The problem with every symbol drawn from another seed; seed 0 leaves it as it is."""
    if seed == 0:
        return problem
    settings = {id(question.setting): replace(question.setting, seed=seed) for question in problem.questions}
    questions = tuple(replace(question, setting=settings[id(question.setting)]) for question in problem.questions)
    return replace(problem, questions=questions)


def example_answers() -> str:
    """An answer sheet with mistakes in it, to show what judging looks like."""
    return (Path(__file__).parent / "examples" / "flawed-answers.md").read_text(encoding="utf-8")


def new_answers(problem: str) -> str:
    """A commented file of answers, ready to be filled in."""
    from regard.derivations.problems.answers import answers_template

    return answers_template(load_problem(problem))
