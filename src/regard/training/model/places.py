"""The position codes inside a decoder: what each adds, turns or biases, its learned table included."""

import numpy as np
import torch
from torch import Tensor, nn

from regard.core.axes import Float, Int
from regard.core.errors import InputError
from regard.positions.alibi import Alibi
from regard.positions.rotary import Rotary
from regard.positions.sinusoidal import sinusoid
from regard.positions.t5_buckets import t5_bucket
from regard.training.model.config import ModelConfig
from regard.training.model.turning import Turns


class Places(nn.Module):
    """A decoder's way to tell where tokens stand; this one tells nothing."""

    def __init__(self) -> None:
        super().__init__()
        # Not a default of the class, which would hide the module that a subclass sets.
        self.turns: Turns | None = None

    def add(
        self,
        embeddings: Float[Tensor, "batch position width"],
        positions: Int[Tensor, "batch position"],  # noqa: ARG002
    ) -> Float[Tensor, "batch position width"]:
        """The embeddings with their positions written into them."""
        return embeddings

    def bias(
        self,
        queries: Int[Tensor, "batch query"],  # noqa: ARG002
        keys: Int[Tensor, "batch key"],  # noqa: ARG002
    ) -> Float[Tensor, "batch head query key"] | None:
        """What is added to the logits; None where nothing is."""
        return None


class _Rotary(Places):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        code = Rotary(base=config.rotary_base, layout="half-split")
        self.turns = Turns(code, config.head_width, config.max_length)


class _Learned(Places):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(config.max_length, config.width))

    def add(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        return embeddings + self.table[positions].to(embeddings.dtype)


class _Sinusoidal(Places):
    waves: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        waves = torch.from_numpy(sinusoid(np.arange(config.max_length), width=config.width))
        # About as large as the embeddings: those of a lean model are normalised, others start small.
        self.register_buffer("waves", waves if config.is_lean else 0.02 * waves, persistent=False)

    def add(self, embeddings: Tensor, positions: Tensor) -> Tensor:
        return embeddings + self.waves[positions].to(embeddings.dtype)


class _Alibi(Places):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.code = Alibi(num_heads=config.num_heads)

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        return self.code.bias(queries, keys)


class _T5Buckets(Places):
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.max_distance = max(config.max_length, 32)
        self.table = nn.Parameter(torch.zeros(32, config.num_heads))

    def bias(self, queries: Tensor, keys: Tensor) -> Tensor:
        gaps = keys[..., None, :] - queries[..., :, None]
        buckets = t5_bucket(gaps, num_buckets=len(self.table), max_distance=self.max_distance, is_causal=True)
        return self.table[buckets].movedim(-1, -3)


_KINDS = {
    "alibi": _Alibi,
    "learned": _Learned,
    "none": lambda _: Places(),
    "rotary": _Rotary,
    "sinusoidal": _Sinusoidal,
    "t5_buckets": _T5Buckets,
}


def places(config: ModelConfig) -> Places:
    """The places of the code that the configuration names."""
    if config.positions not in _KINDS:
        raise InputError(f"The decoder has no {config.positions!r} positions. It has: {', '.join(sorted(_KINDS))}.")
    return _KINDS[config.positions](config)
