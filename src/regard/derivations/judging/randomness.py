"""Means, variances and probabilities of quantities that are linear in Gaussian symbols, without sampling.

A linear quantity x(r) of independent random components r_j is moved by one component at a time:
Var x = Σ_j (x(m + e_j) − x(m))² Var r_j, and P(x > 0) = Φ(E x / √Var x).
"""

from dataclasses import replace

import numpy as np

from regard.derivations.judging.arithmetic import Arithmetic
from regard.derivations.judging.evaluation import Evaluation
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.values import Value
from regard.derivations.notation.syntax import Apply, Condition, Expression, Negative, Sum
from regard.derivations.notation.tokens import NotUnderstood
from regard.derivations.problems.model import Setting

EXPECTATIONS = ("var", "mean", "probability")


def is_random(setting: Setting) -> bool:
    """True if a symbol of the setting is random."""
    return any(meaning.variance is not None for meaning in setting.symbols.values())


def expected(evaluate: Evaluation, node: Apply) -> Value:
    """E, Var or P of something linear in the random symbols."""
    body = _above_zero(node.arguments[0])
    once, twice = (_moved(evaluate, body, size) for size in (1.0, 2.0))
    mean, variance = moments(once, twice, evaluate.instance)
    if node.function == "probability":
        return Value(normal_share(mean, variance, evaluate.arithmetic))
    return Value(mean if node.function == "mean" else variance)


def _above_zero(body: Expression) -> Expression:
    """What must be above zero for a condition to be met: x − y for x > y."""
    if not isinstance(body, Condition):
        return body
    larger, smaller = (body.left, body.right[0]) if body.sign in (">", "≥") else (body.right[0], body.left)
    return Sum((larger, Negative(smaller)))


def _moved(evaluate: Evaluation, body: Expression, size: float) -> np.ndarray:
    """The values with random symbols at their means, then moved by `size` one component at a time."""
    inside = evaluate.elsewhere(instance=replace(evaluate.instance, moved=size))
    value = inside(body)
    if not value.is_scalar:
        raise NotUnderstood("the mean or variance of a vector is not evaluated.")
    return np.broadcast_to(value.array, (inside.instance.total_draws, 1, 1))


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
