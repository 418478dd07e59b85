"""Keys and values of what has been read, so that a next token costs one step."""

import torch
from torch import Tensor

from regard.core.axes import Float
from regard.training.model.config import ModelConfig


class LayerCache:
    """The keys and values of one layer, with room for a fixed number of positions."""

    def __init__(self, shape: tuple[int, int, int, int], dtype: torch.dtype) -> None:
        self.keys, self.values = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
        self.length = 0

    def extend(
        self, keys: Float[Tensor, "batch head new width"], values: Float[Tensor, "batch head new width"]
    ) -> tuple[Float[Tensor, "batch head key width"], Float[Tensor, "batch head key width"]]:
        """All keys and values so far, the new ones last."""
        end = self.length + keys.shape[-2]
        assert end <= self.keys.shape[-2], "the cache was made with room for every position"
        self.keys[..., self.length : end, :] = keys
        self.values[..., self.length : end, :] = values
        self.length = end
        return self.keys[..., :end, :], self.values[..., :end, :]


class Cache:
    """A cache for each layer, and the places of all that has been read."""

    def __init__(self, config: ModelConfig, *, batch: int, room: int, dtype: torch.dtype = torch.float32) -> None:
        shape = (batch, config.kv_heads, room, config.head_width)
        self.layers = [LayerCache(shape, dtype) for _ in range(config.num_layers)]
        self.positions = torch.zeros((batch, 0), dtype=torch.long)
        self.is_real = torch.zeros((batch, 0), dtype=torch.bool)

    def place(self, positions: Tensor, is_real: Tensor) -> None:
        """Notes where the new tokens stand, and which of them are not padding."""
        self.positions = torch.cat([self.positions, positions], dim=1)
        self.is_real = torch.cat([self.is_real, is_real], dim=1)
