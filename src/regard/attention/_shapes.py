"""What must fit together, said in words when it does not."""

import math

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from regard.core.axes import Array
from regard.core.errors import InputError


def require_comparable(queries: Array, keys: Array) -> None:
    """Queries and keys have one width and the same leading axes."""
    if queries.shape[-1] != keys.shape[-1]:
        raise InputError(
            f"Queries have width {queries.shape[-1]} and keys have width {keys.shape[-1]}, "
            "so they have no dot product. Project both to one width."
        )
    if queries.shape[:-2] != keys.shape[:-2]:
        raise InputError(
            f"Queries have leading axes {tuple(queries.shape[:-2])} and keys have {tuple(keys.shape[:-2])}, "
            "so rows cannot be matched. Give both the same ones; repeat_heads shares key heads among query heads."
        )


def require_values(keys: Array, values: Array) -> None:
    """Every key has a value."""
    if keys.shape[:-1] != values.shape[:-1]:
        raise InputError(
            f"Keys have shape {tuple(keys.shape)} and values have shape {tuple(values.shape)}, "
            "so some keys have no value. Give one value for each key."
        )


def require_spreads(name: str, array: Array, shape: tuple[int, ...]) -> None:
    """An array broadcasts to a shape without enlarging it."""
    fits = array.ndim <= len(shape) and all(
        have in (1, want) for have, want in zip(array.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise InputError(
            f"The {name} has shape {tuple(array.shape)}, which does not spread over logits of shape {tuple(shape)}. "
            "Its last axes are query and key; each axis has the logits' length or 1."
        )


def mask_like(mask: Array, logits: Array) -> Array:
    """A mask as an array of the same kind, and on the same device, as the logits."""
    xp = array_namespace(logits)
    if is_numpy_array(mask):
        # A copy, because torch refuses numpy arrays with negative strides and warns about read-only ones.
        mask = xp.asarray(np.array(mask), device=device(logits))
    if mask.dtype != xp.bool:
        raise InputError(
            f"The mask has dtype {mask.dtype}, which could mean 0/1 or numbers to add. "
            "Give a bool mask, True where a query may attend; add numbers with Rule(bias=...)."
        )
    require_spreads("mask", mask, logits.shape)
    return mask


def require_positive(name: str, value: float | None) -> None:
    """A number, if given, is finite and above zero."""
    if value is not None and not (value > 0 and math.isfinite(value)):
        raise InputError(f"{name} is {value}, which is not a positive number. Give one above zero, or leave it out.")
