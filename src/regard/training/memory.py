"""Whether a training fits into memory, said before it begins."""

from dataclasses import dataclass
from pathlib import Path

from regard.core.errors import InputError
from regard.training.model.config import ModelConfig
from regard.training.recipe import BatchShape

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

    Every process of every run has all weights, and as many rows as it takes at once where no other machine helps.
    """
    rows = batch.rows_at_once(processes)
    tokens = rows * batch.length
    # With dropout, what goes in and what comes out is kept, and the mask. Without it, the shares of one layer are made
    # several times over. A fused attention does neither; whether PyTorch has one for these sizes is not known here.
    streams, shares, shares_once = (16, 4, 0) if config.dropout else (12, 1, 3)
    inner = config.hidden * (4 if config.activation == "swiglu" else 2)
    attention = rows * config.num_heads * batch.length**2
    kept = (
        tokens * config.width * (streams * config.num_layers + 4)
        + tokens * inner * config.feed_forwards
        + attention * (shares * config.num_layers + shares_once)
        + 4 * batch.num_candidates(config.vocab_size) * config.width
    )
    everywhere = runs * processes * _FLOAT
    return Footprint(
        processes=runs * processes,
        weights=everywhere * 2 * config.num_parameters,
        optimizer=everywhere * 2 * config.num_parameters,
        activations=everywhere * kept,
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
            f"{(_available() or 0) / 2**30:.1f} GiB are free. Make the model smaller (--set model.width=…, --set "
            "model.num_layers=…) or rows shorter (--set batch.length=…), or use fewer processes or members."
        )


def _available() -> int | None:
    """Free bytes, where the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None
