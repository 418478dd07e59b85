"""`regard train inspect`: what a trained model's heads look at and read."""

from pathlib import Path

from regard.data.reading import read_questions
from regard.report.inspected import InspectionReport
from regard.training.folder import RunFolder
from regard.training.reading_heads import inspect_run

__all__ = ["inspect"]


def inspect(out: Path, *, question: str | None = None, questions: Path | None = None) -> InspectionReport:
    """The heads of a finished run, on a file's questions or those that it kept back."""
    run = RunFolder(out)
    run.plan()
    asked = run.held_out() if questions is None else read_questions(questions)
    command = f"regard train inspect {out}" + ("" if questions is None else f" --questions {questions}")
    return inspect_run(run, asked, question, reproduce=command)
