"""What a name means at one place of a document: the problem's symbols, then the student's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from regard.core.errors import RegardError
from regard.derivations.judging.findings import Note, NoteKind
from regard.derivations.judging.setting import AnyLaw, Kind, MomentLaw, Setting, SymbolMeaning, keeping_apart
from regard.derivations.notation.parser import Reading
from regard.derivations.notation.syntax import (
    BigOperator,
    Expression,
    Label,
    Number,
    Product,
    Symbol,
    bound_name,
    children,
    describe,
)

CONSTANTS = ("e", "pi")
LOOK_ALIKES = {"g": "q", "ω": "w"}


class UnknownSymbol(RegardError):
    """A symbol that neither the problem nor the document explains."""

    def __init__(self, symbol: Symbol) -> None:
        super().__init__(f"'{describe(symbol)}' is not defined here")
        self.symbol = symbol


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    """A symbol's meaning, the subscript that picks a member of its family, and a note if it isn't read as written."""

    meaning: SymbolMeaning
    member: Expression | None = None
    note: Note | None = None


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The symbols in force: definitions and designs of the document lie over those of the setting.

    `swaps` reads one declared name as another: an X_p that is meant as the permutation. `neighbours` are symbols of
    other questions: one that turns up here does not belong, but means what it means there. `sizes` are particular
    values that the text gives them (n = 10), `values` what evaluators have computed, `findings` what
    has been decided. `opaque` are names that the author
    has taken for something that could not be read.
    """

    setting: Setting
    own: Mapping[str, SymbolMeaning] = field(default_factory=dict)
    neighbours: Mapping[str, SymbolMeaning] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    swaps: Mapping[str, str] = field(default_factory=dict)
    opaque: frozenset[str] = frozenset()
    values: dict[Any, dict[Any, Any]] = field(init=False, default_factory=dict, repr=False)
    findings: dict[Any, Any] = field(init=False, default_factory=dict, repr=False)
    _found: dict[Symbol, FoundSymbol | None] = field(init=False, default_factory=dict, repr=False)
    _reached: dict[Expression, frozenset[str]] = field(init=False, default_factory=dict, repr=False)

    def with_meaning(self, meaning: SymbolMeaning) -> "Scope":
        """The scope with one more symbol of the student's own."""
        return replace(self, own={**self.own, meaning.key: meaning}, opaque=self.opaque - {meaning.key})

    def with_letter(self, meaning: SymbolMeaning) -> "Scope":
        """The scope with a letter that the author has taken for something else than the problem.

        The problem's own formulas keep what the letter stands for in them.
        """
        known = self.setting.symbols.get(meaning.key)
        is_number = known is not None and known.formula is None and known.is_number
        if known is None or not is_number or (known.tends, known.variance) == (meaning.tends, meaning.variance):
            return self.with_meaning(meaning)
        return replace(self, setting=keeping_apart(self.setting, meaning.key)).with_meaning(meaning)

    def without(self, name: str) -> "Scope":
        """The scope in which a name stands for something that could not be read."""
        own = {key: meaning for key, meaning in self.own.items() if key != name}
        return replace(self, own=own, opaque=self.opaque | {name})

    def freed(self, kinds: Mapping[str, tuple[Kind, ...]]) -> "Scope":
        """The scope in which some of the author's symbols may be anything of their kinds, whatever was said of them."""
        setting = self.setting
        known = {**setting.symbols, **self.own}
        opened = {key: replace(known.get(key, SymbolMeaning(name=key)), formula=None, law=None) for key in kinds}
        free = replace(
            setting,
            symbols={**setting.symbols, **opened},
            undeclared=setting.undeclared.union(kinds),
            kinds={**setting.kinds, **kinds},
        )
        own = {key: each for key, each in self.own.items() if key not in kinds}
        return replace(self, setting=free, own=own, opaque=self.opaque.difference(kinds))

    def reseeded(self) -> "Scope":
        """The scope with every symbol drawn anew."""
        return replace(self, setting=replace(self.setting, seed=self.setting.seed + 1))

    @cached_property
    def meanings(self) -> dict[str, SymbolMeaning]:
        """Every symbol by its key."""
        return {**self.setting.symbols, **self.own}

    @cached_property
    def reading(self) -> Reading:
        """How to read formulas here; a bracket after one of the problem's functions, or a free σ, holds arguments."""
        is_free = not any(name.split("_")[0] == "sigma" for name in self.meanings)
        functions = frozenset(self.setting.functions) | ({"\\sigma"} if is_free else frozenset())
        if self.setting.has_usual_functions:
            functions |= {"\\sigma", "\\Phi"}
        opaque = self.setting.opaque_functions - functions
        laws = frozenset(key for key, meaning in self.meanings.items() if meaning.is_law)
        valued = frozenset(key for key, meaning in self.meanings.items() if key.endswith(")") and meaning.formula)
        return Reading(
            functions=functions,
            valued=valued,
            opaque=opaque,
            laws=laws,
            is_complex=self.setting.is_complex,
            has_differentials=self.setting.has_differentials,
        )

    @cached_property
    def member_formulas(self) -> dict[str, dict[str, Expression]]:
        """The formulas of members that differ from their family's: that of k_a under k, then a."""
        found: dict[str, dict[str, Expression]] = {}
        for name in {meaning.name for meaning in self.meanings.values() if meaning.index is not None}:
            for letter in self.setting.fixed:
                member = self.meanings.get(f"{name}_{letter}")
                if member is not None and member.index is None and member.formula is not None:
                    found.setdefault(name, {})[letter] = member.formula
        return found

    # -- finding -----------------------------------------------------------------------------------------------------
    def lookup(self, symbol: Symbol) -> FoundSymbol | None:
        """The meaning of a symbol as written, under an alias, or in the other case; None if it has none."""
        try:
            return self._found[symbol]
        except KeyError:
            found = self._found[symbol] = self._search(symbol)
            return found

    def find(self, symbol: Symbol) -> FoundSymbol:
        """The meaning of a symbol, or UnknownSymbol."""
        found = self.lookup(symbol)
        if found is None:
            raise UnknownSymbol(symbol)
        return found

    def knows(self, symbol: Symbol) -> bool:
        """True if the symbol has a meaning here."""
        return self.lookup(symbol) is not None

    def family(self, name: str) -> SymbolMeaning | None:
        """The family of that name: that of k_i for k; None where the author has taken the name for something else."""
        if name in self.opaque:
            return None
        return _family(self.own, name) or _family(self.setting.symbols, name)

    def declares(self, symbol: Symbol) -> bool:
        """True if the symbol has a meaning here exactly as it is written."""
        return self._exact(symbol) is not None

    def is_entry(self, symbol: Symbol) -> bool:
        """True for an entry of a matrix with a formula: α_{21} without a meaning of its own."""
        scripts = split_digits(symbol.subscripts)
        is_pair = len(scripts) == 2 and not any(isinstance(script, Label) for script in scripts)
        whole = self.lookup(Symbol(symbol.name)) if is_pair and not self.knows(symbol) else None
        return whole is not None and whole.meaning.formula is not None

    def is_constant(self, symbol: Symbol) -> bool:
        """True for a size (n, d_k), a bare index, e or π."""
        setting = self.setting
        names = (*setting.fixed, *setting.free, *CONSTANTS)
        return describe(symbol) in setting.sizes or (not symbol.subscripts and symbol.name in names)

    def _search(self, symbol: Symbol) -> FoundSymbol | None:
        if describe(symbol) in self.opaque:
            return None
        exact = self._of_one_head(symbol) or self._exact(symbol)
        if exact is not None:
            return self._swapped(exact, symbol)
        if self.is_constant(symbol):
            return None
        for other, note in other_spellings(symbol, self.setting):
            found = self._exact(other)
            if found is not None and not self._is_of_another_kind(other, found):
                return self._swapped(FoundSymbol(found.meaning, found.member, note), symbol)
        return self._undeclared(symbol)

    def _is_of_another_kind(self, symbol: Symbol, found: FoundSymbol) -> bool:
        """True for a number that only shares its letter with a family: w may stand for weights α, not for a noise α."""
        is_number = found.meaning.is_number and found.meaning.formula is None and found.member is None
        return is_number and not symbol.subscripts and _family(self.setting.symbols, symbol.name) is not None

    def _exact(self, symbol: Symbol) -> FoundSymbol | None:
        key = describe(symbol)
        for table in (self.own, self.setting.symbols):
            if key in table and table[key].index is None:
                return FoundSymbol(table[key])
            if len(symbol.subscripts) == 1 and not isinstance(symbol.subscripts[0], Label):
                family = _family(table, symbol.name)
                if family is not None:
                    return FoundSymbol(family, symbol.subscripts[0])
        return None

    def _of_one_head(self, symbol: Symbol) -> FoundSymbol | None:
        """A member of a numbered family: the α_{a1} and α_{1,a} of the first of several heads is α^{(1)}_a."""
        scripts = symbol.subscripts
        if len(scripts) == 1 and isinstance(scripts[0], Product):
            scripts = scripts[0].factors
        numbers = [script for script in scripts if isinstance(script, Number)]
        members = tuple(script for script in scripts if isinstance(script, Symbol))
        if len(scripts) != 2 or len(numbers) != 1 or len(members) != 1:
            return None
        return self._exact(Symbol(f"{symbol.name}^({numbers[0].value})", members))

    def _swapped(self, found: FoundSymbol, symbol: Symbol) -> FoundSymbol:
        other = self.swaps.get(found.meaning.name)
        if other is None:
            return found
        note = NoteKind.SWAPPED_NAME.note(describe(symbol), other, found.meaning.name)
        return FoundSymbol(self.meanings[other], None, note)

    def _undeclared(self, symbol: Symbol) -> FoundSymbol | None:
        """A symbol of another question, or one that is numbered like known ones: z_3 where there are z_1 and z_2."""
        spelt = describe(symbol)
        if spelt in self.neighbours:
            return FoundSymbol(self.neighbours[spelt], None, NoteKind.OTHER_QUESTION.note(spelt))
        if len(symbol.subscripts) == 1 and isinstance(symbol.subscripts[0], Number):
            for key, meaning in self.setting.symbols.items():
                base, _, script = key.rpartition("_")
                if base == symbol.name and script.isdigit():
                    sibling = replace(meaning, name=spelt, formula=None)
                    return FoundSymbol(sibling, None, NoteKind.LIKE_SIBLING.note(spelt, key))
        return None

    # -- what depends on what ----------------------------------------------------------------------------------------
    def reach(self, *nodes: Expression) -> frozenset[str]:
        """The names of all symbols that expressions depend on, through definitions and functions."""
        return frozenset().union(*map(self._reached_from, nodes))

    def _reached_from(self, start: Expression) -> frozenset[str]:
        known = self._reached.get(start)
        if known is None:
            known = self._reached[start] = self._walk(start) - {bound_name(start)}
        return known

    def _walk(self, start: Expression) -> frozenset[str]:
        names: set[str] = set()
        pending = [start]
        while pending:
            node = pending.pop()
            if node is not start and (bound := bound_name(node)) and not isinstance(node, BigOperator):
                names |= self._reached_from(node) - {bound}
                continue
            pending += children(node)
            for name, formulas in self._named_by(node):
                if name not in names:
                    names.add(name)
                    pending += formulas
        return frozenset(names)

    def _named_by(self, node: Expression) -> list[tuple[str, list[Expression]]]:
        """The function or symbol that a node names, each with the formulas behind it."""
        named: list[tuple[str, list[Expression]]] = []
        function = node.name if isinstance(node, Symbol) else getattr(node, "function", None)
        if function is not None and function in self.setting.functions:
            named.append((f"{function}()", [self.setting.functions[function].formula]))
            if self.setting.functions[function].is_subscripted:
                return named
        found = (self.lookup(node) or self.lookup(Symbol(node.name))) if isinstance(node, Symbol) else None
        meaning = found.meaning if found is not None else self._family_of(node)
        if meaning is not None:
            members = self.member_formulas.get(meaning.name, {}).values() if meaning.index else ()
            named.append((meaning.key, [*formulas_behind(meaning), *members]))
        return named

    def _family_of(self, node: Expression) -> SymbolMeaning | None:
        """The family whose members a bare letter stands for all at once: that of z_i for z."""
        is_bare = isinstance(node, Symbol) and not node.subscripts and not self.is_constant(node)
        return self.family(node.name) if is_bare and isinstance(node, Symbol) else None


