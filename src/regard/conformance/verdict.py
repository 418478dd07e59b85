"""The verdict on one law, and the report on one layer that every output is made from."""

import os
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from regard.conformance.subject import LayerFinding
from regard.core.errors import InputError, RegardError
from regard.core.verdict import Place, Verdict

# An error may say as much as it likes; more than this is not kept, and in a line not shown.
_LONGEST_TEXT = 10_000
# Where Regard itself is.
_OURS = f"{Path(__file__).parents[1]}{os.sep}"
_LONGEST_LINE = 300

Outcome = Literal[
    "holds", "refuted", "expected failure", "unexpected pass", "skipped", "inconclusive", "crashed", "timed out"
]

BugFamily = Literal[
    "mask",
    "window",
    "scale",
    "rotary",
    "alibi",
    "positions",
    "cache",
    "padding",
    "heads",
    "kv-heads",
    "softmax",
    "precision",
    "dropout",
    "in-place",
    "batch",
    "shape",
    "gradient",
    "path",
    "projection",
    "sink/softcap",
    "block",
    "paged",
    "varlen",
    "quantised",
    "tree",
    "latent",
    "merge",
    "parallel",
    "state",
    "chunk",
    "update",
]


@dataclass(frozen=True)
class Diagnosis:
    """A probable bug: its family, None where it has none, and what it is in a few words.

    `note` says what distinguishes it from other bugs, or that nothing does. Diagnoses are compared without it.

    >>> str(Diagnosis("window", "one key too many"))
    'window: one key too many'
    """

    family: BugFamily | None
    text: str
    note: str = field(default="", compare=False)

    def __str__(self) -> str:
        return "".join([f"{self.family}: " if self.family else "", self.text, f" ({self.note})" if self.note else ""])


@dataclass(frozen=True, kw_only=True)
class LawVerdict(Verdict):
    """The verdict on one law for one layer.

    Args:
        layer: the layer's name.
        error: how far apart two outputs are that must agree.
        tolerance: how far apart they may be.
        control: how far a permitted input change moves the output (the positive control).
        diagnosis: bugs that the failure looks like, the likeliest first.
        reproduction: a pytest file that reproduces the failure.
    """

    outcome: Outcome  # pyright: ignore[reportGeneralTypeIssues] - other verdicts may have none
    layer: str
    error: float | None = None
    tolerance: float | None = None
    control: float | None = None
    diagnosis: tuple[Diagnosis, ...] = ()
    reproduction: str | None = None

    @property
    def law(self) -> str:
        """The law's name."""
        return self.id

    @property
    def is_as_expected(self) -> bool:
        """True if the law held, was expected to fail and did, or could not be decided."""
        return self.outcome in ("holds", "expected failure", "skipped", "inconclusive")

    @property
    def has_run(self) -> bool:
        """False if the law could not be tried, or the trial could not decide it."""
        return self.outcome not in ("skipped", "inconclusive")

    def to_dict(self) -> dict[str, Any]:
        """The verdict's fields, the diagnosis as a list of lines."""
        return {**super().to_dict(), "diagnosis": [str(bug) for bug in self.diagnosis]}

    @classmethod
    def from_fields(cls, row: Mapping[str, Any]) -> "LawVerdict":
        """The verdict that `dataclasses.asdict` made these fields of, as another process receives them in JSON."""
        typed = {
            "diagnosis": tuple(Diagnosis(**bug) for bug in row["diagnosis"]),
            "assumes": None if row["assumes"] is None else tuple(row["assumes"]),
            "where": None if row["where"] is None else Place(**row["where"]),
        }
        return cls(**{**row, **typed})


class LayerError(Exception):
    """What a layer raised in another process; `where` is the line of code that raised it."""

    where = ""


def error_line(error: BaseException, *, is_placed: bool = False) -> str:
    """The first line of an error that a layer raises, and the line of code that it came from if asked for."""
    lines = error_text(error).strip().splitlines()
    where = code_place(error) if is_placed else ""
    return (
        f"{type(error).__name__}: {lines[0][:_LONGEST_LINE] if lines else 'no message'}{f' ({where})' if where else ''}"
    )


def error_text(error: BaseException | str) -> str:
    """The message of an error, bounded, as text that can be encoded; empty if it cannot be had."""
    try:
        text = str(error)[:_LONGEST_TEXT]
    except Exception:  # noqa: BLE001 - an error of somebody else's class may raise another
        return ""
    return text.encode("utf-8", "backslashreplace").decode()


