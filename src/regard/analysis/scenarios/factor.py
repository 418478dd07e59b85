"""Covariances taken apart into independent directions."""

from collections.abc import Sequence

import numpy as np

from regard.core.axes import Float
from regard.core.errors import InputError

# Pivots this small next to the largest entry are the rounding of a zero.
_ROUNDING = 64 * np.finfo(np.float64).eps
# A matrix that a caller computed in double precision may miss symmetry or positivity by this much.
_CALLERS_ROUNDING = 1e-10
# Below this doubles lose their digits, and a covariance counts as zero.
_SMALLEST = 1e-290


def factor_covariance(
    covariance: Float[np.ndarray, "head head"], *, whose: str, scale: float = 0.0
) -> tuple[Float[np.ndarray, "head rank"], Float[np.ndarray, " rank"]]:
    """A covariance is a sum of variances along directions, as many as its rank.

    covariance = Σ_r variances[r] · directions[:, r] directions[:, r]ᵀ

    Pivoted LDLᵀ: the pivot's direction is one at the pivot, so a covariance v·x xᵀ with exact entries comes apart
    exactly. `whose` names the owner in the error for a matrix that is no covariance; `scale` is the size of the numbers
    whose difference the matrix is, if it is one, so that their rounding is not taken for a direction.

    >>> directions, variances = factor_covariance(np.array([[4.0, 2.0], [2.0, 1.0]]), whose="key 'a'")
    >>> directions.tolist(), variances.tolist()
    ([[1.0], [0.5]], [4.0])
    """
    rest = np.array(covariance, dtype=np.float64)
    scale = max(scale, float(np.max(np.abs(rest), initial=0.0)), _SMALLEST)
    _require_covariance(rest, whose, scale)
    smallest_pivot = _ROUNDING * scale
    directions, variances = [], []
    for _ in range(len(rest)):
        pivot = int(np.argmax(np.diag(rest)))
        variance = float(rest[pivot, pivot])
        if not variance > smallest_pivot:
            break
        direction = rest[:, pivot] / variance
        directions.append(direction)
        variances.append(variance)
        rest = rest - variance * np.outer(direction, direction)
    return np.array(directions).reshape(len(directions), len(rest)).T, np.array(variances)


def stack_directions(
    parts: Sequence[tuple[Float[np.ndarray, "head _"], Float[np.ndarray, " _"]]], *, num_heads: int
) -> tuple[Float[np.ndarray, "group head rank"], Float[np.ndarray, "group rank"]]:
    """Directions and variances of each group side by side, padded with zeros to the largest rank."""
    rank = max((len(variances) for _, variances in parts), default=0)
    directions, variances = np.zeros((len(parts), num_heads, rank)), np.zeros((len(parts), rank))
    for group, (columns, spreads) in enumerate(parts):
        directions[group, :, : len(spreads)] = columns
        variances[group, : len(spreads)] = spreads
    return directions, variances


def isotropic_directions(rows: Sequence[Sequence[float]], *, whose: str) -> list[tuple[list[float], float]]:
    """Independent directions of Σ_j x_j x_jᵀ with their variances, for rows x_j with a number a head.

    >>> isotropic_directions([[2.0, 1.0]], whose="a test")
    [([1.0, 0.5], 4.0)]
    """
    vectors = np.array(rows, dtype=np.float64)
    directions, variances = factor_covariance(vectors.T @ vectors, whose=whose)
    return list(zip(directions.T.tolist(), variances.tolist(), strict=True))


def _require_covariance(covariance: Float[np.ndarray, "head head"], whose: str, scale: float) -> None:
    """Refuses what is not finite, symmetric and positive semi-definite, naming the offending entry or eigenvalue."""
    if not np.all(np.isfinite(covariance)):
        raise InputError(f"The covariance of {whose} has entries that are not finite. Give finite numbers.")
    asymmetry = float(np.max(np.abs(covariance - covariance.T), initial=0.0))
    if asymmetry > _CALLERS_ROUNDING * scale:
        raise InputError(
            f"The covariance of {whose} is not symmetric: entries differ from their mirror image by up to "
            f"{asymmetry:.3g}. Give (C + Cᵀ)/2 if that is what you mean."
        )
    eigenvalues = np.linalg.eigvalsh((covariance + covariance.T) / 2)
    if eigenvalues[0] < -_CALLERS_ROUNDING * scale:
        raise InputError(
            f"The covariance of {whose} has the eigenvalue {eigenvalues[0]:.6g}, but variances cannot be negative. "
            "Give a positive semi-definite matrix."
        )
