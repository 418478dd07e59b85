"""Taking one of two summands that live in orthogonal subspaces: the routes that both such claims share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.analysis.engines.words import Algebra, same
from regard.claims.claim import Trial
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

PARAMETERS = (
    Parameter(name="m", default=3, lower=1, is_integer=True),
    Parameter(name="p", default=2, lower=0, is_integer=True),
    Parameter(name="spare", default=3, lower=0, is_integer=True),
)
MOST_COLUMNS = 16


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """The matrix M as a function of A and B, and what M(Ax + By) should be as a function of A and x."""

    matrix: Callable[[Any, Any], Any]
    target: Callable[[Any, Any], Any] = lambda a, x: a @ x


def by_words(trial: Trial) -> Evidence:
    """Words with AᵀA = I, BᵀB = I and AᵀB = 0: for every d, m and p (m and d are one letter where they are equal)."""
    algebra, columns = Algebra(), "d" if trial.at.p == trial.at.spare == 0 else "m"
    a, b = algebra.orthonormal("A", "d", columns), algebra.orthonormal("B", "d", "p")
    x, y = algebra.matrix("x", columns, "1"), algebra.matrix("y", "p", "1")
    algebra.let_vanish(a.T, b)
    return same(lambda: trial.form.matrix(a, b) @ (a @ x + b @ y), lambda: trial.form.target(a, x), what="M(v_a+v_b)")


def by_random_subspaces(trial: Trial) -> Evidence:
    """Random orthonormal columns, of which the first m are A and the next p are B."""
    m, p, spare = (min(number, MOST_COLUMNS) for number in (trial.at.m, trial.at.p, trial.at.spare))
    rng, d = trial.rng("subspaces"), m + p + spare
    basis, _ = np.linalg.qr(rng.normal(size=(d, d)))
    # A sign that keeps A from being the identity by chance when m = d = 1.
    a, b = -np.copysign(1.0, basis[0, 0]) * basis[:, :m], basis[:, m : m + p]
    x, y = rng.normal(size=(m, 1)), rng.normal(size=(p, 1))
    at = f"d = {d}, m = {m}, p = {p}, seed {trial.seed}, random subspaces"
    matrix, wanted = trial.form.matrix(a, b), trial.form.target(a, x)
    if matrix.shape != (len(wanted), d):
        return _refuted(
            f"{at}: M is {matrix.shape[0]}×{matrix.shape[1]}, "
            f"so Ms has {matrix.shape[0]} entries, while the statement's vector has {len(wanted)}"
        )
    gap = float(np.abs(matrix @ (a @ x + b @ y) - wanted).max())
    # d products and sums, each rounded once, of numbers of the size of x and y.
    tolerance = 32 * d * float(np.finfo(float).eps) * float(1 + np.abs(x).sum() + np.abs(y).sum())
    if gap <= tolerance:
        return Evidence(
            route="random subspaces", status="holds", detail=f"{at}: agree to {gap:.1e}", value=gap, bound=tolerance
        )
    shown = ", ".join(f"{entry:.4g}" for entry in (matrix @ (a @ x + b @ y)).ravel()[:3])
    said = ", ".join(f"{entry:.4g}" for entry in wanted.ravel()[:3])
    return _refuted(f"{at}: Ms = ({shown}, …), the statement says ({said}, …), off by {gap:.3g}")


def _refuted(counterexample: str) -> Evidence:
    return Evidence(
        route="random subspaces", status="refuted", detail="M does not give that", counterexample=counterexample
    )
