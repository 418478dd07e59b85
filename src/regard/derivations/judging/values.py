"""Values with shapes, in two arithmetics: fast floats for a batch of draws, certified balls for what must be sure.

Everything is a batch of matrices: a scalar is 1×1, a vector a column. Two values are shape-free: a literal 0, and
a multiple of I. Balls have no largest exponent, so e^β at β = 10⁵ is an ordinary number: limits are driven without
overflow.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import acb, acb_mat, arb

from regard.analysis.closed_forms.arithmetic import erf
from regard.core.errors import RegardError
from regard.derivations.judging.findings import Note

ArrayFunction = Callable[[np.ndarray], np.ndarray]

# Between balls, only what is certain counts as true.
ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    ">": operator.gt,
    "≤": operator.le,
    "≥": operator.ge,
}


# -- arithmetics -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True, eq=False)
class Arithmetic:
    """Functions on arrays (draw, row, column) of one kind of number.

    `number` makes a constant of shape (1, 1, 1), `array` takes draws in; `inverse` and `determinant` work matrix by
    matrix, `power` on a pair, and the others on each entry. A printed decimal may stand for what lies up to that many
    units of its last place nearer to zero and farther from it, as `rounding` says.
    """

    def decimal(self, value: Fraction, places: int) -> np.ndarray:
        """A printed number with that many decimals: itself, or the ball of all that it may be rounded from."""
        if not places or self.rounding is None:
            return self.number(value)
        nearer, farther = (units / 10**places for units in self.rounding)
        middle = abs(value) + (farther - nearer) / 2
        ball = _exactly(middle) + _boxed(arb(0, _exactly((farther + nearer) / 2)[0, 0, 0]))
        return -ball if value < 0 else ball

    is_certified: bool
    number: Callable[[Fraction | float], np.ndarray]
    array: ArrayFunction
    imaginary_unit: Callable[[], np.ndarray]
    pi: Callable[[], np.ndarray]
    exp: ArrayFunction
    log: ArrayFunction
    sqrt: ArrayFunction
    sin: ArrayFunction
    cos: ArrayFunction
    tanh: ArrayFunction
    erf: ArrayFunction
    relu: ArrayFunction
    absolute: ArrayFunction
    conjugate: ArrayFunction
    real: ArrayFunction
    imag: ArrayFunction
    inverse: ArrayFunction
    determinant: ArrayFunction
    power: Callable[[np.ndarray, np.ndarray], np.ndarray]
    rounding: tuple[Fraction, Fraction] | None = None


_FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh")
FLOATS = Arithmetic(
    is_certified=False,
    number=lambda value: np.full((1, 1, 1), float(value)),
    array=lambda draws: draws,
    imaginary_unit=lambda: np.full((1, 1, 1), 1j),
    pi=lambda: np.full((1, 1, 1), np.pi),
    **dict[str, Any]((name, getattr(np, name)) for name in _FUNCTIONS),
    erf=erf,
    relu=lambda x: np.maximum(x, 0.0),
    absolute=np.abs,
    conjugate=np.conjugate,
    real=np.real,
    imag=np.imag,
    inverse=np.linalg.inv,
    determinant=lambda matrices: np.linalg.det(matrices)[:, None, None],
    power=operator.pow,
)


def is_complex_ball(x: Any) -> bool:
    """True for a ball in the complex plane."""
    return isinstance(x, acb)


def _boxed(ball: Any) -> np.ndarray:
    box = np.empty((1, 1, 1), dtype=object)
    box[0, 0, 0] = ball
    return box


def _exactly(value: Fraction | float) -> np.ndarray:
    return _boxed(arb(value.numerator) / value.denominator if isinstance(value, Fraction | int) else arb(value))


def _each(function: Callable[[Any], Any]) -> ArrayFunction:
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
            result[draw, row, column] = entry if is_complex_ball(matrix[0, 0]) else entry.real
    return result


def _determinants(matrices: np.ndarray) -> np.ndarray:
    result = np.empty((len(matrices), 1, 1), dtype=object)
    for draw, matrix in enumerate(matrices):
        value = acb_mat([list(row) for row in matrix]).det()
        result[draw, 0, 0] = value if is_complex_ball(matrix[0, 0]) else value.real
    return result


BALLS = Arithmetic(
    is_certified=True,
    number=_exactly,
    array=_balls,
    imaginary_unit=lambda: _boxed(acb(0, 1)),
    pi=lambda: _boxed(arb.pi()),
    **dict[str, Any]((name, _each(operator.methodcaller(name))) for name in (*_FUNCTIONS, "erf")),
    relu=_each(lambda x: x.max(arb(0))),
    absolute=_each(abs),
    conjugate=_each(lambda x: x.conjugate() if is_complex_ball(x) else x),
    real=_each(lambda x: x.real if is_complex_ball(x) else x),
    imag=_each(lambda x: x.imag if is_complex_ball(x) else arb(0)),
    inverse=_inverses,
    determinant=_determinants,
    power=np.frompyfunc(lambda x, y: x**y, 2, 1),
)
ROUNDED = replace(BALLS, rounding=(Fraction(1, 2), Fraction(1, 2)))
CUT_OFF = replace(BALLS, rounding=(Fraction(1, 2), Fraction(1)))


# -- work --------------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Work:
    """How many operations a step may still cost."""

    left: int = 5_000_000


# -- values ------------------------------------------------------------------------------------------------------------
class IllShaped(RegardError):
    """Two shapes that do not go together; `notes` say how names were read."""

    notes: tuple[Note, ...] = ()


class Value(NamedTuple):
    """A batch of matrices, (draw, row, column); `is_identity` marks array·I of any size, `is_zero` a literal 0."""

    array: np.ndarray
    is_identity: bool = False
    is_zero: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.array.shape[1], self.array.shape[2]

    @property
    def is_scalar(self) -> bool:
        """True for a plain number."""
        return self.shape == (1, 1) and not self.is_identity

    def describe_shape(self) -> str:
        """The shape in words."""
        if self.is_identity:
            return "a square matrix"
        return "a number" if self.is_scalar else f"{self.shape[0]}×{self.shape[1]}"

    def with_array(self, array: np.ndarray) -> "Value":
        """Another array of the same kind: powers and reciprocals of a multiple of I are multiples of I."""
        return Value(array, is_identity=self.is_identity)

    def repeated(self, times: int) -> "Value":
        """The value with each of its draws repeated, unless it is the same in all of them."""
        return self if len(self.array) == 1 else self.with_array(np.repeat(self.array, times, axis=0))

    def transposed(self) -> "Value":
        """Rows and columns swapped."""
        return Value(self.array.transpose(0, 2, 1), self.is_identity, self.is_zero)

    def negated(self) -> "Value":
        """−value."""
        return Value(-self.array, self.is_identity, self.is_zero)


def _identity_of(value: Value, size: int) -> Value:
    eye = np.eye(size, dtype=int)
    if value.array.dtype == object:
        eye = eye.astype(object)
    return Value(value.array * eye[None])


def same_shape(left: Value, right: Value) -> tuple[Value, Value]:
    """Both values in one shape, shape-free ones adapted, or IllShaped."""
    if left.is_identity and not right.is_identity and not right.is_zero:
        if right.shape[0] != right.shape[1]:
            raise IllShaped(f"a square matrix and {right.describe_shape()}")
        left = _identity_of(left, right.shape[0])
    if right.is_identity and not left.is_identity and not left.is_zero:
        right, left = same_shape(right, left)
    if left.shape == right.shape or left.is_zero or right.is_zero:
        return left, right
    raise IllShaped(f"{left.describe_shape()} and {right.describe_shape()}")


def add(left: Value, right: Value) -> Value:
    """left + right."""
    left, right = same_shape(left, right)
    if left.is_zero and not right.is_zero:
        return right
    if right.is_zero and not left.is_zero:
        return left
    return Value(left.array + right.array, is_identity=left.is_identity, is_zero=left.is_zero and right.is_zero)


def multiply(left: Value, right: Value, *, is_dot: bool = False) -> Value:
    """left · right: a matrix product, or a scaling where one side is a number; with a dot, vectors give a number."""
    if left.is_zero or right.is_zero:  # a zero of any shape
        return left if left.is_zero else right
    if left.shape == (1, 1) or right.shape == (1, 1):
        is_identity = (left.is_identity or right.is_identity) and left.shape == right.shape
        return Value(left.array * right.array, is_identity=is_identity)
    if left.shape[1] == right.shape[0]:
        return Value(np.matmul(left.array, right.array))
    if is_dot and left.shape == right.shape and 1 in left.shape:
        return Value(np.sum(left.array * right.array, axis=(1, 2), keepdims=True))
    raise IllShaped(f"{left.describe_shape()} times {right.describe_shape()}")


def inner(left: Value, right: Value, arithmetic: Arithmetic) -> Value:
    """⟨x, y⟩ = Re Σ x ȳ, the real inner product, also of complex numbers that stand for planes."""
    if left.shape != right.shape:
        raise IllShaped(f"{left.describe_shape()} and {right.describe_shape()}")
    product = left.array * arithmetic.conjugate(right.array)
    return Value(np.sum(arithmetic.real(product), axis=(1, 2), keepdims=True))


# -- values in words ---------------------------------------------------------------------------------------------------
def show_ball(ball: Any) -> str:
    """A ball as a reader wants to see it."""
    if is_complex_ball(ball):
        re, im = show_ball(ball.real), show_ball(ball.imag)
        return re if im == "0" else f"{re} {'−' if im.startswith('-') else '+'} {im.lstrip('-')}i"
    if not bool(abs(ball) > 1e-30):
        return "0"
    number = float(ball.mid())
    return f"{number:.6g}" if abs(number) < 1e300 else f"e^{float(abs(ball).log().mid()):.6g}"


def first_draws(left: Value, right: Value) -> tuple[np.ndarray, np.ndarray]:
    """The first draw of both sides, in one shape."""
    shape = max(left.shape, right.shape)
    return np.broadcast_to(left.array[0], shape), np.broadcast_to(right.array[0], shape)


def show_entry(left: Value, right: Value, place: tuple[int, ...]) -> str:
    """Both sides' values at one entry of the first draw, and which entry it is."""
    lefts, rights = first_draws(left, right)
    entry = "" if lefts.shape == (1, 1) else f" (entry {place[0] + 1},{place[1] + 1})"
    return f"the left side is {show_ball(lefts[place])}, the right side {show_ball(rights[place])}{entry}"
