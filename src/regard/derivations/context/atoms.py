"""Scopes in which the members of families are symbols of their own: m_{t-1}, s_ij and k_t may each be anything.

Where an index counts steps that nothing bounds, or a name has not been explained, a relation cannot be tried at members
of a family. What is true whatever each of them stands for is true all the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from regard.derivations.judging.relations import Sides
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Kind, SymbolMeaning
from regard.derivations.judging.shapes import likely_kinds
from regard.derivations.notation.syntax import Expression, Label, Symbol, bound_name, children, describe, letters_in
from regard.derivations.notation.tokens import NotUnderstood

_MOST_ATOMS = 12
_MOST_SCRIPTS = 2


def with_atoms(sides: Sides, scope: Scope) -> Scope | None:
    """The scope in which every member that a relation names is a symbol of its own; None if that changes nothing."""
    try:
        expressions = sides.expressions(scope)
    except NotUnderstood:
        return None
    found = _Atoms(scope)
    for side in expressions:
        found.look_into(side, frozenset())
    return found.scope_with() if 0 < len(found.open) + len(found.known) <= _MOST_ATOMS else None


@dataclass
class _Atoms:
    """The symbols to set free, each with the kinds that it may be, and those that keep a shape or a formula."""

    scope: Scope
    open: dict[str, tuple[SymbolMeaning, tuple[Kind, ...]]] = field(default_factory=dict)
    known: dict[str, SymbolMeaning] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def scope_with(self) -> Scope:
        """The scope with all that was found."""
        setting, opened = self.scope.setting, {key: meaning for key, (meaning, _) in self.open.items()}
        free = replace(
            setting,
            symbols={**setting.symbols, **opened},
            undeclared=(setting.undeclared - self.known.keys()).union(opened),
            kinds={**setting.kinds, **{key: kinds for key, (_, kinds) in self.open.items()}},
        )
        own = {key: meaning for key, meaning in self.scope.own.items() if key not in opened}
        return replace(self.scope, setting=free, own={**own, **self.known}, opaque=self.scope.opaque - opened.keys())

    def look_into(self, node: Expression, bound: frozenset[str]) -> None:
        """Find what an expression names; `bound` are the letters of the sums around it."""
        if isinstance(node, Symbol):
            self._note(node, bound)
            return
        for child in children(node):
            self.look_into(child, bound | ({name} if (name := bound_name(node)) else frozenset()))

    def _note(self, symbol: Symbol, bound: frozenset[str]) -> None:
        key, scope = describe(symbol), self.scope
        is_taken = key in bound or scope.is_constant(symbol) or symbol.name in scope.setting.functions
        if is_taken or key in self.seen or any(isinstance(script, Label) for script in symbol.subscripts):
            return
        self.seen.add(key)
        found = scope.lookup(symbol)
        is_counted = any(letter in bound for script in symbol.subscripts for letter in letters_in(script))
        if found is None:
            self._set_free(symbol, is_counted=is_counted)
        elif found.member is None or is_counted:
            self._look_behind(found.meaning, bound)
        elif found.meaning.formula is not None and found.member == Symbol(found.meaning.index or ""):
            self.known[key] = SymbolMeaning(name=key, formula=found.meaning.formula, swaps=found.meaning.swaps)
            self.look_into(found.meaning.formula, bound)
        elif found.meaning.formula is not None:
            self.open[key] = SymbolMeaning(name=key), likely_kinds(key)
        else:
            member = replace(found.meaning, name=key, index=None, over=None)
            kinds = scope.setting.kinds.get(found.meaning.key)
            is_declared = kinds is None or found.meaning.key not in scope.setting.undeclared
            if is_declared or kinds is None:
                self.known[key] = member
            else:
                self.open[key] = member, kinds

    def _look_behind(self, meaning: SymbolMeaning, bound: frozenset[str]) -> None:
        if meaning.formula is not None:
            self.look_into(meaning.formula, bound | ({meaning.index} if meaning.index else frozenset()))

    def _set_free(self, symbol: Symbol, *, is_counted: bool) -> None:
        """Let an unknown symbol be anything; below a sum its name is a whole family, or a matrix of entries."""
        scope, family = self.scope, self.scope.family(symbol.name)
        bare = scope.lookup(Symbol(symbol.name))
        wholes = [each.key for each in (family, bare and bare.meaning) if each is not None]
        is_part = any(key not in scope.setting.undeclared for key in wholes)
        if is_part or len(symbol.subscripts) > _MOST_SCRIPTS:
            return  # an entry, or all members at once
        key = describe(symbol)
        if not is_counted:
            self.open[key] = SymbolMeaning(name=key), likely_kinds(key)
        elif len(symbol.subscripts) > 1:
            self.open[symbol.name] = SymbolMeaning(name=symbol.name), ("matrix",)
        elif (letter := next(_bare_letters(symbol), None)) is not None and letter in scope.setting.free:
            family = SymbolMeaning(name=symbol.name, index=letter, over=scope.setting.free[letter])
            self.open[family.key] = family, likely_kinds(symbol.name)


def _bare_letters(symbol: Symbol) -> Iterator[str]:
    return (each.name for each in symbol.subscripts if isinstance(each, Symbol) and not each.subscripts)
