import pytest

pytest.importorskip("torch")

import torch

from regard.training.model.fused import rms_norm, squared_relu


@pytest.fixture
def x():
    return torch.randn(3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)


def test_vectors_are_scaled_to_mean_square_one(x):
    assert torch.allclose(rms_norm(x), torch.nn.functional.rms_norm(x, (5,)), atol=1e-7)
    assert torch.isfinite(rms_norm(torch.zeros(2, 4))).all()


@pytest.mark.parametrize("function", [rms_norm, squared_relu])
def test_gradients_are_the_true_ones(function, x):
    assert torch.autograd.gradcheck(function, x, atol=1e-6)


def test_negative_numbers_become_zero():
    assert squared_relu(torch.tensor([-2.0, 0.0, 3.0])).tolist() == [0.0, 0.0, 9.0]
