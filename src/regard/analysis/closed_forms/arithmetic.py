"""One formula for any arithmetic: the same closed form accepts floats, arrays, certified balls and generic symbols."""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Numbers: TypeAlias = Sequence[Any] | np.ndarray
"""A row of numbers of any arithmetic; each may itself be an array."""


def exp(x: Any) -> Any:
    """The exponential in x's own arithmetic.

    >>> float(exp(0.0))
    1.0
    """
    return x.exp() if hasattr(x, "exp") else np.exp(x)


def log(x: Any) -> Any:
    """The natural logarithm in x's own arithmetic."""
    return x.log() if hasattr(x, "log") else np.log(x)


def sqrt(x: Any) -> Any:
    """The square root in x's own arithmetic."""
    return x.sqrt() if hasattr(x, "sqrt") else np.sqrt(x)


def cos(x: Any) -> Any:
    """The cosine in x's own arithmetic."""
    return x.cos() if hasattr(x, "cos") else np.cos(x)


def sin(x: Any) -> Any:
    """The sine in x's own arithmetic."""
    return x.sin() if hasattr(x, "sin") else np.sin(x)


def erf(x: Any) -> Any:
    """The error function in x's own arithmetic."""
    return x.erf() if hasattr(x, "erf") else np.vectorize(math.erf, otypes=[float])(x)[()]


def erfc(x: Any) -> Any:
    """1 − erf(x) in x's own arithmetic, without loss of digits where it is small."""
    return x.erfc() if hasattr(x, "erfc") else np.vectorize(math.erfc, otypes=[float])(x)[()]


def normal_cdf(x: Any) -> Any:
    """Φ(x) = (1 + erf(x/√2))/2, the standard normal's share below x.

    >>> float(normal_cdf(0.0))
    0.5
    """
    return (1 + erf(x / sqrt(x * 0 + 2))) / 2


def normal_tail(x: Any) -> Any:
    """Φ(−x) = erfc(x/√2)/2, the standard normal's share above x, without loss of digits where it is small.

    >>> f"{float(normal_tail(10.0)):.4g}"
    '7.62e-24'
    """
    return erfc(x / sqrt(x * 0 + 2)) / 2
