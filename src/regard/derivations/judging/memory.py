"""Findings that outlive a document: judging is a function of a statement and its environment."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from regard.derivations.judging.findings import Finding
from regard.derivations.judging.relations import Relation, Sides
from regard.derivations.judging.scope import LOOK_ALIKES, Scope, formulas_behind
from regard.derivations.judging.setting import Setting, SymbolMeaning
from regard.derivations.notation.syntax import Expression, symbols

_MOST_FINDINGS = 4000
_ATOMS = (str, int, float, bool, type(None))
_DIGEST = "_digest_of_contents"
_NARROWED, _PLAIN_NUMBERS = "_narrowed", "_plain_numbers"


class FindingMemory:
    """Findings by statement and environment; those that were not needed for longest are forgotten.

    `before_each` is called before every decision; what it raises ends the judging of a document, and what has been
    found by then is kept.
    """

    def __init__(self, *, before_each: Callable[[], None] = lambda: None, most: int = _MOST_FINDINGS) -> None:
        self._before_each = before_each
        self._most = most
        self._findings: OrderedDict[Hashable, Finding | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._findings)

    def decide(self, sides: Sides, scope: Scope, decide: Callable[[Sides, Scope], Finding]) -> Finding:
        """What was found of a statement in an equal environment, or else what `decide` finds."""
        scope = without_idle_numbers(scope, sides)
        found = self.recall((sides, environment_key(scope)), lambda: decide(sides, scope))
        assert found is not None
        return found

    def recall(self, key: Hashable, find: Callable[[], Finding | None]) -> Finding | None:
        """What was found under a key before, or else what `find` finds: the key says all that it depends on."""
        self._before_each()
        if key not in self._findings:
            found = find()
            self._findings[key] = None if found is None else _worked_out_once(found)
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
    """The finding whose counterexample, explanation and correction are worked out once, when they are asked for."""
    shown, explained, corrected = finding.shown_by, finding.explained_by, finding.corrected_by
    return replace(
        finding,
        shown_by=shown and cache(shown),
        explained_by=explained and cache(explained),
        corrected_by=corrected and cache(corrected),
    )


# -- numbers that play no part -----------------------------------------------------------------------------------------
def without_idle_numbers(scope: Scope, sides: Sides) -> Scope:
    """The scope without the author's numbers that a statement cannot reach.

    So a new definition changes the environment of those statements only that could use it. Names count as equal if they
    share a word, in either case: a number that stays without need costs time, and one that is missed costs a verdict.
    """
    if not _plain_numbers(scope):
        return scope
    texts = [token.text.removeprefix("\\") for token in (*sides.left, *sides.right)]
    joined = (first + second for first, second in pairwise(texts))  # the dY of dY/dx is one name
    words = {word for text in (*texts, *joined) for word in _words(text)}
    words = words.union(*map(_words_in, _expressions_beside(sides.conditions, sides.premises)))
    words |= {LOOK_ALIKES[word] for word in words & LOOK_ALIKES.keys()}
    idle = _beyond_reach(_plain_numbers(scope), words)
    return _leaving_out(scope, frozenset(idle)) if idle else scope


def _plain_numbers(scope: Scope) -> dict[str, frozenset[str]]:
    """The author's numbers that may matter to statements only that name them, with the words in their formulas.

    Not those that are random or tend somewhere, nor any that the problem, a vector, a matrix or a family depends on: x
    may be short for all x_i.
    """
    if _PLAIN_NUMBERS not in scope.__dict__:
        numbers = {key: meaning for key, meaning in scope.own.items() if _is_plain_number(meaning)}
        others = [meaning for key, meaning in scope.own.items() if key not in numbers]
        words = _words_of(scope.setting).union(*map(_words_behind, (*others, *scope.neighbours.values())))
        behind = {key: _words_behind(meaning) for key, meaning in numbers.items()}
        scope.__dict__[_PLAIN_NUMBERS] = _beyond_reach(behind, words)
    return scope.__dict__[_PLAIN_NUMBERS]


def _beyond_reach(numbers: Mapping[str, frozenset[str]], words: set[str] | frozenset[str]) -> dict[str, frozenset[str]]:
    """The numbers that some words do not lead to, by way of the words in the formulas of others either."""
    left = dict(numbers)
    while used := [key for key in left if not words.isdisjoint(_words(key))]:
        words = words.union(*map(left.pop, used))
    return left


def _is_plain_number(meaning: SymbolMeaning) -> bool:
    """True for a number that a formula gives."""
    is_random = meaning.variance is not None or meaning.is_law or meaning.law is not None
    is_given = meaning.formula is not None and meaning.is_number and meaning.index is None
    return is_given and not is_random and meaning.tends is None


def _expressions_beside(conditions: Sequence[Expression], premises: Sequence[Relation]) -> Iterator[Expression]:
    """The expressions in the conditions that a statement is under."""
    yield from conditions
    for premise in premises:
        yield from (premise.left, premise.right, *_expressions_beside(premise.conditions, premise.premises))


@lru_cache(maxsize=256)
def _words_of(setting: Setting) -> frozenset[str]:
    """The words in all names and formulas of a setting."""
    names = [*setting.sizes, *setting.fixed, *setting.free, *setting.functions, *setting.aliases, *setting.kinds]
    functions = setting.functions.values()
    formulas = [formula for each in functions for formula in (each.formula, each.vector_formula) if formula is not None]
    words = frozenset({"sigma"})  # which may be a function
    return words.union(*map(_words, names), *map(_words_behind, setting.symbols.values()), *map(_words_in, formulas))


def _words_behind(meaning: SymbolMeaning) -> frozenset[str]:
    """The words in a symbol's name and in the formulas that give it."""
    return _words(meaning.key).union(*map(_words_in, formulas_behind(meaning)))


