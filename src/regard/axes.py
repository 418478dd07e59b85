"""The names of the axes, and nothing else: signatures spell shapes with these words.

`*batch` stands for any number of leading axes, `#name` for an axis that may also have length one
and `1` for an axis that must.
"""

from types import MappingProxyType
from typing import Any, TypeAlias

__all__ = ["AXES", "Array"]

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
    }
)
