import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import regard.positions
from regard.positions.rotary import Rotary
from regard.training.model import Decoder, KVCache, ModelConfig, causal_input
from regard.training.model.positions import RotaryAngles, rotate

# A code with all three hooks and a table, as somebody would write it.
NEW_CODE = """
from dataclasses import dataclass
from typing import Any

from regard.positions import PositionCode
from regard.positions.rotary import Rotary


@dataclass(frozen=True, kw_only=True, eq=False)
class Everything(PositionCode):
    table: Any

    @classmethod
    def for_model(cls, sizes):
        import numpy as np

        return cls(table=np.ones((sizes.max_length, sizes.width)))

    def add(self, embeddings, positions):
        return embeddings + self.table[positions]

    def rotate(self, heads, positions):
        return Rotary().rotate(heads, positions)

    def bias(self, query_positions, key_positions):
        gaps = query_positions[..., :, None] - key_positions[..., None, :]
        return -0.1 * gaps.abs()[..., None, :, :].double()


CODE = Everything
"""


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


def test_a_new_code_is_one_new_file(tmp_path, monkeypatch):
    (tmp_path / "everything.py").write_text(NEW_CODE, encoding="utf-8")
    monkeypatch.setattr(regard.positions, "__path__", [*regard.positions.__path__, str(tmp_path)])
    sizes = {"vocab_size": 11, "max_length": 16, "width": 16, "num_layers": 2, "num_heads": 4, "hidden": 24}
    model = Decoder(ModelConfig(**sizes, positions="everything"))
    given = causal_input(torch.randint(0, 11, (2, 9)), torch.zeros(2, dtype=torch.long))
    hidden = model(given)
    hidden.square().sum().backward()
    assert model.places.table.grad.abs().sum() > 0
    cache = KVCache(model.config, batch=2, room=9)
    cache.append_positions(given.positions, torch.ones_like(given.positions, dtype=torch.bool))
    assert torch.allclose(model(given, cache=cache), hidden, atol=1e-5)
