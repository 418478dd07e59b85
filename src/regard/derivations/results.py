"""The results of judging a document: a verdict per step, a row per question, and one report that holds them all."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Literal, Self, get_args

from regard.core.verdict import Extent, Place, Verdict, count_statuses
from regard.derivations.reading.document import Document

StepKind = Literal["step", "design", "definition", "given", "supposition", "choice"]
Standing = Literal["refuted", "undecided", "ignored", "holds", "proved", "given"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
QuestionState = Literal["judged", "prose, not judged", "image, not read", "unanswered"]
DocumentOutcome = Literal["judged", "unreadable", "timed out", "crashed"]
PartKind = Literal["step", "design", "choice", "words"]
PartOutcome = Literal["reached", "only stated", "open", "after a refuted step", "refuted", "missing"]
INFERRED = "inferred"  # the name of a problem that was made from the document's own symbols
IGNORED = "ignored"  # the outcome of a step that a comment exempts
_ASSERTS_NOTHING = ("given", "definition", "supposition")


class Role(StrEnum):
    """What a relation does in its document. Only assertions, designs and choices claim something."""

    ASSERTION = "assertion"
    DESIGN = "design"
    CHOICE = "choice"
    GIVEN = "given"
    DECLARATION = "declaration"
    DEFINITION = "definition"
    SUPPOSITION = "supposition"
    WANTED = "wanted"
    POSSIBILITY = "possibility"
    DENIAL = "denial"
    EVENT = "event"
    INDEX = "index condition"
    STRUCK = "struck out"

    @property
    def is_claim(self) -> bool:
        """True if a relation in this role can be refuted."""
        return self in _CLAIMS

    @property
    def kind(self) -> StepKind:
        """The coarser kind that the role belongs to."""
        return _KINDS.get(self, "supposition")


_CLAIMS = (Role.ASSERTION, Role.DESIGN, Role.CHOICE)
_KINDS: Mapping[Role, StepKind] = {
    Role.ASSERTION: "step",
    Role.DESIGN: "design",
    Role.CHOICE: "choice",
    Role.GIVEN: "given",
    Role.DECLARATION: "definition",
    Role.DEFINITION: "definition",
}


@dataclass(frozen=True, kw_only=True)
class StepVerdict(Verdict):
    """The verdict on one step of a written derivation.

    Args:
        role: what the relation does in its document.
        source: the mathematics as written.
        question: the question that it belongs to; None if it stands outside the problem's questions.
        notes: how the step was read.
        span: the stretch of the document's text that the verdict is about; it is not written to JSON.
        extent: the same in lines and columns of the file.
    """

    role: Role
    source: str
    question: str | None = None
    notes: tuple[str, ...] = ()
    extent: Extent | None = None
    span: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)

    @property
    def kind(self) -> StepKind:
        """The kind of statement, coarser than its role."""
        return self.role.kind

    @property
    def standing(self) -> Standing:
        """The status, but `ignored` for what a comment exempts, and `given` for what asserts nothing."""
        if self.is_ignored:
            return "ignored"
        if self.status in ("holds", "proved") and self.kind in _ASSERTS_NOTHING:
            return "given"
        return self.status

    @property
    def is_ignored(self) -> bool:
        """True if the step would need attention, but a comment exempts it."""
        return self.outcome == IGNORED

    @property
    def is_doubtful(self) -> bool:
        """True if the step looks wrong, but only under a reading that is not certain."""
        return self.outcome == "doubtful"

    def to_dict(self) -> dict[str, Any]:
        """Every field as a JSON-ready value, without the span."""
        row = {name: list(value) if isinstance(value, tuple) else value for name, value in super().to_dict().items()}
        del row["span"]
        return {**row, "extent": None if self.extent is None else asdict(self.extent), "kind": self.kind}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """The verdict that `to_dict` wrote, without its span."""
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
        del values["kind"]
        where = None if row["where"] is None else Place(**row["where"])
        extent = None if row["extent"] is None else Extent(**row["extent"])
        return cls(**{**values, "where": where, "extent": extent, "role": Role(row["role"])})


def count_standings(verdicts: Iterable[StepVerdict]) -> Mapping[Standing, int]:
    """The number of steps of each standing; all of them are always present."""
    counts = Counter(verdict.standing for verdict in verdicts)
    return {standing: counts[standing] for standing in STANDINGS}


def worst_standing(verdicts: Iterable[StepVerdict]) -> Standing:
    """The standing that a reader should see first; `given` if there are no steps."""
    found = {verdict.standing for verdict in verdicts}
    for standing in STANDINGS:
        if standing in found:
            return standing
    return "given"


class PersonReason(StrEnum):
    """Why a person must look at an answer."""

    WORDS = "words"
    IMAGE = "image"
    UNREAD = "unread formulas"
    UNDECIDED = "undecided steps"
    HIDDEN = "hidden text"
    REDEFINED = "redefined symbols"
    SEVERAL = "several answers"
    HEADING = "another heading"
    TRIED = "only tried"
    LANGUAGE = "unknown language"
    FILE = "unreadable file"
    IGNORED = "ignore comments"


class Placed(StrEnum):
    """How an answer was assigned to its question."""

    BY_HEADING = "heading"
    BY_FORMULAS = "formulas"
    NOWHERE = "nowhere"


@dataclass(frozen=True, kw_only=True)
class GradedPart:
    """One thing that a question asks for: what it is worth, what it earned for certain, and what a person may add.

    `asked` is LaTeX or words, `step` the id of the verdict that decided it.
    """

    kind: PartKind
    asked: str
    points: float
    score: float = 0.0
    pending: float = 0.0
    outcome: PartOutcome = "missing"
    step: str | None = None


@dataclass(frozen=True, kw_only=True)
class QuestionRow:
    """The result of one question.

    Args:
        id: the question, such as "1c.ii".
        title: its title in the problem.
        state: whether it was judged, and if not, why.
        points: what it is worth: nothing if it is optional and unanswered.
        score: the points that are certain.
        pending: what a person may add to them.
        parts: what its points are for, and what each part earned.
        reasons: why a person must look.
        placed: how the answer was assigned to the question.
        counts: the number of steps of each status.
        claims: the claims of the catalog that bear on it.
    """

    id: str
    title: str
    state: QuestionState
    points: float = 0.0
    score: float = 0.0
    pending: float = 0.0
    parts: tuple[GradedPart, ...] = ()
    reasons: tuple[PersonReason, ...] = ()
    placed: Placed = Placed.NOWHERE
    counts: Mapping[str, int] = field(default_factory=dict)
    claims: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Every field as a JSON-ready value."""
        row = {item.name: getattr(self, item.name) for item in fields(self)}
        lists = {"reasons": list(self.reasons), "claims": list(self.claims), "counts": dict(self.counts)}
        return {**row, **lists, "parts": [asdict(part) for part in self.parts]}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """The row that `to_dict` wrote."""
        read = {
            "parts": tuple(GradedPart(**part) for part in row["parts"]),
            "reasons": tuple(map(PersonReason, row["reasons"])),
            "placed": Placed(row["placed"]),
            "claims": tuple(row["claims"]),
        }
        return cls(**{**row, **read})


