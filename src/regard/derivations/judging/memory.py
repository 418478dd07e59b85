"""Findings that outlive a document: judging is a function of a statement and its environment."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

from regard.derivations.judging.findings import Finding
from regard.derivations.judging.relations import Sides
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Setting, SymbolMeaning

_MOST_FINDINGS = 4000
_DIGEST = "_digest_of_contents"


class FindingMemory:
    """Findings by statement and environment; those that were not needed for longest are forgotten.

    `before_each` is called before every decision; what it raises ends the judging of a document, and what has been
    found by then is kept.
    """

    def __init__(self, *, before_each: Callable[[], None] = lambda: None, most: int = _MOST_FINDINGS) -> None:
        self._before_each = before_each
        self._most = most
        self._findings: OrderedDict[tuple[Sides, str], Finding] = OrderedDict()

    def __len__(self) -> int:
        return len(self._findings)

    def decide(self, sides: Sides, scope: Scope, decide: Callable[[Sides, Scope], Finding]) -> Finding:
        """What was found of a statement in an equal environment, or else what `decide` finds."""
        self._before_each()
        key = (sides, environment_key(scope))
        if key not in self._findings:
            self._findings[key] = _worked_out_once(decide(sides, scope))
            if len(self._findings) > self._most:
                self._findings.popitem(last=False)
        self._findings.move_to_end(key)
        return self._findings[key]


_MEMORY: ContextVar[FindingMemory | None] = ContextVar("memory", default=None)


@contextmanager
def remembering(memory: FindingMemory) -> Iterator[None]:
    """Within the block, whatever is decided is looked up in the memory first."""
    token = _MEMORY.set(memory)
    try:
        yield
    finally:
        _MEMORY.reset(token)


def current_memory() -> FindingMemory | None:
    """The memory in force, None if findings are not to be remembered."""
    return _MEMORY.get()


def _worked_out_once(finding: Finding) -> Finding:
    """The finding whose counterexample and explanation are worked out when they are first asked for, and only then."""
    shown, explained = finding.shown_by, finding.explained_by
    return replace(finding, shown_by=shown and cache(shown), explained_by=explained and cache(explained))


# -- environments ------------------------------------------------------------------------------------------------------
def environment_key(scope: Scope) -> str:
    """A digest of all that a decision depends on besides its statement; equal for scopes with equal contents."""
    return _digest(scope)


def _digest(value: Scope | Setting | SymbolMeaning) -> str:
    """A digest of the contents, which is kept with the value: many scopes share their settings and meanings."""
    if _DIGEST not in value.__dict__:
        contents = [_content(getattr(value, item.name)) for item in fields(value) if item.init]
        value.__dict__[_DIGEST] = hashlib.sha256(repr(contents).encode("utf-8", "replace")).hexdigest()
    return value.__dict__[_DIGEST]


def _content(value: Any) -> Any:
    """A value as one that prints the same exactly if the contents are the same."""
    if isinstance(value, Setting | SymbolMeaning):
        return _digest(value)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, *(_content(getattr(value, item.name)) for item in fields(value) if item.init)
    if isinstance(value, Mapping):
        return tuple((_content(key), _content(item)) for key, item in value.items())
    if isinstance(value, frozenset | set):
        return tuple(sorted(map(repr, map(_content, value))))
    if isinstance(value, tuple | list):
        return tuple(map(_content, value))
    return value
