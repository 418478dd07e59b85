"""`regard verify`: the verdicts on the steps of written derivations."""

import os
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from regard.core.errors import InputError
from regard.derivations.jobs import Job, Order, Product, do_job, products
from regard.derivations.judged import JudgedDocument
from regard.derivations.keeper import Keeper
from regard.derivations.problems.answers import answers_template
from regard.derivations.problems.problem import load_problem
from regard.derivations.reading.files import KINDS, stored_bytes
from regard.derivations.reports import DocumentReport
from regard.derivations.tasks import ANSWERS, Assignment, Task, examine

Report = Callable[[int, int], None]
_TEXT = "<text>.md"


class Stopped(KeyboardInterrupt):
    """Ctrl-C in the middle of a batch; the message says what is done and how to go on."""


def verify(
    path_or_text: str | os.PathLike[str], problem: str | None = None, *, is_strict: bool = False, seed: int = 0
) -> DocumentReport:
    r"""The verdicts on the document in a file, or in a Markdown text, in this process and without a time limit.

    A string is a path if it is one line that ends like a document's name. Without a problem (a shipped one's name, or
    the path of a TOML file) it is guessed. Raises an InputError if there is nothing to read.

    >>> report = verify("1.(b) An average of two\n\nTake $q = k_a + k_b$.", "cs224n-a4")
    >>> report.verdicts[0].status, report.verdicts[0].counterexample
    ('refuted', 'at n = 10: each of the two weights is 0.2023, not 0.5')
    """
    assignment = Assignment.for_problem(problem, is_strict=is_strict, seed=seed)
    if isinstance(path_or_text, str) and not _is_path(path_or_text):
        content = path_or_text.encode("utf-8", "surrogatepass")
        return examine(Task(file=_TEXT, content=content, assignment=assignment))[0]
    path = Path(path_or_text)
    return examine(Task(file=str(path), content=stored_bytes(path), assignment=assignment))[0]


def _is_path(text: str) -> bool:
    return "\n" not in text and Path(text).suffix.lower() in (*KINDS, ANSWERS)


def judge_files(
    order: Order, keeper: Keeper, *, work: Callable[[Job], Product] = do_job, report: Report | None = None
) -> list[JudgedDocument]:
    """Judges every submission, files the results with the keeper, and gives the views if the order wants them.

    A single file that was named and cannot be read is an InputError; in a batch it is a report like any other.
    """
    report = report or (lambda _, __: None)
    total = len(order.submissions)
    views: dict[int, JudgedDocument] = {}
    report(0, total)
    try:
        for done, (number, product) in enumerate(products(order, keeper, work), start=1):
            if total == 1 and order.submissions[0].is_named and product.report.outcome == "unreadable":
                raise InputError(product.report.reason or "")
            keeper.file(number, product.report, product.page)
            if product.view is not None:
                views[number] = product.view
            report(done, total)
        keeper.finish()
    except KeyboardInterrupt:
        raise Stopped(keeper.how_to_go_on()) from None
    return [views[number] for number in sorted(views)]


def example() -> str:
    """An answer sheet with slips in it, to see what judging looks like."""
    return (resources.files("regard.derivations") / "examples" / "flawed-answers.md").read_text(encoding="utf-8")


def new_answers(problem: str) -> str:
    """A commented file of answers, ready to be filled in."""
    return answers_template(load_problem(problem))
