"""Reports on judged documents, in a terminal and as pages, and the words that both use."""

from collections.abc import Iterable, Mapping

from regard.derivations.results import (
    DocumentReport,
    GradedPart,
    PartOutcome,
    PersonReason,
    Placed,
    QuestionRow,
    Standing,
    StepVerdict,
    count_standings,
)

IN_WORDS: Mapping[Standing, str] = {
    "refuted": "refuted",
    "undecided": "undecided",
    "ignored": "ignored",
    "holds": "holds",
    "proved": "proved",
    "given": "taken as given",
}
_BEST_FIRST: tuple[Standing, ...] = ("proved", "holds", "refuted", "undecided", "ignored", "given")
_WITHOUT_REASON: Mapping[Standing, str] = {
    "refuted": "The step does not hold",
    "undecided": "The step could not be decided",
    "ignored": "Ignored by a comment",
    "holds": "The step holds",
    "proved": "The step is proved",
    "given": "Taken as given",
}

_MOST_IMAGES = 5

REASONS: Mapping[PersonReason, str] = {
    PersonReason.WORDS: "part of the answer is in words",
    PersonReason.IMAGE: "part of the answer may be in an image, which is not read",
    PersonReason.UNREAD: "some formulas could not be read",
    PersonReason.UNDECIDED: "a step that matters is undecided",
    PersonReason.HIDDEN: "some text is hidden, struck out or formatted as code",
    PersonReason.REDEFINED: "symbols of the question are given another meaning",
    PersonReason.HEADING: "the answer stands under the heading of another question",
    PersonReason.SEVERAL: "more than one answer is given",
    PersonReason.TRIED: "the answer is only tried or supposed",
    PersonReason.LANGUAGE: "the words are in a language that is not read",
    PersonReason.FILE: "a file of the submission could not be read",
    PersonReason.IGNORED: "a comment asks to ignore a step",
}
PLACED: Mapping[Placed, str] = {
    Placed.BY_HEADING: "Assigned to this question by its heading or number.",
    Placed.BY_FORMULAS: "No heading names this question; assigned by its formulas.",
    Placed.NOWHERE: "Nothing was assigned to this question.",
}
_PARTS: Mapping[PartOutcome, str] = {
    "reached": "reached",
    "only stated": "stated but not derived",
    "open": "undecided",
    "after a refuted step": "reached only after a refuted step",
    "refuted": "refuted",
    "missing": "not found",
}


def reasons_in_words(reasons: Iterable[PersonReason]) -> str:
    """Why a person must look, in words."""
    return "; ".join(REASONS[reason] for reason in reasons)


def part_in_words(part: GradedPart) -> str:
    """What became of one part of a question, and its points.

    >>> part_in_words(GradedPart(kind="design", asked="c = v", points=2, score=2, outcome="reached"))
    'reached, 2 of 2 points'
    """
    pending = f", {part.pending:g} pending" if part.pending else ""
    return f"{_PARTS[part.outcome]}, {part.score:g} of {plural(round(part.points, 2), 'point')}{pending}"


def headline(verdict: StepVerdict) -> str:
    """The reason for a verdict in one sentence."""
    return verdict.reason or _WITHOUT_REASON[verdict.standing]


def remarks(verdict: StepVerdict) -> tuple[str, ...]:
    """The notes of a verdict, and the probability with which the step holds."""
    chance = () if verdict.probability is None else (f"holds with probability {verdict.probability:.3g}",)
    return (*verdict.notes, *chance)


def counts_in_words(verdicts: Iterable[StepVerdict], *, separator: str = ", ") -> str:
    """How many steps have each standing; zeros are left out.

    >>> counts_in_words([])
    ''
    """
    counts = count_standings(verdicts)
    return separator.join(f"{counts[name]} {_plural(name, counts[name])}" for name in _BEST_FIRST if counts[name])


def _plural(standing: Standing, number: int) -> str:
    return "hold" if standing == "holds" and number > 1 else IN_WORDS[standing]


def label(verdict: StepVerdict) -> str:
    """The standing of a step in a word or two; a step that looks wrong under one reading only is doubtful."""
    return "doubtful" if verdict.is_doubtful else IN_WORDS[verdict.standing]


def percent(share: float | None) -> str:
    """A share in percent, rounded down so that only everything is 100 %; a dash if there is none.

    >>> percent(0.999), percent(None)
    ('99 %', '–')
    """
    return "–" if share is None else f"{int(share * 100 + 1e-9)} %"


def plural(number: float, noun: str) -> str:
    """The number with its noun.

    >>> plural(1, "point"), plural(2.5, "point")
    ('1 point', '2.5 points')
    """
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def ineffective_comments(report: DocumentReport) -> str:
    """What became of comments that ask to ignore steps of a graded document; empty without any."""
    number = report.num_ineffective_comments
    verbs = "asks" if number == 1 else "ask"
    return f"{plural(number, 'comment')} {verbs} to ignore a step: no effect when grading." if number else ""


def images_in_words(report: DocumentReport) -> str:
    """The pictures that were not read; empty if there are none."""
    more = len(report.images) - _MOST_IMAGES
    names = ", ".join(report.images[:_MOST_IMAGES]) + (f" and {more} more" if more > 0 else "")
    return f"{plural(len(report.images), 'image')} not read: {names}." if names else ""


def state_in_words(row: QuestionRow) -> str:
    """What became of a question without a step."""
    is_perhaps_in_an_image = row.state != "image, not read" and PersonReason.IMAGE in row.reasons
    return f"{row.state}, unless in an image" if is_perhaps_in_an_image else row.state


def nothing_found(report: DocumentReport) -> str:
    """Why a judged document has no verdicts."""
    return "No steps found" if report.document is not None and report.document.spans else "No formulas found"
