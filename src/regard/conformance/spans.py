"""Whether curves are sums of given curves, and which of these they need."""

import numpy as np

# A curve is missed only if the others do not stand in for it: this share of it is its own.
_OWN = 0.2
_ROUNDING = 1e-9


def left_over(curves: np.ndarray, columns: list[np.ndarray]) -> float:
    """The part of the columns of `curves` [place, curve] that no sums of the given columns explain, of their spread."""
    spread = float(np.linalg.norm(curves - curves.mean(axis=0)))
    return _rest(curves, columns) / max(spread, 1e-300)


def needed(curves: np.ndarray, common: np.ndarray, groups: list[np.ndarray]) -> list[float | None]:
    """What is left over if one group of columns is left out; None for groups that the others can stand in for."""
    found: list[float | None] = []
    for number, group in enumerate(groups):
        others = [common, *groups[:number], *groups[number + 1 :]]
        is_its_own = _rest(group, others) > _OWN * float(np.linalg.norm(group))
        found.append(left_over(curves, others) if is_its_own else None)
    return found


def _rest(curves: np.ndarray, columns: list[np.ndarray]) -> float:
    """The size of what is left of the curves beside all columns.

    By Gram and Schmidt, twice for each column: products this small stay on one thread, where a decomposition of the
    whole matrix would wait for others.
    """
    basis = np.zeros((len(curves), 0))
    for column in np.concatenate(columns, axis=1).T:
        own = column
        for _ in range(2):
            own = own - basis @ (basis.T @ own)
        if np.linalg.norm(own) > _ROUNDING * np.linalg.norm(column):
            basis = np.column_stack([basis, own / np.linalg.norm(own)])
    return float(np.linalg.norm(curves - basis @ (basis.T @ curves)))
