"""Reports made by hand: `judged(text, refuted=["q = k_a"], …)` marks those stretches of the text as steps."""

import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from regard.core.verdict import Place, Status
from regard.derivations.reading.document import Document, MathSpan, OffsetMap
from regard.derivations.results import DocumentReport, QuestionRow, Role, StepVerdict

MATHEMATICS = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)
QUESTIONS = (
    QuestionRow(id="1b", title="An average of two", state="judged", points=2.0, claims=("average-scale",)),
    QuestionRow(id="2b", title="Can two codes be the same?", state="prose, not judged", claims=("sinusoid-unique",)),
    QuestionRow(id="3", title="Rotary codes", state="unanswered", claims=("rope-relative",)),
)


def place_of(text: str, offset: int, path: str) -> Place:
    before = text[:offset]
    return Place(file=path, line=before.count("\n") + 1, column=offset - (before.rfind("\n") + 1) + 1)


def formulas_in(text: str) -> tuple[MathSpan, ...]:
    return tuple(
        MathSpan(
            start=found.start(),
            end=found.end(),
            source=found[1] or found[2],
            delimiter="$$" if found[1] else "$",
            is_display=bool(found[1]),
            origin=OffsetMap(starts=(0,), targets=(found.start(1 if found[1] else 2),)),
        )
        for found in MATHEMATICS.finditer(text)
    )


def steps_in(
    text: str, path: str, steps: Mapping[Status, Sequence[str]], extra: Mapping[str, object]
) -> tuple[StepVerdict, ...]:
    found = sorted((text.index(source), source, status) for status, sources in steps.items() for source in sources)
    return tuple(
        StepVerdict(
            id=f"1b/{number}",
            statement=source,
            status=status,
            source=source,
            question="1b",
            where=place_of(text, start, path),
            counterexample="n = 10: 0.2023, not 0.5" if status == "refuted" else None,
            reproduce=f"regard verify {path} --line {place_of(text, start, path).line}",
            span=(start, start + len(source)),
            **{"role": Role.ASSERTION, "reason": "a scale is missing", "notes": ("it is read so",)} | dict(extra),
        )
        for number, (start, source, status) in enumerate(found, start=1)
    )


@pytest.fixture
def judged() -> Callable[..., DocumentReport]:
    """A report on a document whose formulas are between $ or $$; each named stretch is a step of that status."""

    def make(
        text: str,
        *,
        path: str = "answers.md",
        kind: str = "markdown",
        extra: Mapping[str, object] | None = None,
        document: Mapping[str, object] | None = None,
        **steps,
    ) -> DocumentReport:
        return DocumentReport(
            file=path,
            problem="cs224n-a4",
            problem_title="Attention",
            verdicts=steps_in(text, path, steps, extra or {}),
            questions=QUESTIONS,
            document=Document(path=path, kind=kind, text=text, spans=formulas_in(text), **document or {}),
        )

    return make