def formulas_behind(meaning: SymbolMeaning) -> tuple[Expression, ...]:
    """The formula that gives a symbol, and the parameters of its law."""
    return (*(() if meaning.formula is None else (meaning.formula,)), *_parameters(meaning.law))


def _parameters(law: AnyLaw | None) -> tuple[Expression, ...]:
    if isinstance(law, MomentLaw):
        return law.mean, law.variance
    return law.parameters if law is not None else ()


def split_digits(scripts: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The subscripts of a matrix's entry: the 21 of α_{21} is 2, 1."""
    number = scripts[0].value if len(scripts) == 1 and isinstance(scripts[0], Number) else Fraction(0)
    if number not in range(11, 100) or number % 10 == 0:
        return scripts
    return Number(Fraction(number // 10)), Number(number % 10)


def _family(table: Mapping[str, SymbolMeaning], name: str) -> SymbolMeaning | None:
    return next((meaning for meaning in table.values() if meaning.index is not None and meaning.name == name), None)


# -- other spellings ---------------------------------------------------------------------------------------------------
@lru_cache(maxsize=4096)
def other_spellings(symbol: Symbol, setting: Setting) -> tuple[tuple[Symbol, Note], ...]:
    """The symbol under its other names, likeliest first, each with a note that says how it is read."""
    spelt = describe(symbol)
    renamed = [
        other
        for canonical, names in setting.aliases.items()
        for other in (_renamed(symbol, name, canonical) for name in names)
        if other is not None
    ]
    found = [(other, NoteKind.ALIAS.note(spelt, describe(other))) for other in renamed if other != symbol]
    for each in (symbol, *renamed):
        if len(each.name) == 1 and each.subscripts:
            other = Symbol(each.name.swapcase(), each.subscripts)
            found.append((other, NoteKind.OTHER_CASE.note(spelt, describe(other))))
    look_alike = LOOK_ALIKES.get(symbol.name)
    if look_alike is not None:
        found.append((Symbol(look_alike, symbol.subscripts), NoteKind.RECOGNITION_SLIP.note(spelt, look_alike)))
    return tuple(found)


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
