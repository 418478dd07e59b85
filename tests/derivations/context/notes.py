"""Judging a few lines of notes for the tests of this folder."""

from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.questions import infer_problem
from regard.derivations.reading.files import read_text
from regard.derivations.results import StepVerdict
from regard.derivations.verify import judge_document


def verdicts_of(text: str) -> list[StepVerdict]:
    """The verdicts on notes without a problem."""
    document = read_text(text)
    return list(judge_document(document, infer_problem(read_formulas(document))).verdicts)


def last_status(text: str) -> str:
    """The status of the last step of notes without a problem."""
    return verdicts_of(text)[-1].status
