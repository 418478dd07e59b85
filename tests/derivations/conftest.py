"""Judged documents made by hand: `judged(text, refuted=["q = k_a"], …)` marks what is written, wherever it stands."""

import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from regard.core.verdict import Place, Status, StepVerdict
from regard.derivations.judged import FormulaSpan, JudgedDocument, Mark, QuestionState

MATHEMATICS = re.compile(r"\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)


def place_of(text: str, offset: int, path: str) -> Place:
    before = text[:offset]
    return Place(file=path, line=before.count("\n") + 1, column=offset - (before.rfind("\n") + 1) + 1)


def formulas_in(text: str) -> tuple[FormulaSpan, ...]:
    return tuple(
        FormulaSpan(start=found.start(), end=found.end(), source=found[1] or found[2], is_display=bool(found[1]))
        for found in MATHEMATICS.finditer(text)
    )


def marks_in(
    text: str, path: str, steps: Mapping[Status, Sequence[str]], extra: Mapping[str, object]
) -> tuple[Mark, ...]:
    found = sorted((text.index(source), source, status) for status, sources in steps.items() for source in sources)
    return tuple(
        Mark(
            start=start,
            end=start + len(source),
            verdict=StepVerdict(
                id=f"1b/{number}", statement=source, status=status, source=source, question="1b",
                where=place_of(text, start, path),
                **{"kind": "step", "reason": "a scale is missing", "notes": ("it is read so",)} | dict(extra),
                counterexample="n = 10: 0.2023, not 0.5" if status == "refuted" else None,
                reproduce=f"regard verify {path} --line {place_of(text, start, path).line}",
            ),
        )
        for number, (start, source, status) in enumerate(found, start=1)
    )  # fmt: skip


@pytest.fixture
def judged() -> Callable[..., JudgedDocument]:
    """A document whose mathematics stands between $ or $$; each named stretch is a step of that status."""

    def make(
        text: str,
        *,
        path: str = "answers.md",
        kind: str = "markdown",
        extra: Mapping[str, object] | None = None,
        **steps,
    ) -> JudgedDocument:
        questions = (
            QuestionState(id="1b", title="An average of two", state="judged", points=2.0, claims=("average-scale",)),
            QuestionState(
                id="2b", title="Can two codes be the same?", state="prose, not judged", claims=("sinusoid-unique",)
            ),
            QuestionState(id="3", title="Rotary codes", state="unanswered", claims=("rope-relative",)),
        )
        return JudgedDocument(
            path=path, kind=kind, text=text, problem="cs224n-a4", title="Attention", formulas=formulas_in(text),
            marks=marks_in(text, path, steps, extra or {}), questions=questions, understood=0.967,
        )  # fmt: skip

    return make
