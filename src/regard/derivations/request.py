"""What a command line asks of `regard verify`, checked and turned into an order."""

from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import InputError
from regard.core.worker_pool import PoolLimits
from regard.derivations.jobs import Order
from regard.derivations.keeper import Destinations, Keeper
from regard.derivations.submissions import Submission, find_submissions
from regard.derivations.tasks import Assignment

_FEW = 8


@dataclass(frozen=True, kw_only=True)
class Request:
    """The arguments as they were typed."""

    paths: tuple[str, ...]
    problem: str | None = None
    json_file: str | None = None
    html: str | None = None
    gradescope: str | None = None
    csv_file: str | None = None
    is_strict: bool = False
    jobs: int = 1
    time_limit: float = 60.0
    is_resumed: bool = False
    scheduler: str | None = None
    line: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.line is not None and self.line < 1:
            raise InputError(f"There is no line {self.line}. Lines count from 1.")

    def submissions(self) -> tuple[Submission, ...]:
        """The files that the paths stand for."""
        return find_submissions(self.paths)

    def order(self, submissions: tuple[Submission, ...]) -> Order:
        """The order for these submissions; diagnostics are for a few documents, and not for those of an earlier run."""
        return Order(
            submissions=submissions,
            assignment=Assignment.for_problem(self.problem, is_strict=self.is_strict, seed=self.seed),
            limits=PoolLimits(jobs=min(self.jobs, max(len(submissions), 1)), seconds=self.time_limit),
            scheduler=self.scheduler,
            line=self.line,
            are_views_wanted=len(submissions) <= _FEW and not self.is_resumed and self.json_file != "-",
            are_pages_wanted=self.html is not None,
        )

    def keeper(self, submissions: tuple[Submission, ...]) -> Keeper:
        """The keeper of the results."""
        destinations = Destinations(
            json=_path(None if self.json_file == "-" else self.json_file),
            csv=_path(self.csv_file),
            gradescope=_path(self.gradescope),
            html=_path(self.html),
        )
        return Keeper(destinations, submissions, is_resumed=self.is_resumed, line=self.line)


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
