"""Functions of values: entry by entry, of whole matrices, and of several values."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np
from flint import acb

from regard.derivations.judging.values import Arithmetic, IllShaped, Value, add, multiply
from regard.derivations.notation.tokens import NotUnderstood

_IN_BOTH = {name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "relu", "erf")} | {
    "re": "real",
    "im": "imag",
}
_LARGEST_FACTORIAL = 170
# In floats and in balls, where the arithmetics have no such function.
_SEPARATE: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "factorial": (lambda x: math.gamma(x + 1) if x < _LARGEST_FACTORIAL else math.inf, lambda ball: (ball + 1).gamma()),
    "tan": (math.tan, methodcaller("tan")),
    "arctan": (math.atan, methodcaller("atan")),
    "arcsin": (lambda x: math.asin(x) if abs(x) <= 1 else math.nan, methodcaller("asin")),
    "arccos": (lambda x: math.acos(x) if abs(x) <= 1 else math.nan, methodcaller("acos")),
    "floor": (math.floor, methodcaller("floor")),
    "ceiling": (math.ceil, methodcaller("ceil")),
    "sign": (lambda x: float(np.sign(x)), methodcaller("sgn")),
    "sinh": (math.sinh, methodcaller("sinh")),
    "cosh": (math.cosh, methodcaller("cosh")),
}


# -- functions of one value --------------------------------------------------------------------------------------------
def of_one(function: str, x: Value, arithmetic: Arithmetic) -> Value:
    """The value of a function of one argument, or NotUnderstood."""
    if function in _IN_BOTH or function in _SEPARATE or function in _MADE_OF_OTHERS:
        return Value(_by_entry(function, x, arithmetic))
    if function == "softmax" or (function == "\\sigma" and not x.is_scalar):
        return _softmax(x, arithmetic)
    if function == "\\Phi":
        half = arithmetic.number(Fraction(1, 2))
        return Value(half + half * arithmetic.erf(x.array / arithmetic.sqrt(arithmetic.number(2))))
    if function == "rank":
        ranks = np.linalg.matrix_rank(_midpoints(x.array))
        return Value(arithmetic.array(ranks.astype(float).reshape(-1, 1, 1)))
    if function in ("\\sigma", "sigmoid"):
        return Value(1 / (1 + arithmetic.exp(-x.array)))
    if function in _OF_MATRICES and not x.is_identity:
        return _OF_MATRICES[function](x, arithmetic)
    if function == "mean" and not x.is_scalar:
        return Value(np.sum(x.array, axis=(1, 2), keepdims=True) / (x.shape[0] * x.shape[1]))
    raise NotUnderstood(f"The function {function} is not supported here.")


def _midpoints(array: np.ndarray) -> np.ndarray:
    """Floats near the entries, which a rank is taken of: random draws have the same one."""
    if array.dtype != object:
        return array
    return np.array(
        [float(ball.real.mid()) if isinstance(ball, acb) else float(ball.mid()) for ball in array.flat]
    ).reshape(array.shape)


def _by_entry(function: str, x: Value, arithmetic: Arithmetic) -> np.ndarray:
    if x.is_identity:
        raise NotUnderstood(f"Can't apply {function} to a matrix of unknown size.")
    if function not in ("exp", "log", "sqrt", "sin", "cos", "tanh", "re", "im") and _is_complex(x):
        raise NotUnderstood(f"Can't take the {function} of a complex number.")
    if function in _MADE_OF_OTHERS:
        return _MADE_OF_OTHERS[function](x.array, arithmetic)
    if function in _IN_BOTH:
        return getattr(arithmetic, _IN_BOTH[function])(x.array)
    in_floats, in_balls = _SEPARATE[function]
    if arithmetic.is_certified:
        return np.frompyfunc(in_balls, 1, 1)(x.array)
    found = np.frompyfunc(partial(_or_nan, in_floats), 1, 1)(x.array)
    return np.asarray(found, dtype=float)


def _or_nan(function: Callable[[float], float], x: float) -> float:
    """NaN where math has no value: ⌊∞⌋, tan ∞, Γ(−1)."""
    try:
        return function(x)
    except (ValueError, OverflowError):
        return math.nan


def _is_complex(x: Value) -> bool:
    return np.iscomplexobj(x.array) or (x.array.dtype == object and any(isinstance(ball, acb) for ball in x.array.flat))


_MADE_OF_OTHERS: Mapping[str, Callable[[np.ndarray, Arithmetic], np.ndarray]] = {
    "softplus": lambda x, arithmetic: arithmetic.log(1 + arithmetic.exp(x)),
    "elu": lambda x, arithmetic: arithmetic.relu(x) + arithmetic.exp(-arithmetic.relu(-x)) - 1,
    "gelu": lambda x, arithmetic: x * (1 + arithmetic.erf(x / arithmetic.sqrt(arithmetic.number(2)))) / 2,
}


def _softmax(x: Value, arithmetic: Arithmetic) -> Value:
    if x.is_scalar:
        raise NotUnderstood("Can't take the softmax of a single number.")
    axis = 1 if x.shape[1] == 1 else 2
    array = x.array if arithmetic.is_certified else x.array - x.array.max(axis=axis, keepdims=True)
    weights = arithmetic.exp(array)
    return Value(weights / np.sum(weights, axis=axis, keepdims=True))


# -- functions of whole matrices ---------------------------------------------------------------------------------------
def _square(x: Value, function: str) -> np.ndarray:
    if x.shape[0] != x.shape[1]:
        raise NotUnderstood(f"The {function} of {x.describe_shape()} is not supported.")
    return x.array


def _trace(x: Value, _arithmetic: Arithmetic) -> Value:
    return Value(np.trace(_square(x, "trace"), axis1=1, axis2=2)[:, None, None])


def _determinant(x: Value, arithmetic: Arithmetic) -> Value:
    return Value(arithmetic.determinant(_square(x, "determinant")))


def _diagonal(x: Value, _arithmetic: Arithmetic) -> Value:
    """The diagonal matrix of a vector, the diagonal of a matrix."""
    if 1 in x.shape:
        entries = x.array.reshape(len(x.array), -1, 1)
        return Value(entries * np.eye(entries.shape[1], dtype=int)[None])
    return Value(np.diagonal(_square(x, "diagonal"), axis1=1, axis2=2)[:, :, None])


_OF_MATRICES: Mapping[str, Callable[[Value, Arithmetic], Value]] = {
    "trace": _trace,
    "det": _determinant,
    "logdet": lambda x, arithmetic: Value(arithmetic.log(_determinant(x, arithmetic).array)),
    "diag": _diagonal,
    "vec": lambda x, _: Value(np.swapaxes(x.array, 1, 2).reshape(len(x.array), -1, 1)),
}


# -- functions of several values ---------------------------------------------------------------------------------------
def _extreme(sign: int) -> Callable[[Value, Value, Arithmetic], Value]:
    def larger_or_smaller(left: Value, right: Value, arithmetic: Arithmetic) -> Value:
        gap = add(left, right.negated())
        return Value(add(left, right).array * 0.5 + arithmetic.absolute(gap.array) * (0.5 * sign))

    return larger_or_smaller


def _by_entries(left: Value, right: Value, _arithmetic: Arithmetic) -> Value:
    if left.is_scalar or right.is_scalar:
        return multiply(left, right)
    if left.is_identity or right.is_identity or left.shape != right.shape:
        raise IllShaped(f"{left.describe_shape()} ⊙ {right.describe_shape()}")
    return Value(left.array * right.array)


def _outer(left: Value, right: Value, _arithmetic: Arithmetic) -> Value:
    """x yᵀ for two vectors, the Kronecker product of matrices."""
    if left.is_scalar or right.is_scalar:
        return multiply(left, right)
    if left.is_identity or right.is_identity:
        raise NotUnderstood("The size of this identity matrix is not known.")
    right = right.transposed() if left.shape[1] == 1 == right.shape[1] else right
    blocks = left.array[:, :, None, :, None] * right.array[:, None, :, None, :]
    rows, columns = left.shape[0] * right.shape[0], left.shape[1] * right.shape[1]
    return Value(blocks.reshape(-1, rows, columns))


def _binomial(top: Value, bottom: Value, arithmetic: Arithmetic) -> Value:
    parts = (top, bottom, add(top, bottom.negated()))
    if not arithmetic.is_certified:
        above, below, rest = (np.vectorize(math.lgamma, otypes=[float])(part.array + 1) for part in parts)
        return Value(np.exp(above - below - rest))
    above, below, rest = (of_one("factorial", part, arithmetic).array for part in parts)
    return Value(above / (below * rest))


OF_SEVERAL: Mapping[str, Callable[[Value, Value, Arithmetic], Value]] = {
    "max": _extreme(1),
    "min": _extreme(-1),
    "⊙": _by_entries,
    "⊗": _outer,
    "binomial": _binomial,
}
