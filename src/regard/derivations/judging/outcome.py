"""What the judge found out about one relation."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["true", "approximate", "false", "ill-shaped", "unknown", "not understood"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The truth of a relation under one reading, with what shows it.

    `swaps` are the names that the reading takes for others. `is_after_slip` marks a step that is not judged because an
    earlier slip makes it wrong, though it is right without that slip. `shown_by` works out the counterexample and value
    of a failure, since most failures (of one reading among several) are never shown.
    """

    kind: Kind
    reason: str
    method: str = ""
    counterexample: str | None = None
    value: float | None = None
    bound: float | None = None
    probability: float | None = None
    notes: tuple[str, ...] = ()
    swaps: tuple[tuple[str, str], ...] = ()
    is_after_slip: bool = False
    shown_by: Callable[[], tuple[str, float | None]] | None = field(default=None, compare=False, repr=False)

    @property
    def is_true(self) -> bool:
        """True if the relation holds, exactly or in the regime."""
        return self.kind in ("true", "approximate")

    @property
    def is_loose(self) -> bool:
        """True if an = was written where only ≈ is true."""
        return any(note.startswith("≈ is meant") for note in self.notes)

    @property
    def is_false(self) -> bool:
        """True if the relation was evaluated and fails."""
        return self.kind in ("false", "ill-shaped")

    def with_notes(self, notes: tuple[str, ...]) -> "Finding":
        """The finding with further remarks on how the step was read."""
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes)))) if notes else self


def true(reason: str) -> Finding:
    """What is recognised, and needs no evaluation."""
    return Finding(kind="true", reason=reason)


def not_understood(reason: object) -> Finding:
    """What cannot be read or evaluated, and why."""
    return Finding(kind="not understood", reason=str(reason))


def ill_shaped(error: Exception, at: str = "") -> Finding:
    """Two shapes that do not go together, `at` certain sizes."""
    shown = f"{at}: {error}" if at else str(error)
    return Finding(kind="ill-shaped", reason=f"the shapes do not fit: {error}", method="shapes", counterexample=shown)
