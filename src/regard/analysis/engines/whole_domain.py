"""Statements proved for every number of an interval, part by part."""

from collections.abc import Callable

from regard.core.errors import InputError


def unproved_parts(
    is_proved: Callable[[float, float], bool], low: float, high: float, *, finest: float = 1e-3
) -> tuple[tuple[float, float], ...]:
    """The parts of [low, high] on which a statement could not be proved; none if it holds everywhere.

    `is_proved(x, y)` says whether the statement is proved for all numbers of [x, y] at once, for example from
    `certified.answer(law, question, scale=(x, y))`. Parts where it is not are halved down to `finest` of the whole.

    >>> unproved_parts(lambda x, y: x * x > 0.3 * y, 0.5, 8.0)
    ()
    >>> [(low, high)] = unproved_parts(lambda x, y: x > 1.0, 0.0, 8.0)
    >>> low, high < 1.1
    (0.0, True)
    """
    if not low < high:
        raise InputError(f"[{low}, {high}] is no interval to prove anything on. Give two ends in order.")
    shortest, failed, waiting = finest * (high - low), [], [(low, high)]
    while waiting:
        start, end = waiting.pop()
        if is_proved(start, end):
            continue
        if end - start <= shortest:
            failed.append((start, end))
        else:
            middle = start + (end - start) / 2
            waiting += [(middle, end), (start, middle)]
    return _joined(failed)


def _joined(parts: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Neighbouring parts as one."""
    joined: list[tuple[float, float]] = []
    for start, end in parts:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)
