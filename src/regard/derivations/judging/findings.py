"""What the judge found out about one relation, and its remarks on how the relation was read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal

Truth = Literal["true", "approximate", "false", "ill-shaped", "unknown", "not understood"]


class OpenBecause(Enum):
    """Why a step that was evaluated, or could have been, is left open."""

    AFTER_SLIP = "after_slip"
    DOUBTFUL = "doubtful"
    DEPENDS_ON_UNREAD = "depends_on_unread"
    UNDER_CONDITION = "under_condition"


class NoteKind(Enum):
    """What a remark is about; the value is its wording, with places for names and numbers."""

    APPROXIMATION_MEANT = "≈ is meant: the two sides are not exactly equal"
    ANY_NUMBER = "{0} is not defined: checked for arbitrary numbers"
    WHERE_DEFINED = "checked only where both sides have a value"
    TAKEN_AS = "not declared, so taken so that the shapes fit: {0}"
    TAKEN_AS_NUMBERS = "{0} not declared, so taken as numbers"
    ALIAS = "'{0}' is read as '{1}'"
    OTHER_CASE = "'{0}' is read as '{1}', its letter in the other case"
    RECOGNITION_SLIP = "'{0}' looks like a text-recognition error and is read as '{1}'"
    SWAPPED_NAME = "'{0}' is read as {1} here, though it also stands for {2}"
    OTHER_QUESTION = "'{0}' belongs to another question"
    LIKE_SIBLING = "'{0}' is not defined, so taken as a number like '{1}'"
    PRIME_AS_TRANSPOSE = "the prime of '{0}' is read as a transpose"
    VECTOR_OF_ONES = "the 1 is read as a vector of ones"
    DISTINCT_INDICES = "different index letters are read as different indices"
    UNFIXED_INDEX = "the index is read as any except {0}"
    INDEX_FROM_ZERO = "indices are counted from zero"
    COUNT_OF_ALL = "'{0}' is not defined: read as the number of all members"
    LAYOUT = "derivatives are laid out by the {0}"
    OTHERS = "the others are read as all except {0}"
    READ_AS = "read {0}"
    TRANSPOSED = "the right side is the transpose of the left side"
    WRONG_SIGN = "the right side has the wrong sign"
    WRONG_FACTOR = "the right side is {0} times the left side"
    WRONG_CONSTANT = "the right side is {0} too {1}"
    CORRECTED = "it would be right with {0}"
    AT_GIVEN_VALUES = "checked at the values given in the text"
    OTHER_READING = "{0}"
    ASSUMED_IN_TEXT = "the text says that {0}"
    GOAL_MISSED = "without it, the goal {0} is not reached"
    NEEDED_SCALE = "β ≥ {0} brings it within {1}"
    CLAIM = "see the claim {0}"

    def note(self, *names: str) -> "Note":
        """A remark of this kind about these names or numbers."""
        return Note(kind=self, names=names)


# What says how little a failure is away from the truth.
CORRECTIONS = (
    NoteKind.APPROXIMATION_MEANT,
    NoteKind.TRANSPOSED,
    NoteKind.WRONG_SIGN,
    NoteKind.WRONG_FACTOR,
    NoteKind.WRONG_CONSTANT,
    NoteKind.CORRECTED,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """A remark on a step: its kind, and the names or numbers that its wording needs."""

    kind: NoteKind
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.kind.value.format(*self.names)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The truth of a relation under one reading, with what shows it.

    `swaps` are the names that the reading takes for others, `missing` is the name that nothing explains;
    `is_undefined` says that a side has no value for some inputs. `shown_by` looks closer at a failure, for its
    counterexample and value, `explained_by` works out its explanation, `corrected_by` the small change that would make
    it true, and `elsewhere` what is found of it in other readings that the text allows: most failures need none of it.
    """

    kind: Truth
    reason: str
    method: str = ""
    counterexample: str | None = None
    value: float | None = None
    bound: float | None = None
    probability: float | None = None
    notes: tuple[Note, ...] = ()
    swaps: tuple[tuple[str, str], ...] = ()
    open_because: OpenBecause | None = None
    missing: str | None = None
    is_undefined: bool = False
    shown_by: Callable[[], "Finding"] | None = field(default=None, compare=False, repr=False)
    explained_by: Callable[[], Sequence[Note]] | None = field(default=None, compare=False, repr=False)
    corrected_by: Callable[[], Sequence[Note]] | None = field(default=None, compare=False, repr=False)
    elsewhere: Callable[[], Iterable["Finding"]] | None = field(default=None, compare=False, repr=False)

    @property
    def is_true(self) -> bool:
        """True if the relation holds, exactly or in the regime."""
        return self.kind in ("true", "approximate")

    @property
    def is_false(self) -> bool:
        """True if the relation was evaluated and fails."""
        return self.kind in ("false", "ill-shaped")

    @property
    def is_doubtful(self) -> bool:
        """True if the relation looks wrong, but only under a reading that is not certain."""
        return self.open_because is OpenBecause.DOUBTFUL

    @property
    def is_approximation_meant(self) -> bool:
        """True if an = was written where only ≈ is true."""
        return self.has_note(NoteKind.APPROXIMATION_MEANT)

    @property
    def is_correctable(self) -> bool:
        """True if a small change makes a false claim true, so that its symbols were read as they are meant."""
        return any(note.kind in CORRECTIONS for note in self.notes)

    def has_note(self, kind: NoteKind) -> bool:
        """True if one of the notes is of that kind."""
        return any(note.kind is kind for note in self.notes)

    def with_notes(self, notes: Sequence[Note]) -> "Finding":
        """The finding with further notes, none of them twice."""
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes)))) if notes else self


def left_open(because: OpenBecause, reason: str, notes: tuple[Note, ...] = ()) -> Finding:
    """A step that is neither confirmed nor refuted, and why."""
    return Finding(kind="unknown", reason=reason, notes=notes, open_because=because)


def true(reason: str) -> Finding:
    """What is recognised, and needs no evaluation."""
    return Finding(kind="true", reason=reason)


def not_understood(reason: object) -> Finding:
    """What cannot be read or evaluated, and why."""
    text = str(reason).removesuffix(".")
    return Finding(kind="not understood", reason=text[:1].upper() + text[1:])


# What nothing but a mistake of ours raises.
UNEXPECTED = (ArithmeticError, ValueError, TypeError, LookupError, RecursionError)


def internal_error(error: Exception) -> Finding:
    """The finding on a step where the judge itself failed."""
    return not_understood(f"Internal error while checking this step: {type(error).__name__}: {error}")


def ill_shaped(error: Exception, at: str = "", notes: tuple[Note, ...] = ()) -> Finding:
    """Two shapes that do not go together, `at` certain sizes."""
    shown = f"{at}: {error}" if at else str(error)
    reason = f"The shapes do not match: {error}"
    return Finding(kind="ill-shaped", reason=reason, method="shapes", counterexample=shown, notes=notes)
