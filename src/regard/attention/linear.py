"""Linear maps: rows times a matrix."""

from dataclasses import dataclass

from array_api_compat import array_namespace

from regard.attention.precision import widened
from regard.core.axes import Array, Float
from regard.core.errors import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class Linear:
    """Each row is multiplied by one matrix and moved by one bias.

        y = xW + b

    torch's `nn.Linear` keeps Wᵀ. The result has the dtype of x.

    >>> import numpy as np
    >>> Linear(weight=2 * np.eye(2), bias=np.array([0.0, 1.0]))(np.ones((1, 2)))
    array([[2., 3.]])
    """

    weight: Float[Array, "input output"]
    bias: Float[Array, " output"] | None = None

    def __call__(self, x: Float[Array, "*batch input"]) -> Float[Array, "*batch output"]:
        """The rows of x after the map."""
        if x.shape[-1] != self.weight.shape[0]:
            raise InputError(
                f"The rows have width {x.shape[-1]}, but the matrix takes width {self.weight.shape[0]}. "
                "Give rows of that width, or transpose the matrix if it was made for torch."
            )
        xp = array_namespace(x, self.weight)
        wide = widened(x)
        y = xp.matmul(wide, xp.astype(self.weight, wide.dtype))
        if self.bias is not None:
            y = y + xp.astype(self.bias, wide.dtype)
        return xp.astype(y, x.dtype)
