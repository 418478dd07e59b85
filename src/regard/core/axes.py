"""The names of the axes, and the array types whose shapes they spell in signatures.

`*batch` stands for any number of leading axes, `#name` for an axis that may also have length one
and `1` for an axis that must.
"""

import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING or "jaxtyping" in sys.modules:
    from jaxtyping import Bool, Float, Int, Real
else:
    # jaxtyping takes as long to import as numpy does, and only the tests execute what it adds.
    class _Unread:
        """An array type whose shape stays a note to the reader: Float[np.ndarray, "query key"] is np.ndarray."""

        def __class_getitem__(cls, arguments: tuple[Any, str]) -> Any:
            return arguments[0]

    Bool = Float = Int = Real = _Unread

Array: TypeAlias = Any
"""A numpy array, a torch tensor, or anything else that speaks the array API."""

AXES = MappingProxyType(
    {
        "batch": "independent examples; where heads are split, the heads too",
        "query": "the positions that ask",
        "key": "the positions that answer",
        "position": "tokens, where they both ask and answer",
        "width": "the numbers of one embedding, query or key",
        "value_width": "the numbers of one value",
        "head": "query heads",
        "kv_head": "key and value heads, each shared by a group of query heads",
        "head_width": "the numbers of one head",
        "pair": "planes that a rotary code turns, two numbers each",
        "bucket": "classes of distance that share one bias",
        "input": "the numbers that a linear map takes",
        "output": "the numbers that a linear map gives",
        "token": "pieces of text, or entries of a vocabulary",
        "target": "predictions that are asked for",
        "row": "rows of a packed batch, or of a matrix",
        "column": "columns of a matrix",
        "new": "positions that are read now, after those in a cache",
    }
)
