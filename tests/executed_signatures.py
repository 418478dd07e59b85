"""How the tests execute signatures; tests/conftest.py puts `checked` on every function of the package."""

from collections.abc import Callable
from typing import Any, Self, get_args

from beartype import BeartypeConf, beartype

# As for every type checker, a whole number is a float too.
_CONFIGURATION = BeartypeConf(is_pep484_tower=True)


def checked(function: Callable) -> Callable:
    """The function, which now refuses arguments and results that its signature does not allow.

    `Self` counts as Any: beartype knows it only in whole classes, and jaxtyping hands over one method at a time.
    """
    hints = getattr(function, "__annotations__", {})
    if any(map(_mentions_self, hints.values())):
        function.__annotations__ = {name: Any if _mentions_self(hint) else hint for name, hint in hints.items()}
    return beartype(conf=_CONFIGURATION)(function)


def _mentions_self(hint: object) -> bool:
    return hint is Self or any(map(_mentions_self, get_args(hint)))
