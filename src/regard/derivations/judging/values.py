"""Values with shapes: what may be added, multiplied and compared, and what is ill-shaped.

Everything is a batch of matrices: a scalar is 1×1, a vector a column. Two values are shape-free: a literal 0, and
a multiple of I.
"""

from dataclasses import dataclass

import numpy as np

from regard.core.errors import RegardError
from regard.derivations.judging.arithmetic import Arithmetic


class IllShaped(RegardError):
    """Two shapes that do not go together."""


@dataclass(frozen=True, slots=True)
class Value:
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
    if left.is_zero and right.is_zero or (left.is_zero and right.is_scalar) or (right.is_zero and left.is_scalar):
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
