"""The loss and its candidates: a sample of the vocabulary stands for all of it, and gradients are the true ones."""

import pytest

pytest.importorskip("torch")

import numpy as np
import torch

from regard.training.data.batches import PackedRow
from regard.training.data.lessons import Lesson
from regard.training.data.objectives import Bag, Segment, TrainingExample
from regard.training.loss import CandidateSampler, PredictionTargets, prediction_loss
from regard.training.process_group import ProcessGroup
from regard.training.recipe import BatchShape
from regard.training.trainer import Trainer

VOCAB = 100


def numbers(*tokens: int) -> np.ndarray:
    return np.array(tokens, dtype=np.int64)


def lesson(body: np.ndarray) -> Lesson:
    marks = np.ones(len(body), dtype=bool)
    return Lesson(heads=(numbers(1),), body=body, starts=marks, salient=marks, plain=body)


# The token n is said 100 − n times.
LESSONS = [lesson(np.repeat(np.arange(VOCAB), np.arange(VOCAB, 0, -1)))]
ASKED = TrainingExample(
    head=numbers(1),
    segments=[
        Segment(tokens=numbers(50, 2), targets=numbers(-1, 90), bag=Bag(tokens=numbers(91), weights=np.ones(1))),
        Segment(tokens=numbers(51), targets=numbers(92)),
    ],
    bag=Bag(tokens=numbers(93, 94), weights=np.ones(2)),
)
ROWS = [PackedRow(opening=numbers(), examples=[ASKED])]


def draw(seed: int, size: int = 32):
    return CandidateSampler(LESSONS, vocab_size=VOCAB, size=size).draw(ROWS, np.random.default_rng(seed))


def test_it_has_the_commonest_tokens_and_those_that_are_asked_for():
    found = draw(0)
    assert len(found.tokens) == 32
    assert set(found.tokens) >= {*range(20), 90, 91, 92, 93, 94}
    assert found.places(numbers(0, 90)).tolist() == [0, found.tokens.tolist().index(90)]
    assert not found.log_counts[found.places(numbers(0, 19, 90, 94))].any()
    assert not np.array_equal(found.tokens, draw(1).tokens)
    assert np.array_equal(found.tokens, draw(0).tokens)


def test_it_stands_for_the_whole_vocabulary():
    assert np.exp(draw(0).log_counts).sum() == pytest.approx(VOCAB)
    values = np.random.default_rng(0).random(VOCAB)
    found = [draw(seed) for seed in range(2000)]
    sums = np.array([np.exp(each.log_counts) @ values[each.tokens] for each in found])
    # Four standard errors: a false alarm in 16,000.
    allowed = 4 * sums.std() / np.sqrt(len(sums))
    assert abs(sums.mean() - values.sum()) < allowed
    unweighted = np.mean([values[each.tokens].sum() for each in found])
    assert abs(unweighted - values.sum()) > 50 * allowed


def test_more_are_taken_if_more_are_asked_for_and_all_if_the_size_is_the_vocabulary():
    small = draw(0, size=2)
    assert set(small.tokens) > {0, 90, 91, 92, 93, 94}
    assert np.exp(small.log_counts).sum() == pytest.approx(VOCAB)
    whole = draw(0, size=VOCAB)
    assert whole.tokens.tolist() == list(range(VOCAB))
    assert not whole.log_counts.any()
    assert [BatchShape(candidates=size).num_candidates(VOCAB) for size in (0, 30, 300)] == [VOCAB, 30, VOCAB]


def test_lessons_may_have_nothing_to_read_and_a_token_must_be_listed():
    empty = CandidateSampler([lesson(numbers())], vocab_size=VOCAB, size=32).draw(ROWS, np.random.default_rng(0))
    assert len(empty.tokens) == 32
    missing = next(token for token in range(VOCAB) if token not in empty.tokens)
    with pytest.raises(AssertionError, match="not in it"):
        empty.places(numbers(missing))


def test_a_run_with_few_candidates_learns_what_one_with_all_does(small_run):
    losses = []
    for candidates in (0, 64):
        folder = small_run(steps=40, changes=[f"batch.candidates={candidates}"])
        plan = folder.plan()
        assert plan.vocab_size > 200
        trainer = Trainer(plan, folder.lessons(), ProcessGroup(), folder.embedding_ids(plan))
        losses.append([trainer.advance().loss for _ in range(40)])
    every, few = np.array(losses)
    # At first all tokens are equally likely, however many are drawn.
    assert few[0] == pytest.approx(every[0], rel=1e-3)
    assert np.abs(few - every).max() < 0.1 * every[0]
    assert few[-5:].mean() < 0.75 * few[0]


def reference(hidden, head, log_counts, wanted):
    scores = hidden @ head.T
    logs = torch.logsumexp(scores + log_counts, dim=-1)
    return (wanted.weights * (logs[wanted.owners] - scores[wanted.owners, wanted.targets])).sum()


def material(rows: int = 600):
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(rows, 12, generator=generator, dtype=torch.float64, requires_grad=True)
    head = torch.randn(31, 12, generator=generator, dtype=torch.float64, requires_grad=True)
    owners = torch.sort(torch.cat([torch.arange(rows), torch.randint(0, rows, (200,), generator=generator)])).values
    targets = torch.randint(0, 20, (len(owners),), generator=generator)
    weights = torch.rand(len(owners), generator=generator)
    log_counts = torch.cat([torch.zeros(20), 2 * torch.rand(11, generator=generator)])
    return hidden, head, log_counts, PredictionTargets(owners=owners, targets=targets, weights=weights)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_it_is_the_cross_entropy_with_its_gradients(scale):
    hidden, *others = material()
    given = ((scale * hidden).detach().requires_grad_(), *others)
    found, expected = prediction_loss(*given), reference(*given)
    # Rows, scores and weights pass through float32 inside.
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    for ours, theirs in zip(*(torch.autograd.grad(3 * loss, given[:2]) for loss in (found, expected)), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4 * scale)


def test_a_wrong_target_costs_more():
    hidden, head = material(8)[:2]
    best = (hidden @ head.T).argmax(-1)
    right, wrong = (
        prediction_loss(
            hidden,
            head,
            torch.zeros(31),
            PredictionTargets(owners=torch.arange(8), targets=targets, weights=torch.ones(8)),
        )
        for targets in (best, (best + 1) % 31)
    )
    assert right < wrong
