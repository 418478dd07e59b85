"""What gradient descent learns about averaging, against the theory."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.analysis.engines import SquaredError, certified
from regard.analysis.scenarios import one_head
from regard.core.errors import InputError
from regard.training.average import (
    LAYOUTS,
    AveragingTask,
    evaluate_queries,
    judge,
    learn_queries,
    prescribe,
    to_designs,
)

TASK = AveragingTask(n=5, num_seeds=3, steps=250, draws=64)


@pytest.fixture(scope="module")
def prescriptions():
    return {layout: prescribe(TASK, layout) for layout in LAYOUTS}


@pytest.fixture(scope="module")
def scales():
    return {layout: evaluate_queries(TASK, layout, "scale", learn_queries(TASK, layout, "scale")) for layout in LAYOUTS}


def test_the_published_optimum_is_found():
    # n = 10, σ² = ½: E is 0.14769010591 at β = 2 and larger at 3; the best scale lies between.
    found = prescribe(AveragingTask(), "one head")
    assert 2 < found.beta < 3
    assert found.error < 0.14769010591
    assert found.error == pytest.approx(0.1467897, abs=1e-7)


def test_two_heads_have_no_best_scale(prescriptions):
    assert math.isinf(prescriptions["two heads"].beta)
    assert math.isfinite(prescriptions["one head"].beta)


def test_the_best_scale_is_best(prescriptions):
    best = prescriptions["one head"]
    for factor in (0.97, 1.03):
        law = TASK.keys("one head").logits(one_head(best.beta * factor))
        assert certified.answer(law, SquaredError(target={"a": 0.5, "b": 0.5})).lower > best.error


@pytest.mark.parametrize("layout", ["one head", "one head, normalized keys"])
def test_gradient_descent_on_the_scale_ends_at_the_theorys(layout, prescriptions, scales):
    learned = scales[layout]
    assert learned.beta.mean == pytest.approx(prescriptions[layout].beta, rel=0.02)
    assert learned.error.mean == pytest.approx(prescriptions[layout].error, rel=0.001)


def test_the_certified_error_is_that_of_sampled_lengths():
    queries = learn_queries(replace(TASK, steps=20), "two heads", "free")
    learned = evaluate_queries(TASK, "two heads", "free", queries)
    rng = np.random.default_rng(3)
    lengths = 1 + math.sqrt(0.5) * rng.normal(size=200_000)
    factors = np.ones((len(lengths), 1, 5))
    factors[..., 0] = lengths[:, None]
    logits = queries[0].numpy() * factors
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    output = (weights / weights.sum(axis=-1, keepdims=True)).mean(axis=1)
    errors = ((output - [0.5, 0.5, 0, 0, 0]) ** 2).sum(axis=1)
    # Six standard errors: a false alarm once in 500 million runs.
    assert learned.errors[0] == pytest.approx(errors.mean(), abs=6 * errors.std() / math.sqrt(len(errors)))


def test_one_free_head_learns_to_avoid_the_others_instead(prescriptions):
    """Key a's length does not matter to a query that has nothing along it."""
    queries = learn_queries(TASK, "one head", "free")
    assert queries[:, 0, 0].abs().max() < 0.1
    assert queries[:, 0, 2:].max() < -2
    learned = evaluate_queries(TASK, "one head", "free", queries)
    assert max(learned.errors) < prescriptions["one head"].error / 20


def test_verdicts_hold_for_what_is_trained_and_are_refuted_for_what_is_not(prescriptions, scales):
    theory = list(prescriptions.values())
    found = {verdict.id: verdict for verdict in judge(TASK, theory, list(scales.values()))}
    assert found["one-head-learns-the-best-scale"].status == "holds"
    assert found["trained-layouts-are-ordered-as-predicted"].status == "holds"
    queries = torch.zeros(3, 1, 5, dtype=torch.float64)
    queries[:, :, :2] = 3 * prescriptions["one head"].beta
    too_sharp = evaluate_queries(TASK, "one head", "scale", queries)
    refuted = judge(TASK, theory, [too_sharp, scales["two heads"], scales["one head, normalized keys"]])[0]
    assert refuted.status == "refuted"
    assert "has error" in refuted.counterexample


def test_the_wrong_order_is_refuted(prescriptions, scales):
    swapped = [replace(each, error=0.5 - each.error) for each in prescriptions.values()]
    found = {verdict.id: verdict for verdict in judge(TASK, swapped, list(scales.values()))}
    assert found["trained-layouts-are-ordered-as-predicted"].status == "refuted"


def test_a_search_that_finds_nothing_is_undecided(prescriptions, scales):
    learned = evaluate_queries(TASK, "one head", "free", torch.zeros(3, 1, 5, dtype=torch.float64))
    found = judge(TASK, list(prescriptions.values()), [*scales.values(), learned])[-1]
    assert (found.status, found.outcome) == ("undecided", "nothing better found")
    assert "0 of 3 seeds" in found.reason


def test_seeds_repeat_and_differ():
    short = replace(TASK, steps=3)
    first, again, other = (learn_queries(replace(short, seed=seed), "one head", "plane") for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert [design.num_heads for design in to_designs(learn_queries(short, "two heads", "plane"))] == [2, 2, 2]


@pytest.mark.parametrize("wrong", [{"n": 2}, {"sigma2": 0.0}, {"num_seeds": 1}, {"steps": 0}])
def test_senseless_tasks_are_refused(wrong):
    with pytest.raises(InputError):
        AveragingTask(**wrong)
