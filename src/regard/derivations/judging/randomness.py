"""Means, variances and probabilities of quantities that are linear in Gaussian symbols, without sampling.

A linear quantity x(r) of independent random components r_j is moved by one component at a time:
Var x = Σ_j (x(m + e_j) − x(m))² Var r_j, and P(x > 0) = Φ(E x / √Var x).
"""

from dataclasses import replace

import numpy as np

from regard.derivations.judging.arithmetic import Arithmetic
from regard.derivations.judging.instances import Instance
from regard.derivations.notation.tokens import NotUnderstood

__all__ = ["moments", "moved", "normal_share"]


def moved(instance: Instance, size: float) -> Instance:
    """The instance with random symbols at their means, then moved by `size` one component at a time."""
    return replace(instance, moved=size)


def moments(once: np.ndarray, twice: np.ndarray, instance: Instance) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of a quantity from its values on the moved instances, (draw·move, 1, 1) each."""
    weights = instance.component_variances()
    shape = (-1, 1 + len(weights), 1, 1)
    first, second = once.reshape(shape), twice.reshape(shape)
    slopes = first[:, 1:] - first[:, :1]
    bends = second[:, 1:] - second[:, :1] - 2 * slopes
    if any(not bool(abs(bend) < 1e-9) for bend in bends.flat):
        raise NotUnderstood("the mean or variance of something that is not linear in the random symbols.")
    variance = np.sum(slopes * slopes * weights.reshape(1, -1, 1, 1), axis=1)
    return first[:, 0], variance


def normal_share(mean: np.ndarray, variance: np.ndarray, arithmetic: Arithmetic) -> np.ndarray:
    """P(x > 0) = Φ(mean/√variance) of a Gaussian x."""
    two = arithmetic.number(2)
    return (1 + arithmetic.erf(mean / arithmetic.sqrt(two * variance))) / 2
