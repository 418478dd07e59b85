"""What a decoder reads: tokens with their positions and visibility, and the cached keys and values of earlier ones."""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.core.axes import Bool, Float, Int
from regard.training.model.config import ModelConfig


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelInput:
    """Tokens, their positions, and the keys each may see.

    `visible` covers all keys, cached ones first. `before` are the tokens one and two places back, −1 for none.
    """

    tokens: Int[Tensor, "batch position"]
    positions: Int[Tensor, "batch position"]
    visible: Bool[Tensor, "batch position key"]
    before: Int[Tensor, "batch position 2"]


def causal_input(tokens: Int[Tensor, "row token"], head_lengths: Int[Tensor, " row"]) -> ModelInput:
    """Rows of tokens from position 0 on, each seeing itself and all before it; rows may be padded on the right.

    As in training, n-grams do not reach from the head (of this length) into what follows it.
    """
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    inside = torch.where(positions < head_lengths[:, None], positions, positions - head_lengths[:, None])
    before = [torch.where(inside >= back, tokens.roll(back, dims=1), -1) for back in (1, 2)]
    visible = torch.ones(*tokens.shape, tokens.shape[1], dtype=torch.bool).tril_()
    return ModelInput(tokens=tokens, positions=positions, visible=visible, before=torch.stack(before, dim=-1))


class LayerKVCache:
    """The keys and values of one layer, for up to `shape[-2]` positions."""

    def __init__(self, shape: tuple[int, int, int, int], dtype: torch.dtype) -> None:
        self.keys, self.values = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
        self.length = 0

    def extend(
        self, keys: Float[Tensor, "batch head new width"], values: Float[Tensor, "batch head new width"]
    ) -> tuple[Float[Tensor, "batch head key width"], Float[Tensor, "batch head key width"]]:
        """All keys and values so far, the new ones last."""
        end = self.length + keys.shape[-2]
        assert end <= self.keys.shape[-2], "the cache was made for fewer positions"
        self.keys[..., self.length : end, :] = keys
        self.values[..., self.length : end, :] = values
        self.length = end
        return self.keys[..., :end, :], self.values[..., :end, :]


class KVCache:
    """A cache per layer, and the positions of everything read so far; `is_real` is false for padding."""

    def __init__(self, config: ModelConfig, *, batch: int, room: int, dtype: torch.dtype = torch.float32) -> None:
        shape = (batch, config.kv_heads, room, config.head_width)
        self.layers = [LayerKVCache(shape, dtype) for _ in range(config.num_layers)]
        self.positions = torch.zeros((batch, 0), dtype=torch.long)
        self.is_real = torch.zeros((batch, 0), dtype=torch.bool)

    def append_positions(self, positions: Tensor, is_real: Tensor) -> None:
        """Records the positions of the tokens to be read next."""
        self.positions = torch.cat([self.positions, positions], dim=1)
        self.is_real = torch.cat([self.is_real, is_real], dim=1)
