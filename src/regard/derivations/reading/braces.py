r"""Brace groups of LaTeX: which brace closes which; `\{` and `\}` are no braces of a group."""

import re

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_LONGEST_GROUP = 2_000


def closing_braces(text: str) -> dict[int, int]:
    """For each brace that opens a group, the offset of the one that closes it.

    >>> closing_braces("{a{b}}c")
    {2: 4, 0: 5}
    """
    partners: dict[int, int] = {}
    stack: list[int] = []
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            stack.append(brace.start())
        elif brace[0] == "}" and stack:
            partners[stack.pop()] = brace.start()
    return partners


def group_end(text: str, start: int, limit: int = _LONGEST_GROUP) -> int | None:
    """The offset after the brace that closes the group opening at `start`, if it comes within the limit.

    >>> group_end("{a{b}}c", 0)
    6
    """
    if not text.startswith("{", start):
        return None
    depth = 0
    for brace in _BRACE.finditer(text, start, start + limit + 2):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0:
            return brace.end()
    return None
