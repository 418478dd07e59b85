"""Verdicts: what Regard decided about a statement, and the evidence."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Status = Literal["proved", "holds", "refuted", "undecided"]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a statement stands in a file.

    Args:
        file: the file's name.
        line: the line, counted from one.
        column: the column, counted from one.
        cell: the cell of a notebook, counted from one.
        cell_line: the line in that cell.

    >>> str(Place(file="answers.ipynb", line=12, column=9, cell=3, cell_line=2))
    'answers.ipynb cell 3, line 2'
    """

    file: str
    line: int
    column: int
    cell: int | None = None
    cell_line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.cell is None else f"{self.file} {self.in_words}"

    @property
    def in_words(self) -> str:
        """The place in its file, for a reader."""
        return f"line {self.line}" if self.cell is None else f"cell {self.cell}, line {self.cell_line}"

    def to_dict(self) -> dict[str, Any]:
        """The place as JSON-ready values; only a place in a notebook has a cell."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Extent:
    """The stretch of a file that a statement takes; lines and columns count from one, the last column is outside."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one method found about a statement.

    Args:
        status: what the method alone would decide.
        detail: what it found, in words.
        method: the method's name; a part of its work may leave it to be filled in.
        value: the number that it found.
        bound: a bound on the number's error.
        counterexample: an input for which the statement fails.
        is_of_smaller_case: True if the value belongs to fewer keys or a narrower layer than was asked for.
    """

    status: Status
    detail: str
    method: str = ""
    value: float | None = None
    bound: float | None = None
    counterexample: str | None = None
    is_of_smaller_case: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The evidence as JSON-ready values."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"route": row.pop("method"), **row}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A statement and what Regard decided about it; what does not apply is None.

    Args:
        id: the claim's id, the step's number in its question, or the law's name.
        statement: what was decided.
        status: `proved`, `holds`, `refuted` or `undecided`.
        outcome: the status in more detail.
        method: the methods that gave evidence.
        reason: what they found.
        domain: where the statement is meant to hold.
        assumes: the lemmas that a proof cites.
        value: the number that was found.
        bound: a bound on the number's error.
        probability: how sure a sampled verdict is.
        seed: the seed of all random draws.
        reproduce: a command that gives this verdict again.
        counterexample: an input for which a refuted statement fails.
        where: the statement's place in a file.
    """

    id: str
    statement: str
    status: Status
    outcome: str | None = None
    method: str | None = None
    reason: str | None = None
    domain: str | None = None
    assumes: tuple[str, ...] | None = None
    value: float | None = None
    bound: float | None = None
    probability: float | None = None
    seed: int | None = None
    reproduce: str | None = None
    counterexample: str | None = None
    where: Place | None = None

    def __post_init__(self) -> None:
        assert self.status in STATUSES, self.status

    @property
    def is_as_expected(self) -> bool:
        """True unless the statement was refuted."""
        return self.status != "refuted"

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-ready values, every field present, null where it does not apply."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        row["where"] = None if self.where is None else self.where.to_dict()
        row["assumes"] = None if self.assumes is None else list(self.assumes)
        return row


def count_statuses(verdicts: Iterable[Verdict]) -> Mapping[str, int]:
    """The number of verdicts with each status, zeros included."""
    tally = Counter(verdict.status for verdict in verdicts)
    return {status: tally[status] for status in STATUSES}
