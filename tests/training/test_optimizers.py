import pytest

pytest.importorskip("torch")

import torch

from regard.training.optimizers import Muon, RowAdam, nearly_orthogonal
from regard.training.process_group import ProcessGroup


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(8, 8), (8, 24), (24, 8)])
def test_singular_values_come_near_one(shape, dtype):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    values = torch.linalg.svdvals(nearly_orthogonal(matrix).float())
    assert values.min() > 0.3
    assert values.max() < 1.3


def test_joined_matrices_are_made_orthogonal_piece_by_piece():
    joined = torch.nn.Parameter(torch.zeros(12, 6))
    joined.grad = torch.cat([torch.randn(6, 6), 1e-3 * torch.randn(6, 6)])
    Muon([{"params": [joined], "pieces": [6, 6]}], lr=1.0, share_tasks=ProcessGroup().share_tasks).step()
    sizes = [piece.detach().norm() for piece in joined.split(6)]
    assert sizes[0] == pytest.approx(float(sizes[1]), rel=0.25)


def test_a_step_made_in_bfloat16_is_nearly_that_of_float32():
    moved = []
    gradient = torch.randn(48, 96, generator=torch.Generator().manual_seed(0))
    for dtype in (torch.float32, torch.bfloat16):
        matrix = torch.nn.Parameter(torch.zeros(48, 96))
        matrix.grad = gradient.clone()
        Muon([{"params": [matrix]}], lr=1.0, dtype=dtype, share_tasks=ProcessGroup().share_tasks).step()
        moved.append(matrix.detach())
    assert matrix.dtype is torch.float32
    assert 0 < (moved[1] - moved[0]).norm() < 0.05 * moved[0].norm()


def test_rows_that_are_used_at_every_step_move_as_adam_moves_them():
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(5, 3, generator=generator)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    row_adam = RowAdam([ours], lr=0.1, eps=1e-8)
    adam = torch.optim.Adam([theirs], lr=0.1, betas=(0.9, 0.95))
    for _ in range(6):
        gradient = torch.randn(5, 3, generator=generator)
        ours.grad, theirs.grad = gradient.to_sparse(1), gradient
        row_adam.step()
        adam.step()
    assert torch.allclose(ours, theirs, atol=1e-6)


def test_rows_that_are_not_used_stay():
    table = torch.nn.Parameter(torch.ones(4, 2))
    table.grad = torch.sparse_coo_tensor([[1, 1]], torch.ones(2, 2), (4, 2), check_invariants=True)
    RowAdam([table], lr=0.5).step()
    assert (table[[0, 2, 3]] == 1).all()
    assert table[1].tolist() == pytest.approx([0.5, 0.5])
