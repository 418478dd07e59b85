import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from regard.positions.rotary import Rotary
from regard.training.model.positions import RotaryAngles, rotate


@pytest.fixture
def heads():
    return torch.randn(2, 3, 7, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_it_turns_as_the_definition_does(heads):
    code = Rotary(base=1000.0, layout="half-split")
    positions = torch.tensor([[0, 1, 2, 3, 1, 2, 9], [4, 3, 2, 1, 0, 5, 6]])
    turned = rotate(heads, *RotaryAngles(code, 8, 10).at(positions, torch.float64))
    expected = code.rotate(heads, positions[:, None].expand(2, 3, 7))
    assert torch.allclose(turned, expected, rtol=0, atol=1e-14)


def test_its_gradient_is_the_true_one(heads):
    angles = RotaryAngles(Rotary(base=100.0, layout="half-split"), 8, 7).at(torch.arange(7)[None], torch.float64)
    assert torch.autograd.gradcheck(lambda x: rotate(x, *angles), heads.requires_grad_())


def test_with_interleaved_angles_it_would_be_another_turn(heads):
    other = Rotary(base=1000.0, layout="interleaved").rotate(heads, np.arange(7))
    ours = rotate(
        heads, *RotaryAngles(Rotary(base=1000.0, layout="half-split"), 8, 7).at(torch.arange(7)[None], torch.float64)
    )
    assert not torch.allclose(ours, other, atol=1e-3)
