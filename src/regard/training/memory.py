"""Whether a training fits into memory, checked before it starts."""

from pathlib import Path

from regard.core.errors import InputError
from regard.training.model.config import ModelConfig
from regard.training.recipe import BatchShape

_FLOAT = 4
# Python, PyTorch and a pass over the data, per process.
_PROGRAM = 2**29


def bytes_needed(config: ModelConfig, batch: BatchShape, *, processes: int = 1, runs: int = 1) -> int:
    """Weights with their gradients, two moments of each, and the activations kept for backpropagation.

    Every process of every run holds all weights, and the activations of the rows it handles at once.
    """
    rows = batch.rows_at_once(processes)
    tokens = rows * batch.length
    # With dropout, each layer keeps its attention weights before and after it, and the mask. Without it, the weights of
    # one layer exist several times over. Fused attention needs neither, but whether it applies is not known here.
    streams, weights, weights_once = (16, 4, 0) if config.dropout else (12, 1, 3)
    inner = config.hidden * (4 if config.activation == "swiglu" else 2)
    attention = rows * config.num_heads * batch.length**2
    activations = (
        tokens * config.width * (streams * config.num_layers + 4)
        + tokens * inner * config.feed_forwards
        + attention * (weights * config.num_layers + weights_once)
        + 4 * batch.num_candidates(config.vocab_size) * config.width
    )
    return runs * processes * (_PROGRAM + _FLOAT * (4 * config.num_parameters + activations))


def fits_memory(config: ModelConfig, batch: BatchShape, *, processes: int = 1, runs: int = 1) -> bool:
    """Whether this machine has enough free memory; true if the system doesn't say."""
    free = _available()
    return free is None or bytes_needed(config, batch, processes=processes, runs=runs) <= free


def require_memory(config: ModelConfig, batch: BatchShape, *, processes: int = 1, runs: int = 1) -> None:
    """Refuses a training that does not fit into free memory."""
    if not fits_memory(config, batch, processes=processes, runs=runs):
        needed = bytes_needed(config, batch, processes=processes, runs=runs) / 2**30
        raise InputError(
            f"This training needs about {needed:.1f} GiB (processes: {runs * processes}), but only "
            f"{(_available() or 0) / 2**30:.1f} GiB are free. Make the model smaller (--set model.width=…, --set "
            "model.num_layers=…) or rows shorter (--set batch.length=…), or use fewer processes or members."
        )


def _available() -> int | None:
    """Free bytes; None if the system doesn't say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None
