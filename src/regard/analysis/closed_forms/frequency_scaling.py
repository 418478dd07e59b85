"""Stretching rotary codes: by how much each pair slows down, and what YaRN keeps."""

from typing import Any


def ntk_slowdown(pair: Any, width: Any) -> Any:
    """2i/(d−2): under the base B·s^{d/(d−2)} pair i turns s to this power times slower, from 0 for the first to 1.

    >>> ntk_slowdown(0, 128), ntk_slowdown(63, 128)
    (0.0, 1.0)
    """
    return 2 * pair / (width - 2)


def interpolation_slowdown(pair: Any, width: Any) -> Any:
    """1 for every pair: position interpolation makes all of them s times slower.

    >>> interpolation_slowdown(5, 128)
    1
    """
    return 1 + 0 * pair * width


def yarn_ramp(turns: Any, slow: Any, fast: Any) -> Any:
    """(r − r_slow)/(r_fast − r_slow), cut to [0, 1]: the share of its frequency that a pair keeps, in r or in log r.

    >>> yarn_ramp(1.0, 1.0, 32.0), yarn_ramp(32.0, 1.0, 32.0)
    (0.0, 1.0)
    """
    return (turns - slow) / (fast - slow)


def yarn_logit_gain(log_factor: Any) -> Any:
    """(1 + ln(s)/10)²: what YaRN multiplies the logits by, since queries and keys both get 1 + ln(s)/10.

    >>> round(yarn_logit_gain(2.772588722), 4)
    1.6314
    """
    return (1 + log_factor / 10) * (1 + log_factor / 10)
