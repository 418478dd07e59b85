"""Whether a training fits into memory, said before it begins."""

from dataclasses import dataclass
from pathlib import Path

from regard.errors import InputError
from regard.model.config import ModelConfig
from regard.training.recipe import BatchShape

__all__ = ["Footprint", "footprint", "require_memory"]

_FLOAT = 4


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Bytes that a training process needs."""

    weights: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.optimizer + self.activations


def footprint(config: ModelConfig, batch: BatchShape) -> Footprint:
    """Weights with their gradients, two moments of each, and what is kept of a batch for its gradient."""
    tokens = batch.rows * batch.length
    inner = config.hidden * (3 if config.activation == "swiglu" else 2)
    layer = tokens * (12 * config.width + inner) + batch.rows * config.num_heads * batch.length**2
    return Footprint(
        weights=2 * _FLOAT * config.num_parameters,
        optimizer=2 * _FLOAT * config.num_parameters,
        activations=_FLOAT * (config.num_layers * layer + 4 * tokens * config.width),
    )


def require_memory(config: ModelConfig, batch: BatchShape) -> None:
    """Refuses a training that this machine cannot hold."""
    needed, free = footprint(config, batch).total, _available()
    if free is not None and needed > free:
        raise InputError(
            f"This training needs about {needed / 2**30:.1f} GiB in each process, and {free / 2**30:.1f} GiB are free. "
            "Make the model smaller (--set model.width=…) or the batch (--set batch.rows=…)."
        )


def _available() -> int | None:
    """Free bytes, where the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None
