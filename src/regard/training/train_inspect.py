"""`regard train inspect`: what a trained model's heads look at and read."""

from pathlib import Path

from regard.core.errors import InputError
from regard.training.data.reading import read_questions
from regard.training.folder import RunFolder
from regard.training.inspected import InspectionReport
from regard.training.reading_heads import inspect_run


def inspect(
    out: Path, *, question: str | None = None, questions: Path | None = None, member: int = 1
) -> InspectionReport:
    """The heads of a finished run, or of one of its members, on a file's questions or those that it kept back."""
    run, there_are = RunFolder(out, member - 1), RunFolder(out).plan().members
    if not 1 <= member <= there_are:
        raise InputError(f"{out} has no member {member}. Give --member 1{f' to {there_are}' if there_are > 1 else ''}.")
    asked = run.held_out() if questions is None else read_questions(questions)
    command = f"regard train inspect {out}" + ("" if questions is None else f" --questions {questions}")
    command += f" --member {member}" if there_are > 1 else ""
    return inspect_run(run, asked, question, reproduce=command)
