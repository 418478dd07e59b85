import pytest

pytest.importorskip("torch")

import torch

from regard.training.loss import Wanted, prediction_loss


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
    return hidden, head, log_counts, Wanted(owners=owners, targets=targets, weights=weights)


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
            hidden, head, torch.zeros(31), Wanted(owners=torch.arange(8), targets=targets, weights=torch.ones(8))
        )
        for targets in (best, (best + 1) % 31)
    )
    assert right < wrong
