"""Whether a training fits into memory, said before it begins."""

from dataclasses import dataclass
from pathlib import Path

from regard.errors import InputError
from regard.model.config import ModelConfig
from regard.training.recipe import BatchShape

__all__ = ["Footprint", "fits_memory", "footprint", "require_memory"]

_FLOAT = 4


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Bytes that a training needs, all its processes together."""

    processes: int
    weights: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.optimizer + self.activations


def footprint(config: ModelConfig, batch: BatchShape, *, processes: int = 1, runs: int = 1) -> Footprint:
    """Weights with their gradients, two moments of each, and what is kept of a batch for its gradient.

    Every process has all weights and its part of the batch; every run has a batch.
    """
    tokens = batch.rows * batch.length
    inner = config.hidden * (3 if config.activation == "swiglu" else 2)
    layer = tokens * (12 * config.width + inner) + batch.rows * config.num_heads * batch.length**2
    return Footprint(
        processes=runs * processes,
        weights=runs * processes * 2 * _FLOAT * config.num_parameters,
        optimizer=runs * processes * 2 * _FLOAT * config.num_parameters,
        activations=runs * _FLOAT * (config.num_layers * layer + 4 * tokens * config.width),
    )


def fits_memory(needed: Footprint) -> bool:
    """Whether this machine can hold it, as far as the system tells."""
    free = _available()
    return free is None or needed.total <= free


def require_memory(needed: Footprint) -> None:
    """Refuses a training that this machine cannot hold."""
    if not fits_memory(needed):
        raise InputError(
            f"This training needs about {needed.total / 2**30:.1f} GiB (processes: {needed.processes}), and "
            f"{(_available() or 0) / 2**30:.1f} GiB are free. Make the model smaller (--set model.width=…) or the "
            "batch (--set batch.rows=…), or use fewer processes or members."
        )


def _available() -> int | None:
    """Free bytes, where the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None
