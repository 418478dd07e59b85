"""Two arithmetics for one evaluator: fast floats for a batch of draws, certified balls for what must be sure.

Balls have no largest exponent, so e^β at β = 10⁵ is an ordinary number: limits are driven without overflow.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, acb_mat, arb

from regard.analysis.closed_forms.arithmetic import erf

Function = Callable[[np.ndarray], np.ndarray]

# Between balls, only what is certain counts as true.
ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    ">": operator.gt,
    "≤": operator.le,
    "≥": operator.ge,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Arithmetic:
    """Functions on arrays (draw, row, column) of one kind of number.

    `number` makes a constant of shape (1, 1, 1), `array` takes draws in; `inverse` and `determinant` work matrix by
    matrix, `power` on a pair, and the others on each entry.
    """

    is_certified: bool
    number: Callable[[Fraction | float], np.ndarray]
    array: Function
    imaginary_unit: Callable[[], np.ndarray]
    pi: Callable[[], np.ndarray]
    exp: Function
    log: Function
    sqrt: Function
    sin: Function
    cos: Function
    tanh: Function
    erf: Function
    relu: Function
    absolute: Function
    conjugate: Function
    real: Function
    imag: Function
    inverse: Function
    determinant: Function
    power: Callable[[np.ndarray, np.ndarray], np.ndarray]


def is_complex(x: Any) -> bool:
    """True for a ball in the complex plane."""
    return isinstance(x, acb)


FLOATS = Arithmetic(
    is_certified=False,
    number=lambda value: np.full((1, 1, 1), float(value)),
    array=lambda draws: draws,
    imaginary_unit=lambda: np.full((1, 1, 1), 1j),
    pi=lambda: np.full((1, 1, 1), np.pi),
    exp=np.exp,
    log=np.log,
    sqrt=np.sqrt,
    sin=np.sin,
    cos=np.cos,
    tanh=np.tanh,
    erf=erf,
    relu=lambda x: np.maximum(x, 0.0),
    absolute=np.abs,
    conjugate=np.conjugate,
    real=np.real,
    imag=np.imag,
    inverse=np.linalg.inv,
    determinant=lambda matrices: np.linalg.det(matrices)[:, None, None],
    power=lambda base, exponent: base**exponent,
)


def _boxed(ball: Any) -> np.ndarray:
    box = np.empty((1, 1, 1), dtype=object)
    box[0, 0, 0] = ball
    return box


def _exactly(value: Fraction | float) -> np.ndarray:
    return _boxed(arb(value.numerator) / value.denominator if isinstance(value, Fraction | int) else arb(value))


def _each(function: Callable[[Any], Any]) -> Function:
    return np.frompyfunc(function, 1, 1)


_real_balls = _each(lambda x: arb(float(x)))
_complex_balls = _each(lambda z: acb(z.real, z.imag))


def _balls(draws: np.ndarray) -> np.ndarray:
    return _complex_balls(draws) if np.iscomplexobj(draws) else _real_balls(draws)


def _inverses(matrices: np.ndarray) -> np.ndarray:
    result = np.empty_like(matrices)
    for draw, matrix in enumerate(matrices):
        inverse = acb_mat([list(row) for row in matrix]).inv()
        for row, column in np.ndindex(*matrix.shape):
            entry = inverse[row, column]
            result[draw, row, column] = entry if is_complex(matrix[0, 0]) else entry.real
    return result


def _determinants(matrices: np.ndarray) -> np.ndarray:
    result = np.empty((len(matrices), 1, 1), dtype=object)
    for draw, matrix in enumerate(matrices):
        value = acb_mat([list(row) for row in matrix]).det()
        result[draw, 0, 0] = value if is_complex(matrix[0, 0]) else value.real
    return result


BALLS = Arithmetic(
    is_certified=True,
    number=_exactly,
    array=_balls,
    imaginary_unit=lambda: _boxed(acb(0, 1)),
    pi=lambda: _boxed(arb.pi()),
    exp=_each(lambda x: x.exp()),
    log=_each(lambda x: x.log()),
    sqrt=_each(lambda x: x.sqrt()),
    sin=_each(lambda x: x.sin()),
    cos=_each(lambda x: x.cos()),
    tanh=_each(lambda x: x.tanh()),
    erf=_each(lambda x: x.erf()),
    relu=_each(lambda x: x.max(arb(0))),
    absolute=_each(abs),
    conjugate=_each(lambda x: x.conjugate() if is_complex(x) else x),
    real=_each(lambda x: x.real if is_complex(x) else x),
    imag=_each(lambda x: x.imag if is_complex(x) else arb(0)),
    inverse=_inverses,
    determinant=_determinants,
    power=np.frompyfunc(lambda x, y: x**y, 2, 1),
)