def code_place(error: BaseException) -> str:
    """file:line of the code that raised an error, empty if it is not known or ours."""
    if isinstance(error, LayerError):
        return error.where
    frames = traceback.extract_tb(error.__traceback__)
    places = [(error.filename, error.lineno)] if isinstance(error, SyntaxError) and error.filename else []
    places += [(frame.filename, frame.lineno) for frame in frames[-1:] if not frame.filename.startswith(_OURS)]
    return f"{Path(places[0][0]).name}:{places[0][1]}" if places else ""


class LawsBroken(RegardError, AssertionError):
    """Raised on request by a report with failures."""


def by_rank(verdicts: Iterable[LawVerdict]) -> tuple[LawVerdict, ...]:
    """Those that say most about their cause first."""
    from regard.conformance import Law, all_laws

    ranks = {name: law.rank for name, law in all_laws().items()}
    return tuple(sorted(verdicts, key=lambda verdict: ranks.get(verdict.law, Law.rank)))


def by_cause(failures: Iterable[LawVerdict]) -> tuple[tuple[LawVerdict, ...], ...]:
    """Failures in groups: the same error, the same first diagnosis, or a law that follows an earlier one."""
    from regard.conformance import all_laws

    laws = all_laws()
    groups: list[list[LawVerdict]] = []
    found: dict[object, list[LawVerdict]] = {}
    for verdict in by_rank(failures):
        is_refuted = verdict.status == "refuted"
        bug = verdict.diagnosis[0] if verdict.diagnosis else None
        cause = (verdict.outcome, (bug if is_refuted else verdict.reason) or verdict.law)
        earlier = laws[verdict.law].follows if is_refuted and verdict.law in laws else ()
        group = next((found[each] for each in (*earlier, cause) if each in found), None)
        if group is None:
            groups.append(group := [])
        group.append(verdict)
        found.setdefault(cause, group)
        if is_refuted:
            found[verdict.law] = group
    return tuple(map(tuple, groups))


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """The verdicts on one layer; nothing is raised unless asked for.

    Args:
        layer: the layer's name.
        spec: what the layer declares.
        grade: "spec" if its outputs were compared with a float64 oracle, else "black-box".
        blind_to: the bugs that this grade cannot detect.
        verdicts: one per law.
        findings: what was found out about the layer, and how.
    """

    layer: str
    spec: Mapping[str, Any]
    grade: str
    blind_to: tuple[str, ...]
    verdicts: tuple[LawVerdict, ...]
    findings: tuple[LayerFinding, ...] = ()

    @property
    def ok(self) -> bool:
        """True if no law was refuted, crashed, timed out or passed against expectation."""
        return all(verdict.is_as_expected for verdict in self.verdicts)

    @property
    def failures(self) -> tuple[LawVerdict, ...]:
        """The unexpected verdicts, those that say most about their cause first: one bug breaks many laws."""
        return by_rank(verdict for verdict in self.verdicts if not verdict.is_as_expected)

    @property
    def causes(self) -> tuple[tuple[LawVerdict, ...], ...]:
        """The failures, those with one cause together."""
        return by_cause(self.failures)

    @property
    def counts(self) -> dict[str, int]:
        """How many verdicts there are of each outcome."""
        return dict(Counter(verdict.outcome for verdict in self.verdicts))

    @property
    def skipped(self) -> dict[str, list[str]]:
        """The laws that could not be tried, by the reason."""
        laws: dict[str, list[str]] = {}
        for verdict in self.verdicts:
            if verdict.outcome == "skipped":
                laws.setdefault(verdict.reason or "no reason", []).append(verdict.law)
        return laws

    def raise_for_failures(self) -> None:
        """Raises LawsBroken with every failure, one per line."""
        if self.failures:
            lines = [f"{v.law} {v.outcome}: {v.counterexample or v.reason}" for v in self.failures]
            laws = "law" if len(self.verdicts) == 1 else "laws"
            raise LawsBroken(f"{self.layer} breaks {len(lines)} of {len(self.verdicts)} {laws}.\n" + "\n".join(lines))

    def _repr_html_(self) -> str:
        from regard.conformance.page import render_check
        from regard.render.page import notebook_frame

        return notebook_frame(render_check([self]), title=f"{self.layer} under the laws of attention")

    def require(self, laws: Iterable[str]) -> None:
        """Raises LawsBroken if one of these laws did not run."""
        wanted, verdicts = list(laws), {verdict.law: verdict for verdict in self.verdicts}
        unknown = [law for law in wanted if law not in verdicts]
        if unknown:
            raise InputError(f"This report has no law {', '.join(unknown)}. It has {', '.join(sorted(verdicts))}.")
        idle = [f"{v.law} ({v.outcome}: {v.reason})" for v in map(verdicts.__getitem__, wanted) if not v.has_run]
        if idle:
            raise LawsBroken(f"{self.layer}: these laws were required but did not run: {'; '.join(idle)}.")
