"""Which functions of Regard run."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# A module and the qualified name of a function in it.
Traced = set[tuple[str, str]]


@contextmanager
def traced(found: Traced, package: str = "regard") -> Iterator[None]:
    """Adds every function of the package that is called inside the block."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith(package):
            found.add((module, frame.f_code.co_qualname.partition(".<locals>")[0]))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
