"""Submissions as jobs that any process can do, and what comes of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from regard import __version__
from regard.core.errors import InputError
from regard.core.processes import Ended
from regard.core.worker_pool import PoolLimits, run_tasks
from regard.derivations.judged import JudgedDocument
from regard.derivations.keeper import Keeper
from regard.derivations.reading.files import stored_bytes
from regard.derivations.reports import DocumentReport
from regard.derivations.submissions import Submission
from regard.derivations.tasks import Assignment, Task, examine, task_key
from regard.derivations.views import view_of


@dataclass(frozen=True, kw_only=True)
class Order:
    """What to judge, and how; `line` keeps only the steps of one line, `scheduler` is the address of a Dask cluster."""

    submissions: Sequence[Submission]
    assignment: Assignment
    limits: PoolLimits = field(default_factory=PoolLimits)
    scheduler: str | None = None
    line: int | None = None
    are_views_wanted: bool = True
    are_pages_wanted: bool = False


@dataclass(frozen=True, kw_only=True)
class Job:
    """A task, and what is to be made of its sheet besides the report."""

    number: int
    task: Task
    is_page_wanted: bool = False
    is_view_wanted: bool = False
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class Product:
    """What comes of a job: always a report; a view for the terminal and an HTML page if they were asked for."""

    report: DocumentReport
    view: JudgedDocument | None = None
    page: str | None = None


def do_job(job: Job) -> Product:
    """Runs in a process of its own. A file that cannot be read is a report that says so."""
    try:
        report, sheet = examine(job.task)
    except InputError as error:
        return Product(report=DocumentReport.failed(job.task.file, "unreadable", str(error)))
    page = None
    if job.is_page_wanted:
        from regard.derivations.document_page import render_document

        page = render_document(view_of(sheet))
    return Product(report=report, view=view_of(sheet, line=job.line) if job.is_view_wanted else None, page=page)


def products(order: Order, keeper: Keeper, work: Callable[[Job], Product] = do_job) -> Iterator[tuple[int, Product]]:
    """The product of every submission, by its number, as they come in."""
    desk = _Desk(order, keeper)
    for job, result in _worked_off(order, desk, work):
        yield from desk.cleared()
        if isinstance(result, Ended):
            failed = DocumentReport.failed(job.task.file, result.outcome, f"{job.task.file}: {result.reason}")
            yield job.number, Product(report=failed)
        else:
            yield job.number, result
    yield from desk.cleared()


def _worked_off(order: Order, desk: "_Desk", work: Callable[[Job], Product]) -> Iterator[tuple[Job, Product | Ended]]:
    if order.scheduler is None:
        return run_tasks(desk.jobs(), work, order.limits)
    from regard.core.dask_cluster import run_on_cluster

    return run_on_cluster(desk.jobs(), work, order.limits, order.scheduler)


class _Desk:
    """Reads submissions as jobs are asked for, and sets aside those that need no work."""

    def __init__(self, order: Order, keeper: Keeper) -> None:
        self._order = order
        self._keeper = keeper
        self._aside: list[tuple[int, Product]] = []

    def jobs(self) -> Iterator[Job]:
        """The submissions that need work."""
        order = self._order
        for number, submission in enumerate(order.submissions):
            try:
                content = stored_bytes(submission.path)
            except InputError as error:
                self._set_aside(number, DocumentReport.failed(submission.file, "unreadable", str(error)))
                continue
            task = Task(file=submission.file, content=content, assignment=order.assignment)
            kept = self._keeper.kept(number, task_key(task, __version__))
            if kept is not None:
                self._set_aside(number, kept)
                continue
            yield Job(
                number=number,
                task=task,
                is_page_wanted=order.are_pages_wanted,
                is_view_wanted=order.are_views_wanted,
                line=order.line,
            )

    def cleared(self) -> Iterator[tuple[int, Product]]:
        """What was set aside since the last call."""
        aside, self._aside = self._aside, []
        yield from aside

    def _set_aside(self, number: int, report: DocumentReport) -> None:
        self._aside.append((number, Product(report=report)))
