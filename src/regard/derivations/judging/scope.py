"""What a name means at one place of a document: the problem's symbols, then the student's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from regard.derivations.notation.syntax import Expression, Label, Number, Symbol, children, describe
from regard.derivations.problems.model import Setting, SymbolMeaning
from regard.errors import RegardError

__all__ = ["CASE_NOTE", "SLIP_NOTE", "Found", "Scope", "UnknownSymbol"]

SLIPS = {"g": "q", "ω": "w"}
SLIP_NOTE = "a slip of text recognition"
CASE_NOTE = "in the other case is read as"


class UnknownSymbol(RegardError):
    """A symbol that neither the problem nor the document explains."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__(f"'{describe(symbol)}' is not defined here")
        self.symbol = symbol


@dataclass(frozen=True, slots=True)
class Found:
    """A symbol's meaning, the subscript that picks a member of its family, and how its name was read if not as written."""

    meaning: SymbolMeaning
    member: Expression | None = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The symbols in force: definitions and designs of the document lie over those of the setting.

    `swaps` reads one declared name as another: an X_p that is meant as the permutation. `neighbours` are symbols of other questions:
    one that turns up here does not belong, but means what it means there. `sizes` are particular
    values that the text gives them (n = 10), `values` what evaluators have computed.
    """

    setting: Setting
    own: Mapping[str, SymbolMeaning] = field(default_factory=dict)
    neighbours: Mapping[str, SymbolMeaning] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    swaps: Mapping[str, str] = field(default_factory=dict)
    values: dict[Any, Any] = field(init=False, default_factory=dict, repr=False)
    _found: dict[Symbol, Found] = field(init=False, default_factory=dict, repr=False)

    def with_meaning(self, meaning: SymbolMeaning) -> "Scope":
        """The scope with one more symbol of the student's own."""
        key = f"{meaning.name}_{meaning.index}" if meaning.index else meaning.name
        return replace(self, own={**self.own, key: meaning})

    @cached_property
    def meanings(self) -> dict[str, SymbolMeaning]:
        """Every symbol by its key."""
        return {**self.setting.symbols, **self.own}

    def find(self, symbol: Symbol) -> Found:
        """The meaning of a symbol as written, under an alias, or in the other case."""
        if symbol not in self._found:
            self._found[symbol] = self._search(symbol)
        return self._found[symbol]

    def _search(self, symbol: Symbol) -> Found:
        exact = self._exact(symbol)
        if exact is not None:
            return self._swapped(exact, symbol)
        if self._is_constant(symbol):
            raise UnknownSymbol(symbol)
        for other, note in self._spellings(symbol):
            found = self._exact(other)
            if found is not None:
                return self._swapped(Found(found.meaning, found.member, note), symbol)
        stray = self._stray(symbol)
        if stray is not None:
            return stray
        raise UnknownSymbol(symbol)

    def reach(self, *nodes: Expression) -> frozenset[str]:
        """The names of all symbols that expressions depend on, through definitions and functions."""
        names: set[str] = set()
        pending = list(nodes)
        while pending:
            node = pending.pop()
            pending += children(node)
            function = getattr(node, "function", None) or (node.name if isinstance(node, Symbol) else None)
            if function in self.setting.functions and f"{function}()" not in names:
                names.add(f"{function}()")
                pending.append(self.setting.functions[function].formula)
            if isinstance(node, Symbol) and self.knows(node):
                meaning = self.find(node).meaning
                key = f"{meaning.name}_{meaning.index}" if meaning.index else meaning.name
                if key not in names:
                    names.add(key)
                    pending += self._formulas(meaning)
        return frozenset(names)

    def _formulas(self, meaning: SymbolMeaning) -> list[Expression]:
        """The formula of a symbol, and those of members of its family that have their own."""
        members = (
            [self.meanings.get(f"{meaning.name}_{letter}") for letter in self.setting.fixed] if meaning.index else []
        )
        return [each.formula for each in (meaning, *members) if each is not None and each.formula is not None]

    def knows(self, symbol: Symbol) -> bool:
        """True if the symbol has a meaning here."""
        try:
            self.find(symbol)
        except UnknownSymbol:
            return False
        return True

    def _swapped(self, found: Found, symbol: Symbol) -> Found:
        other = self.swaps.get(found.meaning.name)
        if other is None:
            return found
        note = f"'{describe(symbol)}' is read as {other} here, though it also stands for {found.meaning.name}"
        return Found(self.meanings[other], None, note)

    def _exact(self, symbol: Symbol) -> Found | None:
        for table in (self.own, self.setting.symbols):
            key = describe(symbol)
            if key in table and table[key].index is None:
                return Found(table[key])
            if len(symbol.subscripts) == 1 and not isinstance(symbol.subscripts[0], Label):
                family = self._family(table, symbol.name)
                if family is not None:
                    return Found(family, symbol.subscripts[0])
        return None

    def _family(self, table: Mapping[str, SymbolMeaning], name: str) -> SymbolMeaning | None:
        return next((meaning for meaning in table.values() if meaning.index is not None and meaning.name == name), None)

    def _is_constant(self, symbol: Symbol) -> bool:
        setting = self.setting
        names = (*setting.sizes, *setting.fixed, *setting.free, "e", "pi")
        return not symbol.subscripts and symbol.name in names

    def _stray(self, symbol: Symbol) -> Found | None:
        """A symbol of another question, or one that is numbered like known ones: z_3 where there are z_1 and z_2."""
        spelt = describe(symbol)
        if spelt in self.neighbours:
            return Found(self.neighbours[spelt], None, f"'{spelt}' does not belong to this question")
        if len(symbol.subscripts) == 1 and isinstance(symbol.subscripts[0], Number):
            for key, meaning in self.setting.symbols.items():
                base, _, script = key.rpartition("_")
                if base == symbol.name and script.isdigit():
                    sibling = replace(meaning, name=spelt, formula=None)
                    return Found(sibling, None, f"'{spelt}' is not defined; it is taken as a number like '{key}'")
        return None

    def _spellings(self, symbol: Symbol) -> list[tuple[Symbol, str]]:
        """Other names under which the symbol may be known, likeliest first."""
        spelt, found = describe(symbol), []
        for canonical, others in self.setting.aliases.items():
            for other in others:
                renamed = _renamed(symbol, other, canonical)
                if renamed is not None:
                    found.append(renamed)
        named = [(other, f"'{spelt}' is read as '{describe(other)}'") for other in found if other != symbol]
        for each in (symbol, *found):
            if len(each.name) == 1 and each.subscripts:
                other = Symbol(each.name.swapcase(), each.subscripts)
                named.append((other, f"'{spelt}' {CASE_NOTE} '{describe(other)}'"))
        slip = SLIPS.get(symbol.name)
        if slip is not None:
            named.append((Symbol(slip, symbol.subscripts), f"{SLIP_NOTE}: '{spelt}' is read as '{slip}'"))
        return named


def _renamed(symbol: Symbol, other: str, canonical: str) -> Symbol | None:
    """The symbol with the alias `other` replaced by `canonical`; an alias that begins with _, ^ or ' is a suffix."""
    if other[0] in "_^'":
        return _resuffixed(symbol, other, canonical)
    if "_" in other or "_" in canonical:
        if describe(symbol) != other:
            return None
        base, _, script = canonical.partition("_")
        return Symbol(base, (_script(script),) if script else ())
    return Symbol(canonical, symbol.subscripts) if symbol.name == other else None


def _resuffixed(symbol: Symbol, other: str, canonical: str) -> Symbol | None:
    label = Label(canonical.removeprefix("_"))
    if other[0] == "_":
        wanted = other[1:].strip("{}")
        is_match = len(symbol.subscripts) == 1 and describe(symbol.subscripts[0]) == wanted
        return Symbol(symbol.name, (label,)) if is_match else None
    if symbol.name.endswith(other) and len(symbol.name) > len(other):
        return Symbol(symbol.name.removesuffix(other), (*symbol.subscripts, label))
    return None


def _script(text: str) -> Expression:
    return Number(Fraction(text)) if text.isdigit() else Label(text)
