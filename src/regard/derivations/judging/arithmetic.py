"""Two arithmetics for one evaluator: fast floats for a batch of draws, certified balls for what must be sure.

Balls have no largest exponent, so e^β at β = 10⁵ is an ordinary number: limits are driven without overflow.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb

from regard.theory.arithmetic import erf

__all__ = ["BALLS", "FLOATS", "Arithmetic"]

Function = Callable[[np.ndarray], np.ndarray]


class Arithmetic:
    """Elementwise functions on numpy arrays: of float64 or complex128 here, of balls in the subclass."""

    is_certified = False

    def number(self, value: Any) -> np.ndarray:
        """A constant as an array of shape (1, 1, 1)."""
        return np.full((1, 1, 1), float(value))

    def array(self, draws: np.ndarray) -> np.ndarray:
        """The draws in this arithmetic."""
        return draws

    exp: Function = staticmethod(np.exp)
    log: Function = staticmethod(np.log)
    sqrt: Function = staticmethod(np.sqrt)
    sin: Function = staticmethod(np.sin)
    cos: Function = staticmethod(np.cos)
    tanh: Function = staticmethod(np.tanh)
    absolute: Function = staticmethod(np.abs)
    erf: Function = staticmethod(erf)
    conjugate: Function = staticmethod(np.conjugate)

    def real(self, x: np.ndarray) -> np.ndarray:
        """The real part."""
        return np.real(x)

    def imag(self, x: np.ndarray) -> np.ndarray:
        """The imaginary part."""
        return np.imag(x)

    def relu(self, x: np.ndarray) -> np.ndarray:
        """max(x, 0)."""
        return np.maximum(x, 0.0)

    def inverse(self, matrices: np.ndarray) -> np.ndarray:
        """The inverse of each matrix."""
        return np.linalg.inv(matrices)

    def determinant(self, matrices: np.ndarray) -> np.ndarray:
        """The determinant of each matrix, (draw, 1, 1)."""
        return np.linalg.det(matrices)[:, None, None]

    def imaginary_unit(self) -> np.ndarray:
        """i."""
        return np.full((1, 1, 1), 1j)

    def pi(self) -> np.ndarray:
        """π."""
        return np.full((1, 1, 1), np.pi)

    def power(self, base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        """base^exponent, elementwise."""
        return base**exponent


def _elementwise(function: Callable[[Any], Any]) -> Function:
    ufunc = np.frompyfunc(function, 1, 1)
    return lambda x: ufunc(x)


def _real_part(x: Any) -> Any:
    return x.real if isinstance(x, acb) else x


class _Balls(Arithmetic):
    is_certified = True

    def number(self, value: Any) -> np.ndarray:
        ratio = value if hasattr(value, "numerator") else float(value)
        ball = arb(ratio.numerator) / ratio.denominator if hasattr(ratio, "denominator") else arb(ratio)
        return _boxed(ball)

    def array(self, draws: np.ndarray) -> np.ndarray:
        if np.iscomplexobj(draws):
            return np.frompyfunc(lambda z: acb(z.real, z.imag), 1, 1)(draws)
        return np.frompyfunc(lambda x: arb(float(x)), 1, 1)(draws)

    exp = staticmethod(_elementwise(lambda x: x.exp()))
    log = staticmethod(_elementwise(lambda x: x.log()))
    sqrt = staticmethod(_elementwise(lambda x: x.sqrt()))
    sin = staticmethod(_elementwise(lambda x: x.sin()))
    cos = staticmethod(_elementwise(lambda x: x.cos()))
    tanh = staticmethod(_elementwise(lambda x: x.tanh()))
    absolute = staticmethod(_elementwise(abs))
    erf = staticmethod(_elementwise(lambda x: x.erf()))
    conjugate = staticmethod(_elementwise(lambda x: x.conjugate() if isinstance(x, acb) else x))
    real = staticmethod(_elementwise(_real_part))
    imag = staticmethod(_elementwise(lambda x: x.imag if isinstance(x, acb) else arb(0)))
    relu = staticmethod(_elementwise(lambda x: x.max(arb(0))))

    def inverse(self, matrices: np.ndarray) -> np.ndarray:
        result = np.empty_like(matrices)
        for draw, matrix in enumerate(matrices):
            inverse = acb_mat([list(row) for row in matrix]).inv()
            for row, column in np.ndindex(*matrix.shape):
                entry = inverse[row, column]
                result[draw, row, column] = entry if isinstance(matrix[0, 0], acb) else entry.real
        return result

    def rounded(self, x: np.ndarray) -> np.ndarray:
        """Numbers whose last digits are not to be trusted, cut to 20 digits."""
        return np.frompyfunc(lambda ball: arb(ball.mid().str(20, radius=False)), 1, 1)(x)

    def determinant(self, matrices: np.ndarray) -> np.ndarray:
        result = np.empty((len(matrices), 1, 1), dtype=object)
        for draw, matrix in enumerate(matrices):
            value = acb_mat([list(row) for row in matrix]).det()
            result[draw, 0, 0] = value if isinstance(matrix[0, 0], acb) else value.real
        return result

    def imaginary_unit(self) -> np.ndarray:
        return _boxed(acb(0, 1))

    def pi(self) -> np.ndarray:
        return _boxed(arb.pi())

    def power(self, base: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        return np.frompyfunc(lambda x, y: x**y, 2, 1)(base, exponent)


def _boxed(ball: Any) -> np.ndarray:
    box = np.empty((1, 1, 1), dtype=object)
    box[0, 0, 0] = ball
    return box


FLOATS = Arithmetic()
BALLS = _Balls()
