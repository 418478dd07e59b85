"""A suspected bug: the oracle with one thing changed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from regard.conformance.oracle import Asked, Oracle
from regard.conformance.subject import Projections, Spec

FAMILIES = (
    "mask",
    "window",
    "scale",
    "rotary",
    "alibi",
    "positions",
    "cache",
    "padding",
    "heads",
    "kv-heads",
    "softmax",
    "precision",
    "dropout",
    "in-place",
    "batch",
    "shape",
    "gradient",
    "path",
    "projection",
    "sink/softcap",
)

Scenario = Literal["plain", "padded", "gaps", "cached", "chunked", "loud"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Mutation:
    """What the layer would give with this bug, in words of its family; None where the bug does not apply.

    `scenario` says in which kind of call it shows first: a plain one, one with padding, one with gaps between
    positions, one token by token, or one in chunks with a cache. A plain one shows with large inputs too.
    """

    family: str
    words: str
    answer: Callable[[Oracle, Asked], np.ndarray | None]
    scenario: Scenario = "plain"
    change: Callable[[Oracle], Oracle | None] | None = None

    def __post_init__(self) -> None:
        assert self.family in FAMILIES, self.family


def plain(family: str, words: str, change: Callable[[Oracle], Oracle | None]) -> Mutation:
    """A bug that shows in every call."""

    def answer(oracle: Oracle, asked: Asked) -> np.ndarray | None:
        changed = change(oracle)
        return None if changed is None else changed.output(asked)

    return Mutation(family=family, words=words, answer=answer, change=change)


def staged(
    family: str, words: str, *, applies: Callable[[Spec], bool] = bool, **stages: Callable[..., Any]
) -> Mutation:
    """A bug in one stage of the oracle; every spec is true, so that it applies to all unless said otherwise."""
    return plain(family, words, lambda oracle: replace(oracle, **stages) if applies(oracle.spec) else None)


def declared_as(family: str, words: str, changes: Callable[[Spec], dict[str, Any] | None]) -> Mutation:
    """A layer that is another lawful one than it declares; None where that makes no difference."""

    def change(oracle: Oracle) -> Oracle | None:
        found = changes(oracle.spec)
        return None if found is None else oracle.changed(**found)

    return plain(family, words, change)


def with_parts(family: str, words: str, changes: Callable[[Projections], dict[str, Any] | None]) -> Mutation:
    """A layer that uses its weights otherwise."""

    def change(oracle: Oracle) -> Oracle | None:
        found = None if oracle.parts is None else changes(oracle.parts)
        return None if found is None or oracle.parts is None else replace(oracle, parts=replace(oracle.parts, **found))

    return plain(family, words, change)
