"""What a trained model knows: its answers counted, and held against guessing."""

import functools
import operator
import time
from collections.abc import Sequence
from dataclasses import replace
from math import comb

from regard.analysis.engines.sampling import wilson_interval
from regard.core.errors import InputError
from regard.core.verdict import Verdict
from regard.training.answering import answer_questions
from regard.training.data.encoding import Wording
from regard.training.data.reading import Question
from regard.training.folder import RunFolder
from regard.training.trained import Answered, Evaluation, Share

_DOUBT = 0.05


def evaluate(folders: Sequence[RunFolder], questions: Sequence[Question]) -> Evaluation:
    """Every question asked, closed book: the models of the runs see the question only, and answer it together."""
    wording = _common_wording(folders)
    models = [member.model() for folder in folders for member in folder.members()]
    begun = time.perf_counter()
    answers = answer_questions(models, wording, [question.text for question in questions])
    seconds = time.perf_counter() - begun
    answered = tuple(
        Answered(question=q.text, prediction=a.text, probability=a.probability, answer=q.answer)
        for q, a in zip(questions, answers, strict=True)
    )
    commonest = folders[0].facts()["commonest_answer"]
    return Evaluation(
        answered=answered,
        exact_match=share(sum(each.is_right for each in answered), len(answered)),
        majority=share(sum(question.answer == commonest for question in questions), len(questions)),
        commonest_answer=commonest,
        num_models=len(models),
        seconds=seconds,
    )


def _common_wording(folders: Sequence[RunFolder]) -> Wording:
    first, *others = (folder.wording() for folder in folders)
    for folder, other in zip(folders[1:], others, strict=True):
        if (other.vocabulary.text(), other.endings) != (first.vocabulary.text(), first.endings):
            raise InputError(
                f"{folder.path} puts questions in other tokens than {folders[0].path}. Ask runs together that learned "
                "from the same data with the same tokens."
            )
    return replace(first, forms=functools.reduce(operator.or_, (each.forms for each in (first, *others))))


def share(right: int, asked: int) -> Share:
    """A count with Wilson's interval."""
    _, lower, upper = wilson_interval(right / asked, asked, confidence=1 - _DOUBT)
    return Share(right=right, asked=asked, lower=lower, upper=upper)


def verdict_on_knowledge(evaluation: Evaluation, *, reproduce: str) -> Verdict:
    """Whether the model answers more questions than the commonest answer does, by McNemar's exact test.

    Only questions that one of the two gets right and the other wrong say anything: under equality each of them is a
    toss of a coin.
    """
    commonest = evaluation.commonest_answer
    better = sum(each.is_right and each.answer != commonest for each in evaluation.answered)
    worse = sum(not each.is_right and each.answer == commonest for each in evaluation.answered)
    chance = sum(comb(better + worse, k) for k in range(better, better + worse + 1)) / 2 ** (better + worse)
    against = sum(comb(better + worse, k) for k in range(better + 1)) / 2 ** (better + worse)
    status = "holds" if chance < _DOUBT else "refuted" if against < _DOUBT else "undecided"
    score = evaluation.exact_match
    return Verdict(
        id="knows-more-than-the-commonest-answer",
        statement=f"The model answers more of these questions than always saying {commonest!r} does.",
        status=status,
        method="McNemar's exact test, one-sided, at 5 %",
        reason=(
            f"It gets {score.right} of {score.asked} right and the commonest answer {evaluation.majority.right}; "
            f"where they differ it wins {better} and loses {worse} (p = {chance:.2g})."
        ),
        value=score.value,
        bound=evaluation.majority.value,
        probability=chance,
        reproduce=reproduce,
    )
