"""What a trained model knows: its answers counted and compared with guessing."""

import functools
import html
import operator
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from scipy.stats import binom, binomtest

from regard.core.errors import InputError
from regard.core.verdict import Verdict
from regard.render.page import Page, notebook_frame, render_page, render_table
from regard.render.terminal import percent
from regard.training.answering import answer_questions
from regard.training.data.corpus import FactQuestion
from regard.training.data.lessons import PromptFormat
from regard.training.run_folder import RunFolder

_ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """The number of right answers among those asked, with Wilson's 95 % interval."""

    right: int
    asked: int

    @property
    def value(self) -> float:
        """The fraction of right answers."""
        return self.right / self.asked

    @property
    def lower(self) -> float:
        """The lower end of the interval."""
        return self._interval[0]

    @property
    def upper(self) -> float:
        """The upper end of the interval."""
        return self._interval[1]

    @functools.cached_property
    def _interval(self) -> tuple[float, float]:
        lower, upper = binomtest(self.right, self.asked).proportion_ci(1 - _ALPHA, "wilson")
        return float(lower), float(upper)

    def __str__(self) -> str:
        value, lower, upper = (percent(share, digits=1) for share in (self.value, self.lower, self.upper))
        return f"{value} ({self.right} of {self.asked}, 95 % interval {lower} to {upper})"


@dataclass(frozen=True, kw_only=True)
class AnsweredQuestion:
    """A question, the model's prediction with its probability, the correct answer, and whether they match exactly."""

    question: str
    prediction: str
    answer: str
    is_right: bool
    probability: float


@dataclass(frozen=True, kw_only=True)
class EvaluationReport:
    """The answers of one or more models together. `baseline` is the accuracy of the most common training answer."""

    answered: Sequence[AnsweredQuestion]
    exact_match: Accuracy
    baseline: Accuracy
    most_common_answer: str
    num_models: int
    seconds: float

    def _repr_html_(self) -> str:
        title = "Answers"
        rows = [
            (
                each.question,
                f"{'✓' if each.is_right else '✗'} {each.prediction} ({percent(each.probability)})",
                each.answer,
            )
            for each in self.answered
        ]
        main = (
            f'<header class="head"><h1>{title}</h1><p>Exact match {html.escape(str(self.exact_match))}. Baseline '
            f"(always {html.escape(repr(self.most_common_answer))}): {html.escape(str(self.baseline))}.</p></header>"
            + render_table(rows, ("question", "prediction", "correct answer"))
        )
        return notebook_frame(render_page(Page(title=title, main=main, styles=("document.css",))), title=title)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "exact_match": self.exact_match.value,
            "n": self.exact_match.asked,
            "interval": [self.exact_match.lower, self.exact_match.upper],
            "baseline_majority": self.baseline.value,
            "commonest_answer": self.most_common_answer,
            "models": self.num_models,
            "seconds": self.seconds,
            "predictions": [asdict(each) for each in self.answered],
        }


def evaluate(folders: Sequence[RunFolder], questions: Sequence[FactQuestion]) -> EvaluationReport:
    """Asks every question, closed book: the models of all runs see only the question, and answer it together."""
    prompt_format = _common_format(folders)
    models = [member.model() for folder in folders for member in folder.members()]
    begun = time.perf_counter()
    answers = answer_questions(models, prompt_format, [question.text for question in questions])
    seconds = time.perf_counter() - begun
    answered = tuple(
        AnsweredQuestion(
            question=q.text, prediction=a.text, answer=q.answer, is_right=a.text == q.answer, probability=a.probability
        )
        for q, a in zip(questions, answers, strict=True)
    )
    most_common = folders[0].facts()["commonest_answer"]
    return EvaluationReport(
        answered=answered,
        exact_match=Accuracy(right=sum(each.is_right for each in answered), asked=len(answered)),
        baseline=baseline_accuracy(questions, most_common),
        most_common_answer=most_common,
        num_models=len(models),
        seconds=seconds,
    )


def baseline_accuracy(questions: Sequence[FactQuestion], most_common_answer: str) -> Accuracy:
    """The accuracy of always giving the same answer."""
    return Accuracy(right=sum(question.answer == most_common_answer for question in questions), asked=len(questions))


def verdict_on_knowledge(report: EvaluationReport, *, reproduce: str) -> Verdict:
    """Whether the model answers more questions than the most common answer does, by McNemar's exact test.

    Only questions that one of the two gets right and the other wrong count: if both were equally good, each of them
    would be a coin toss.
    """
    most_common, score = report.most_common_answer, report.exact_match
    wins = sum(each.is_right and each.answer != most_common for each in report.answered)
    losses = sum(not each.is_right and each.answer == most_common for each in report.answered)
    p_value = float(binom.sf(wins - 1, wins + losses, 0.5))
    p_opposite = float(binom.cdf(wins, wins + losses, 0.5))
    return Verdict(
        id="knows-more-than-the-commonest-answer",
        statement=f"The model answers more of these questions than always saying {most_common!r} does.",
        status="holds" if p_value < _ALPHA else "refuted" if p_opposite < _ALPHA else "undecided",
        method="McNemar's exact test, one-sided, at 5 %",
        reason=(
            f"It gets {score.right} of {score.asked} right, the most common answer {report.baseline.right}; where they "
            f"differ, it wins {wins} and loses {losses} (p = {p_value:.2g})."
        ),
        value=score.value,
        bound=report.baseline.value,
        probability=p_value,
        reproduce=reproduce,
    )


def _common_format(folders: Sequence[RunFolder]) -> PromptFormat:
    first, *others = (folder.prompt_format() for folder in folders)
    for folder, other in zip(folders[1:], others, strict=True):
        if (other.vocabulary.to_json(), other.endings) != (first.vocabulary.to_json(), first.endings):
            raise InputError(
                f"{folder.path} uses other tokens than {folders[0].path}. Runs can only answer together if they were "
                "trained on the same data with the same tokens."
            )
    return replace(first, forms=functools.reduce(operator.or_, (each.forms for each in (first, *others))))
