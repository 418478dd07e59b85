"""The precision inside the reference: never narrower than float32."""

from array_api_compat import array_namespace

from regard.core.axes import Array, Float
from regard.core.errors import InputError


def widened(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The same numbers in float32 if their type is narrower; float32 and float64 come back as they are.

    Sums in half precision stall: ones added up in bfloat16 never get past 256.

    >>> import numpy as np
    >>> widened(np.ones(2, dtype=np.float16)).dtype, widened(np.ones(2)).dtype
    (dtype('float32'), dtype('float64'))
    """
    xp = array_namespace(x)
    # By name, because numpy's isdtype rejects the types of ml_dtypes.
    if "float" not in str(x.dtype):
        raise InputError(f"The numbers have dtype {x.dtype}, which cannot hold a share of one. Give real floats.")
    return x if x.dtype.itemsize >= 4 else xp.astype(x, xp.float32)