@dataclass(frozen=True, kw_only=True)
class SubmittedFile:
    """A file of a submission and what became of it; `num_steps` is how many steps it has."""

    name: str
    outcome: DocumentOutcome | Literal["ignored"]
    reason: str | None = None
    num_steps: int = 0


@dataclass(frozen=True, kw_only=True)
class DocumentReport:
    """The verdicts on one file in reading order, and a row for every question of its problem.

    A file that could not be judged has one undecided verdict that says so.

    Args:
        file: the file's name.
        outcome: whether it was judged, and if not, why.
        reason: the same in words, for a file that was not judged.
        problem: the problem that it was judged by.
        problem_title: that problem's title.
        is_guessed: True if the problem was guessed.
        verdicts: one per step, in reading order.
        questions: one row per question of the problem.
        seconds: how long it took.
        files: the files of a submission that has several.
        num_ineffective_comments: how many comments ask to ignore a step of a document that is graded.
        images: the pictures in it or beside it, and where they are; none is read.
        document: the text that was judged, which the spans of the verdicts refer to; `to_dict` omits it.
    """

    file: str
    outcome: DocumentOutcome = "judged"
    reason: str | None = None
    problem: str | None = None
    problem_title: str = ""
    is_guessed: bool = False
    verdicts: tuple[StepVerdict, ...] = ()
    questions: tuple[QuestionRow, ...] = ()
    seconds: float = 0.0
    files: tuple[SubmittedFile, ...] = ()
    num_ineffective_comments: int = 0
    images: tuple[str, ...] = ()
    document: Document | None = field(default=None, compare=False, repr=False)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of steps of each status, without ignored ones; a file that could not be judged has none."""
        return count_statuses(
            verdict for verdict in self.verdicts if self.outcome == "judged" and not verdict.is_ignored
        )

    @property
    def num_ignored(self) -> int:
        """The number of steps that would need attention, but for a comment."""
        return sum(verdict.is_ignored for verdict in self.verdicts)

    @property
    def understood(self) -> float | None:
        """The share of claims that could be read; None if there are none, 0 for a file that could not be judged."""
        if self.outcome != "judged":
            return 0.0
        claims = [verdict for verdict in self.verdicts if verdict.role.is_claim and not verdict.is_ignored]
        missed = sum(verdict.outcome == "not understood" for verdict in claims)
        return 1.0 - missed / len(claims) if claims else None

    @property
    def is_as_expected(self) -> bool:
        """True if the file was judged and nothing in it is refuted."""
        return self.outcome == "judged" and not self.counts["refuted"]

    @property
    def score(self) -> float:
        """The points that are certain."""
        return round(sum(row.score for row in self.questions), 2)

    @property
    def pending(self) -> float:
        """The points that a person may add."""
        return round(sum(row.pending for row in self.questions), 2)

    @property
    def max_score(self) -> float:
        """The points of all questions."""
        return round(sum(row.points for row in self.questions), 2)

    @property
    def needs_person(self) -> bool:
        """True if a person must look at the document: it could not be judged, or an answer was not fully graded."""
        return self.outcome != "judged" or any(row.reasons for row in self.questions)

    def verdicts_on(self, question: str) -> tuple[StepVerdict, ...]:
        """The verdicts that belong to a question."""
        return tuple(verdict for verdict in self.verdicts if verdict.question == question)

    def on_line(self, line: int | None) -> "DocumentReport":
        """The report with only the verdicts on one line, if a line is given and the file was judged."""
        if line is None or self.outcome != "judged":
            return self
        kept = tuple(verdict for verdict in self.verdicts if verdict.where and verdict.where.line == line)
        return replace(self, verdicts=kept)

    @classmethod
    def failed(cls, file: str, outcome: DocumentOutcome, reason: str) -> "DocumentReport":
        """The report on a file that could not be judged."""
        verdict = StepVerdict(
            id="document",
            statement="the document as a whole",
            status="undecided",
            outcome=outcome,
            reason=reason,
            where=Place(file=file, line=1, column=1),
            role=Role.ASSERTION,
            source="",
        )
        return cls(file=file, outcome=outcome, reason=reason, verdicts=(verdict,))

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready values, without the document."""
        row = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "document"}
        row["verdicts"] = [verdict.to_dict() for verdict in self.verdicts]
        row["questions"] = [question.to_dict() for question in self.questions]
        row["files"] = [asdict(file) for file in self.files]
        row["images"] = list(self.images)
        return row

    def _repr_html_(self) -> str:
        from regard.derivations.report.page import document_frame

        return document_frame(self)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "DocumentReport":
        """The report that `to_dict` wrote."""
        verdicts = tuple(map(StepVerdict.from_dict, row["verdicts"]))
        questions = tuple(map(QuestionRow.from_dict, row["questions"]))
        files = tuple(SubmittedFile(**file) for file in row["files"])
        images = tuple(row["images"])
        return cls(**{**row, "verdicts": verdicts, "questions": questions, "files": files, "images": images})
