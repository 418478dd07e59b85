"""What an editor shows of a judged document: diagnostics, hovers and code actions."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeDescription,
    Command,
    Diagnostic,
    DiagnosticSeverity,
    Position,
    Range,
    TextEdit,
    WorkspaceEdit,
)

from regard.core.processes import Message
from regard.core.verdict import Extent
from regard.derivations.report import headline, label, remarks
from regard.derivations.results import StepVerdict
from regard.editor.text_positions import TextPositions, is_inside, overlap

SHOW_CLAIM = "regard.showClaim"
_SOURCE = "regard"
_EXPLANATION = "https://github.com/regard-attention/regard/blob/main/docs/verify.md#how-a-step-is-judged"
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&])")


@dataclass(frozen=True, kw_only=True)
class ShownStep:
    """A judged step, where the formula that it stands in begins and ends, and the claims that bear on its question."""

    verdict: StepVerdict
    where: Range
    formula: Extent | None
    claims: Sequence[str]

    @classmethod
    def read(cls, row: Message, positions: TextPositions) -> "ShownStep":
        """The step in a row that the worker has sent."""
        verdict = StepVerdict.from_dict(row["verdict"])
        assert verdict.extent is not None
        formula = None if row["formula"] is None else Extent(**row["formula"])
        return cls(verdict=verdict, where=positions.range_of(verdict.extent), formula=formula, claims=row["claims"])


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """The steps of one version of a document; `failure` says why there are none."""

    positions: TextPositions
    is_latex: bool
    version: int
    steps: Sequence[ShownStep] = ()
    failure: str | None = None

    # -- diagnostics -------------------------------------------------------------------------------------------------
    def diagnostics(self) -> list[Diagnostic]:
        """What needs attention: refuted steps, doubtful ones, and others that are undecided."""
        if self.failure is not None:
            start = Position(line=0, character=0)
            where = Range(start=start, end=self.positions.end_of_line(1))
            return [Diagnostic(range=where, message=self.failure, severity=DiagnosticSeverity.Warning, source=_SOURCE)]
        return [_diagnostic(step) for step in self.steps if _severity(step.verdict) is not None]

    def hover(self, position: Position) -> str | None:
        """What was found of the steps at a place, as Markdown; None if there is none."""
        steps = [step for step in self.steps if is_inside(position, step.where)]
        return "\n\n---\n\n".join(map(_as_markdown, steps)) or None

    # -- code actions ------------------------------------------------------------------------------------------------
    def actions(self, uri: str, where: Range) -> Iterator[CodeAction | Command]:
        """What can be done about the steps in a range."""
        for step in self.steps:
            if not overlap(step.where, where):
                continue
            for claim in step.claims:
                yield Command(title=f"Show the claim {claim}", command=SHOW_CLAIM, arguments=[claim])
            if _severity(step.verdict) is not None:
                yield CodeAction(
                    title=f"Ignore “{step.verdict.statement[:60]}” with a comment",
                    kind=CodeActionKind.QuickFix,
                    diagnostics=[_diagnostic(step)],
                    edit=WorkspaceEdit(changes={uri: [self._comment(step)]}),
                )

    def _comment(self, step: ShownStep) -> TextEdit:
        """The comment that exempts a step: in LaTeX and before a display on its own line, else behind the line."""
        assert step.verdict.extent is not None
        first = step.verdict.extent.line
        if not self.is_latex and step.formula is not None and step.formula.line == step.formula.end_line:
            end = self.positions.end_of_line(first)
            return TextEdit(range=Range(start=end, end=end), new_text=" <!-- regard: ignore -->")
        if not self.is_latex:
            first = first if step.formula is None else step.formula.line
        begin = Position(line=first - 1, character=0)
        text = "% regard: ignore" if self.is_latex else "<!-- regard: ignore -->"
        line = self.positions.line(first - 1)
        margin = line[: len(line) - len(line.lstrip("> \t"))]
        return TextEdit(range=Range(start=begin, end=begin), new_text=f"{margin}{text}\n")


def _severity(verdict: StepVerdict) -> DiagnosticSeverity | None:
    """How much attention a step needs; None for none."""
    if verdict.status == "refuted":
        return DiagnosticSeverity.Error
    if verdict.is_doubtful:
        return DiagnosticSeverity.Warning
    is_open = verdict.status == "undecided" and not verdict.is_ignored and verdict.role.is_claim
    return DiagnosticSeverity.Information if is_open else None


def _diagnostic(step: ShownStep) -> Diagnostic:
    return Diagnostic(
        range=step.where,
        message=headline(step.verdict),
        severity=_severity(step.verdict),
        source=_SOURCE,
        code=step.verdict.outcome,
        code_description=CodeDescription(href=_EXPLANATION),
    )


def _as_markdown(step: ShownStep) -> str:
    verdict = step.verdict
    lines = [f"**{label(verdict)}** · {_plain(f'{verdict.id} · {verdict.role}')}", _plain(headline(verdict))]
    if verdict.counterexample:
        lines.append(f"Counterexample: {_plain(verdict.counterexample)}")
    lines += [f"- {_plain(remark)}" for remark in remarks(verdict)]
    return "\n\n".join(lines)


def _plain(text: str) -> str:
    """Text as Markdown that shows it as it is."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