@lru_cache(maxsize=4096)
def _words_in(expression: Expression) -> frozenset[str]:
    return frozenset[str]().union(*(_words(symbol.name) for symbol in symbols(expression)))


@lru_cache(maxsize=4096)
def _words(name: str) -> frozenset[str]:
    """The words in a name, in lower case: those of k_perm are k and perm."""
    return frozenset(word.casefold() for word in re.findall(r"[^\W\d_]+", name))


def _leaving_out(scope: Scope, names: frozenset[str]) -> Scope:
    """One and the same scope for the same names, since a scope remembers what it has computed."""
    narrowed = scope.__dict__.setdefault(_NARROWED, {})
    if names not in narrowed:
        narrowed[names] = replace(scope, own={key: scope.own[key] for key in scope.own if key not in names})
    return narrowed[names]


# -- environments ------------------------------------------------------------------------------------------------------
def environment_key(scope: Scope) -> str:
    """A digest of all that a decision depends on besides its statement; equal for scopes with equal contents."""
    return _digest(scope)


def digest_of(*values: Any) -> str:
    """A digest of settings, meanings, expressions and collections of these; equal for equal contents."""
    return hashlib.sha256(repr(_content(values)).encode("utf-8", "replace")).hexdigest()


def _digest(value: Scope | Setting | SymbolMeaning) -> str:
    """A digest of the contents, which is kept with the value: many scopes share their settings and meanings."""
    if _DIGEST not in value.__dict__:
        contents = [_content(getattr(value, item.name)) for item in fields(value) if item.init]
        value.__dict__[_DIGEST] = hashlib.sha256(repr(contents).encode("utf-8", "replace")).hexdigest()
    return value.__dict__[_DIGEST]


def _content(value: Any) -> Any:
    """A value as one that prints the same exactly if the contents are the same."""
    if type(value) in _ATOMS:
        return value
    if isinstance(value, Setting | SymbolMeaning):
        return _digest(value)
    if isinstance(value, Expression):
        return _content_of_expression(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _content_of_fields(value)
    if isinstance(value, Mapping):
        return tuple((_content(key), _content(item)) for key, item in value.items())
    if isinstance(value, frozenset | set):
        return tuple(sorted(map(repr, map(_content, value))))
    if isinstance(value, tuple | list):
        return tuple(map(_content, value))
    return value


@lru_cache(maxsize=4096)
def _content_of_expression(value: Expression) -> Any:
    return _content_of_fields(value)


def _content_of_fields(value: Any) -> Any:
    return type(value).__name__, *(_content(getattr(value, item.name)) for item in fields(value) if item.init)
