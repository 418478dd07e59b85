"""The names of the axes, and the array types that use them in signatures.

`*batch` stands for any number of leading axes, `#name` for an axis that may also have length one, and `1` for an axis
that must have length one.
"""

import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int, Real
else:
    # jaxtyping takes as long to import as numpy, and only the tests check shapes.
    class _Unchecked:
        """An array type whose shape is ignored: Float[np.ndarray, "query key"] is np.ndarray."""

        def __class_getitem__(cls, arguments: tuple[Any, str]) -> Any:
            return arguments[0]

    Bool = Float = Int = Real = _Unchecked

Array: TypeAlias = Any
"""A numpy array, a torch tensor, or any other array that supports the array API."""

AXES = MappingProxyType(
    {
        "batch": "independent examples; also heads, once they are split",
        "query": "positions that attend",
        "key": "positions that are attended to",
        "position": "positions of tokens that are both queries and keys",
        "width": "size of an embedding, query or key",
        "value_width": "size of a value",
        "head": "query heads",
        "kv_head": "key and value heads, each shared by a group of query heads",
        "head_width": "size of a query, key or value within one head",
        "pair": "pairs of numbers that a rotary code rotates together",
        "bucket": "classes of distances that share a bias",
        "input": "input size of a linear map",
        "output": "output size of a linear map",
        "token": "tokens of a text, or entries of a vocabulary",
        "target": "predictions that the loss compares",
        "row": "rows of a packed batch, or of a matrix",
        "column": "columns of a matrix",
        "new": "positions after those in a cache",
        "tap": "coefficients of a convolution",
    }
)
