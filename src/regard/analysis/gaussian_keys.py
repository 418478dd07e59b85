"""The course's keys in key space, with numpy: what the direct engine draws, and directions of isotropic noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Float
from regard.core.errors import InputError

# A pivot this small relative to the largest entry is a zero with rounding errors.
_ROUNDING = 64 * np.finfo(np.float64).eps
# Below this, doubles lose their digits, and a covariance counts as zero.
_SMALLEST = 1e-290
MAX_BYTES = 4 * 10**9


@dataclass(frozen=True, kw_only=True, eq=False)
class KeySpace:
    """Independent Gaussian keys around orthonormal means, the unit vectors, and one query per head.

    k_i ~ N(e_i, αI + noise_i e_i e_iᵀ)

    Keys that share a name are identical in law. With `is_normalized`, every drawn key is divided by its norm.
    """

    names: tuple[str, ...]
    noise: Float[np.ndarray, " key"]
    alpha: float
    queries: Float[np.ndarray, "head key"]
    is_normalized: bool = False


def isotropic_directions(rows: Sequence[Sequence[float]]) -> list[tuple[list[float], float]]:
    """Independent directions of Σ_j x_j x_jᵀ with their variances; each row x_j has one number per head.

    Σ_j x_j x_jᵀ = Σ_r variance_r · direction_r direction_rᵀ

    Pivoted LDLᵀ: the pivot's direction is one at the pivot, so that x xᵀ with exact entries comes apart exactly.

    >>> isotropic_directions([[2.0, 1.0]])
    [([1.0, 0.5], 4.0)]
    """
    vectors = np.array(rows, dtype=np.float64)
    rest = vectors.T @ vectors
    smallest_pivot = _ROUNDING * max(float(np.max(np.abs(rest), initial=0.0)), _SMALLEST)
    found = []
    for _ in range(len(rest)):
        pivot = int(np.argmax(np.diag(rest)))
        variance = float(rest[pivot, pivot])
        if not variance > smallest_pivot:
            break
        direction = rest[:, pivot] / variance
        found.append((direction.tolist(), variance))
        rest = rest - variance * np.outer(direction, direction)
    return found


def readable_bytes(num_bytes: int) -> str:
    """A number of bytes in the largest decimal unit of which there is at least one.

    >>> readable_bytes(8_000_000_000_000)
    '8.0 TB'
    """
    size, units = float(num_bytes), ["B", "kB", "MB", "GB", "TB", "PB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{size:.1f} {units[0]}"


def require_memory(num_numbers: int, *, what: str, instead: str) -> None:
    """Raises an InputError if that many doubles need more than `MAX_BYTES`; `instead` says what to do."""
    num_bytes = 8 * num_numbers
    if num_bytes > MAX_BYTES:
        raise InputError(
            f"{what} would need {readable_bytes(num_bytes)} of memory; "
            f"the limit is {readable_bytes(MAX_BYTES)}. {instead}"
        )
