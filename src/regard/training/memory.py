"""Whether a training fits into memory, said before it begins."""

from dataclasses import dataclass
from pathlib import Path

from regard.errors import InputError
from regard.model.config import ModelConfig
from regard.training.recipe import BatchShape

__all__ = ["Footprint", "fits_memory", "footprint", "require_memory"]

_FLOAT = 4
# Python, PyTorch and a pass over the data, in each process.
_PROGRAM = 2**29


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Bytes that a training needs, all its processes together."""

    processes: int
    weights: int
    optimizer: int
    activations: int

    @property
    def total(self) -> int:
        """All of them, and what a process needs besides."""
        return self.processes * _PROGRAM + self.weights + self.optimizer + self.activations


def footprint(config: ModelConfig, batch: BatchShape, *, processes: int = 1, runs: int = 1) -> Footprint:
    """Weights with their gradients, two moments of each, and what is kept of some rows for their gradient.

    Every process of every run has all weights, and as many rows as it takes at once.
    """
    rows = batch.rows_at_once(processes)
    tokens = rows * batch.length
    inner = config.hidden * (3 if config.activation == "swiglu" else 2)
    # With dropout, shares of attention are kept before and after it, as are the masks.
    streams, shares = (16, 4) if config.dropout else (12, 1)
    layer = tokens * (streams * config.width + inner) + shares * rows * config.num_heads * batch.length**2
    everywhere = runs * processes * _FLOAT
    return Footprint(
        processes=runs * processes,
        weights=everywhere * 2 * config.num_parameters,
        optimizer=everywhere * 2 * config.num_parameters,
        activations=everywhere * (config.num_layers * layer + 4 * tokens * config.width),
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
