"""What is kept of a judged file: its verdicts and question rows, as values that can travel and be stored."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from regard.core.verdict import Place, StepVerdict, count_statuses
from regard.derivations.sheet import QuestionRow

Outcome = Literal["judged", "unreadable", "timed out", "crashed"]


@dataclass(frozen=True, kw_only=True)
class DocumentReport:
    """The verdicts on one file in reading order, and a row for every question of its problem.

    A file that could not be judged has an `outcome` other than "judged", a `reason`, and one undecided verdict that
    says so.
    """

    file: str
    outcome: Outcome = "judged"
    reason: str | None = None
    problem: str | None = None
    is_guessed: bool = False
    verdicts: tuple[StepVerdict, ...] = ()
    questions: tuple[QuestionRow, ...] = ()
    seconds: float = 0.0

    @property
    def counts(self) -> Mapping[str, int]:
        """How many steps there are of each status; a file that could not be judged has none."""
        return count_statuses(self.verdicts if self.outcome == "judged" else ())

    @property
    def understood(self) -> float:
        """The share of steps that could be read; 0 for a file that could not be judged."""
        if self.outcome != "judged":
            return 0.0
        missed = sum(verdict.outcome == "not understood" for verdict in self.verdicts)
        return 1.0 - missed / max(len(self.verdicts), 1)

    @property
    def is_as_expected(self) -> bool:
        """True if the file was judged and nothing in it is refuted."""
        return self.outcome == "judged" and not self.counts["refuted"]

    @classmethod
    def failed(cls, file: str, outcome: Outcome, reason: str, *, seconds: float = 0.0) -> "DocumentReport":
        """The report on a file that could not be judged."""
        verdict = StepVerdict(
            id="document",
            statement="the document as a whole",
            status="undecided",
            outcome=outcome,
            reason=reason,
            where=Place(file=file, line=1, column=1),
            kind="step",
            source="",
        )
        return cls(file=file, outcome=outcome, reason=reason, verdicts=(verdict,), seconds=seconds)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready values."""
        row = {field.name: getattr(self, field.name) for field in fields(self)}
        row["verdicts"] = [verdict.to_dict() for verdict in self.verdicts]
        row["questions"] = [{**asdict(question), "claims": list(question.claims)} for question in self.questions]
        return row

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "DocumentReport":
        """The report that `to_dict` described."""
        verdicts = tuple(_verdict(item) for item in row["verdicts"])
        questions = tuple(QuestionRow(**{**item, "claims": tuple(item["claims"])}) for item in row["questions"])
        return cls(**{**row, "verdicts": verdicts, "questions": questions})


def only_line(report: DocumentReport, line: int) -> DocumentReport:
    """The report with only the verdicts on one line; a file that could not be judged keeps its own."""
    if report.outcome != "judged":
        return report
    kept = tuple(verdict for verdict in report.verdicts if verdict.where and verdict.where.line == line)
    return replace(report, verdicts=kept)


def _verdict(row: Mapping[str, Any]) -> StepVerdict:
    where, assumes = row["where"], row["assumes"]
    place = None if where is None else Place(**where)
    notes, assumptions = tuple(row["notes"]), None if assumes is None else tuple(assumes)
    return StepVerdict(**{**row, "where": place, "assumes": assumptions, "notes": notes})
