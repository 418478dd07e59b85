"""What each symbol of a document stands for where no problem says it, section by section, each with its reason.

One place decides it, in this order: what the author declares (in a file beside the document, in formulas such as
x ∈ ℝ^d, in words), what an earlier section has declared, and what the use of a symbol forces. The rest is undeclared:
it is tried as everything that makes a relation well shaped, and never refuted.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from regard.core.errors import InputError
from regard.derivations.context.descriptions import Description, described, listed_family, read_line, tokens_of
from regard.derivations.context.formulas import Formula
from regard.derivations.judging.relations import spell
from regard.derivations.judging.scope import CONSTANTS
from regard.derivations.judging.setting import Assumption, Setting, Size, SymbolMeaning
from regard.derivations.judging.shapes import Kind, likely_kinds, marked_as_vectors
from regard.derivations.notation.parser import Reading, parse, parse_law, split_outside
from regard.derivations.notation.syntax import (
    Apply,
    BigOperator,
    Derivative,
    Distribution,
    Dots,
    Expression,
    Identity,
    Matrix,
    Negative,
    Number,
    Power,
    Product,
    Quotient,
    SetOf,
    Sum,
    Symbol,
    describe,
    outer_symbols,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import ACCENTS, BIG_OPERATORS, FUNCTIONS, NotUnderstood, Token
from regard.derivations.reading.document import Document, by_start
from regard.derivations.results import INFERRED

_INDEX_LETTERS = frozenset("abcijklmnst")
_SURE_INDICES = frozenset("ij")
_ANY_SIZE = "n"
_USUAL_FUNCTIONS = frozenset({"f", "g", "h", "phi", "psi", "F", "G", "P", "p", "J", "Pr"})
_NO_FUNCTIONS = frozenset({"E", "I", "N", "O", "d", "e", "partial", "nabla", "frac", "sqrt", "dots", "infty"})
_KRONECKER = "delta"
_NAMES_OF_LAWS = frozenset("pqr")  # of distributions rather than random variables
_LINE = re.compile(r"^[ \t]+[\"']?([^:\"']+?)[\"']?:[ \t]+[\"']?(.*?)[\"']?[ \t]*$", re.MULTILINE)
_INDEX_INSIDE = re.compile(r"(?<![A-Za-z·])([a-z])(?![A-Za-z])")


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What one symbol was taken to be, why, and where that is said: an offset in the text, None if nowhere."""

    meaning: SymbolMeaning
    why: str
    at: int | None = None


@dataclass(frozen=True, kw_only=True)
class SectionSymbols:
    """The symbols of one section: its setting, what is declared for it, and the names that it states anew."""

    setting: Setting
    declared: Mapping[str, Declaration]
    stated: frozenset[str]


def declare_sections(document: Document, formulas: Sequence[Formula]) -> list[SectionSymbols]:
    """The symbols of every section, by the number of its heading."""
    functions = _functions(formulas)
    sections: list[list[Formula]] = [[] for _ in range(len(document.headings) + 1)]
    for formula in formulas:
        sections[bisect_right(document.headings, formula.start, key=by_start)].append(formula)
    starts = [0, *(heading.start for heading in document.headings), len(document.text)]
    found: list[SectionSymbols] = []
    earlier: dict[str, Declaration] = {}
    sizes: frozenset[str] = frozenset()
    for number, own in enumerate(sections):
        words = described(document, own, starts[number], starts[number + 1])
        lines = lines_of(document) if number == 0 else []
        section = _Section(
            formulas=own,
            functions=functions,
            earlier=earlier,
            earlier_sizes=sizes,
            described=[*words, *lines],
            before=found[-1].setting if found else None,
        )
        found.append(section.symbols())
        earlier = {**earlier, **section.declared}
        sizes = frozenset(found[-1].setting.sizes) - {_ANY_SIZE}
    return found


@dataclass(frozen=True, kw_only=True)
class SymbolRow:
    """A line of `--symbols`: a symbol, what it was taken to be, and why; `line` is that of its section."""

    line: int
    symbol: str
    taken_as: str
    why: str


def symbol_rows(document: Document, formulas: Sequence[Formula]) -> list[SymbolRow]:
    """What every symbol of a document was taken to be, section by section, without what an earlier one says alike."""
    rows: list[SymbolRow] = []
    seen: set[tuple[str, str, str]] = set()
    starts = [0, *(heading.start for heading in document.headings)]
    for start, section in zip(starts, declare_sections(document, formulas), strict=True):
        setting = section.setting
        for key, meaning in setting.symbols.items():
            item = section.declared.get(key)
            taken_as = _kind_in_words(meaning) if item is not None else " or ".join(setting.kinds.get(key, ("number",)))
            why = item.why if item is not None else "not declared: whatever makes the shapes fit; never refuted"
            if (row := (spell(key), taken_as, why)) not in seen:
                seen.add(row)
                rows.append(SymbolRow(line=document.place(start).line, symbol=row[0], taken_as=row[1], why=row[2]))
        for size in setting.sizes:
            if (row := (size, "size", "a length, or the last index of a sum")) not in seen:
                seen.add(row)
                rows.append(SymbolRow(line=document.place(start).line, symbol=row[0], taken_as=row[1], why=row[2]))
    return rows


def _kind_in_words(meaning: SymbolMeaning) -> str:
    """A 3×d matrix, orthogonal; one for each index."""
    rows, columns = meaning.shape
    kind = (
        "number" if meaning.is_number else f"vector of length {rows}" if columns == "1" else f"{rows}×{columns} matrix"
    )
    each = f", one for each {meaning.index}" if meaning.index is not None else ""
    return ", ".join([f"{kind}{each}", *map(str, meaning.assume), *(["random"] if meaning.law is not None else [])])


def without_symbols(setting: Setting, names: Collection[str]) -> Setting:
    """The setting without undeclared symbols that an earlier section has explained."""
    gone = {key for key in setting.undeclared if setting.symbols[key].name in names}
    return replace(
        setting,
        symbols={key: meaning for key, meaning in setting.symbols.items() if key not in gone},
        undeclared=setting.undeclared.difference(gone),
        kinds={key: kinds for key, kinds in setting.kinds.items() if key not in gone},
    )


def lines_of(document: Document) -> list[Description]:
    """What the file of declarations beside the document, and its front matter, say of symbols; it must be TOML."""
    lines = dict(_LINE.findall(document.symbol_lines))
    if document.declarations:
        try:
            lines |= tomllib.loads(document.declarations).get("symbols", {})
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"The declarations beside {document.path} are no TOML: {error}.") from None
    return [item for name, text in lines.items() if (item := read_line(name, str(text))) is not None]


# -- functions ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class _Application:
    """A name with a bracket after it: its arguments, and whether it is all there is on its side."""

    name: str
    arguments: Sequence[Sequence[Token]]
    is_whole: bool

    @property
    def is_sure(self) -> bool:
        """True if it can only be a function: a(q, k), f(x) to the left of an equals sign, and p(x) of a usual name."""
        if len(self.arguments) > 1:
            return True
        is_plain = len(self.arguments[0]) == 1 and self.arguments[0][0].kind in ("letter", "number")
        return is_plain and (self.is_whole or self.name in _USUAL_FUNCTIONS)


def _functions(formulas: Iterable[Formula]) -> frozenset[str]:
    """The names that are functions: applied in a way that leaves no doubt, or usual ones that never stand alone."""
    sure: set[str] = set()
    applied: set[str] = set()
    bare: set[str] = set()
    for chain in (chain for formula in formulas for chain in formula.chains):
        for place, side in enumerate(chain.sides):
            is_left = place == 0 and chain.signs[0].text == "="
            for name, application in _names(side, is_left=is_left):
                if application is None:
                    bare.add(name)
                else:
                    is_word = any(token.kind == "word" and token.text == name for token in side)
                    (sure if is_word or application.is_sure else applied).add(name)
    return frozenset(sure | (applied & _USUAL_FUNCTIONS - bare))


def _names(side: Sequence[Token], *, is_left: bool) -> Iterator[tuple[str, _Application | None]]:
    """Every name outside of scripts, with its application where a round bracket follows it."""
    place = 0
    while place < len(side):
        token, start = side[place], place
        place += 1
        if token.kind == "script":
            place = _after_script(side, place)
            continue
        is_subscripted = place < len(side) and side[place].text == "_" and token.text in ("d", "e")
        if token.kind not in ("letter", "word") or (_is_known(token) and not is_subscripted):
            continue
        while place < len(side) and (side[place].text == "_" or side[place].text == "'"):
            place = _after_script(side, place + 1) if side[place].text == "_" else place + 1
        name = _spelt(side[start:place])
        if name is None:
            continue
        if place < len(side) and (side[place].kind, side[place].text) == ("open", ")"):
            inside = _inside(side, place)
            is_separator = lambda part: part.text in (",", ";", "|", "\\mid", "\\|")  # noqa: E731
            is_whole = is_left and start == 0 and place + len(inside) + 2 == len(side)
            yield (
                name.rstrip("'"),
                _Application(name=name, arguments=split_outside(inside, is_separator), is_whole=is_whole),
            )
        else:
            yield name, None


def _is_known(token: Token) -> bool:
    text = token.text.removeprefix("\\")
    return (
        text.lower() in FUNCTIONS
        or token.text in ACCENTS
        or token.text in BIG_OPERATORS
        or text in _NO_FUNCTIONS
        or (token.kind == "letter" and len(text) > 1 and not text.isalpha())
    )


def _after_script(side: Sequence[Token], place: int) -> int:
    """The place after the group or token that begins here."""
    if place < len(side) and side[place].kind == "open" and side[place].text == "}":
        return place + len(_inside(side, place)) + 2
    return place + 1


def _inside(side: Sequence[Token], place: int) -> Sequence[Token]:
    depth = 0
    for end in range(place, len(side)):
        depth += side[end].nesting
        if depth == 0:
            return side[place + 1 : end]
    return side[place + 1 :]


def _spelt(tokens: Sequence[Token]) -> str | None:
    try:
        name = parse(tuple(tokens))
    except NotUnderstood:
        return None
    return describe(name) if isinstance(name, Symbol) else None


# -- the symbols of a section ------------------------------------------------------------------------------------------
@dataclass(kw_only=True)
class _Section:
    formulas: Sequence[Formula]
    functions: frozenset[str]
    earlier: Mapping[str, Declaration]
    earlier_sizes: frozenset[str]
    described: Sequence[Description] = ()
    before: Setting | None = None

    def symbols(self) -> SectionSymbols:
        """What the symbols of the section stand for."""
        declared = {**{key: item for key, item in self.earlier.items() if key not in self.stated}, **self.declared}
        meanings = {key: item.meaning for key, item in declared.items()}
        undeclared = self._undeclared(meanings)
        sizes = self._sizes(meanings, undeclared)
        setting = Setting(
            name=INFERRED,
            sizes=sizes,
            fixed={},
            free={letter: self._over(letter, sizes) for letter in sorted(self.indices)} if sizes else {},
            symbols={**undeclared, **meanings},
            undeclared=frozenset(undeclared),
            ones=next(iter(sizes)) if len(sizes) == 1 else None,
            is_own=True,
            opaque_functions=self.functions,
            kinds=self._kinds(undeclared),
        )
        return SectionSymbols(setting=setting, declared=declared, stated=self.stated)

    # -- what is written ---------------------------------------------------------------------------------------------
    @cached_property
    def relations(self) -> list[tuple[Expression | None, str, Expression | None]]:
        """Every relation with its sides, None where one cannot be read."""
        found = []
        for chain in (chain for formula in self.formulas for chain in formula.chains):
            sides = [self._read(side) for side in chain.sides]
            steps = zip(sides, chain.signs, sides[1:], strict=False)
            found += [(left, sign.text, right) for left, sign, right in steps]
        return found

    def _read(self, side: Sequence[Token]) -> Expression | None:
        try:
            return parse(side, Reading(opaque=self.functions, functions=frozenset({"\\sigma"}), is_complex=False))
        except NotUnderstood:
            return None

    @cached_property
    def sides(self) -> list[Expression]:
        """Every side that can be read."""
        return [side for left, _, right in self.relations for side in (left, right) if side is not None]

    @cached_property
    def used(self) -> dict[str, Symbol]:
        """Every symbol by its spelling, without those that only stand in subscripts."""
        return {describe(symbol): symbol for side in self.sides for symbol in outer_symbols(side)}

    @cached_property
    def defined(self) -> frozenset[str]:
        """The symbols that stand to the left of an equals sign before they stand anywhere else."""
        seen: set[str] = set()
        found: set[str] = set()
        for left, sign, right in self.relations:
            below = {describe(symbol) for symbol in outer_symbols(right)} if right is not None else set()
            is_index = isinstance(left, Symbol) and left.name in self._scripts and not left.subscripts
            if isinstance(left, Symbol) and sign == "=" and not is_index and describe(left) not in seen | below:
                found.add(describe(left))
            seen |= below | ({describe(symbol) for symbol in outer_symbols(left)} if left is not None else set())
        return frozenset(found)

    @cached_property
    def _wholes(self) -> frozenset[str]:
        """The symbols that are defined all at once, as a column or a function of one: z_j is an entry of such a z."""
        return frozenset(
            left.name
            for left, sign, right in self.relations
            if sign == "=" and isinstance(left, Symbol) and not left.subscripts and left.name in self.defined
            if isinstance(right, Matrix) or (isinstance(right, Apply) and right.function == "softmax")
        )

    @cached_property
    def _scripts(self) -> frozenset[str]:
        """The letters that stand below symbols or sums."""
        letters = {_index_of(node) for side in self.sides for node in walk(side) if isinstance(node, Symbol)}
        return frozenset({node.index for node in self._operators} | {letter for letter in letters if letter})

    @property
    def stated(self) -> frozenset[str]:
        """The names that the section declares or defines itself."""
        return frozenset(self.defined | self.declared.keys())

    # -- declarations ------------------------------------------------------------------------------------------------
    @cached_property
    def declared(self) -> dict[str, Declaration]:
        """What the section's own formulas declare, with the reason."""
        said = self._said
        listed = {f"{name}_i": Symbol(name, (Symbol("i"),)) for name in self._listed}
        symbols = listed | {describe(item.symbol): item.symbol for item in self.described} | self.used
        found = {}
        for key, shape in self._declared_shapes.items():
            item = said.get(key)
            why = item.why if item is not None and item.shape is not None else _in_words(shape)
            meaning = self._declared_as(symbols[key], shape)
            if item is not None:
                meaning = replace(meaning, assume=item.assume, law=item.law)
            if key in self._covariances and shape[0] == shape[1] != "1" and not meaning.assume:
                meaning = replace(meaning, assume=(Assumption.POSITIVE_DEFINITE,))
            found[key] = Declaration(meaning=meaning, why=why, at=None if item is None else item.at)
        return {**self._declared_by_laws, **found}

    @cached_property
    def _declared_by_laws(self) -> dict[str, Declaration]:
        """What laws say of symbols: the λ of Poisson(λ) is a positive number, as the σ of N(μ, σ²) is."""
        found, said = {}, [(item, law) for item in self.described if isinstance(law := item.law, Distribution)]
        for item, law in said:
            key = describe(item.symbol)
            is_named = key.lower()[0] in _NAMES_OF_LAWS
            meaning = SymbolMeaning(name=key, formula=law) if is_named else SymbolMeaning(name=key, law=law)
            found[key] = Declaration(meaning=meaning, why=item.why, at=item.at)
        for law in (*(law for _, law in said), *self._laws):
            for symbol, assume in numbers_of(law):
                if self._is_number_of_law(symbol):
                    meaning = replace(self._declared_as(symbol, ("1", "1")), assume=assume)
                    found[describe(symbol)] = Declaration(meaning=meaning, why=f"a parameter of the {law.family} law")
        for left, law in self._drawn:
            shape = ("1", "1") if is_of_a_number(law) and self._is_number_of_law(left) else self._shape_of_vector(law)
            if shape is not None and self._is_open(left):
                meaning = self._declared_as(left, shape)
                found.setdefault(meaning.key, Declaration(meaning=meaning, why=f"drawn from the {law.family} law"))
        return found

    def _shape_of_vector(self, law: Distribution) -> tuple[str, str] | None:
        """The shape of a random vector, if its mean or its covariance has one: N(μ, Σ) with μ ∈ ℝ^d, N(0, I_d)."""
        if law.family != "normal":
            return None
        mean, covariance = (self._declared_shapes.get(describe(each)) for each in law.parameters)
        sized = [node.size for node in walk(law.parameters[-1]) if isinstance(node, Identity) and node.size is not None]
        rows = describe(sized[0]) if sized else covariance[0] if covariance else mean[0] if mean else "1"
        is_vector = mean is None or mean[1] == "1"
        return (rows, "1") if is_vector and rows != "1" else None

    def _is_number_of_law(self, symbol: Symbol) -> bool:
        """True for a symbol that may be a number as a law has it: not declared or defined otherwise, no vector."""
        return self._is_open(symbol) and describe(symbol) not in self._vectors

    def _is_open(self, symbol: Symbol) -> bool:
        """True for a symbol that is not declared in an earlier section, nor defined, nor all members of a family."""
        key = describe(symbol)
        is_taken = key in self.earlier or key in self.defined or key in self._size_names
        return not is_taken and not (symbol.name in self.families and not symbol.subscripts)

    @cached_property
    def _vectors(self) -> set[str]:
        return set().union(*map(marked_as_vectors, self.sides), self._declared_shapes)

    @cached_property
    def _laws(self) -> list[Distribution]:
        """Every law that a formula of the section names."""
        drawn = [law for _, law in self._drawn]
        return [*drawn, *(node for side in self.sides for node in walk(side) if isinstance(node, Distribution))]

    @cached_property
    def _covariances(self) -> frozenset[str]:
        last = (law.parameters[-1] for law in self._laws if law.family == "normal")
        return frozenset(describe(each) for each in last if isinstance(each, Symbol))

    @cached_property
    def _drawn(self) -> list[tuple[Symbol, Distribution]]:
        """The symbols to the left of a ∼, with the laws to its right."""
        found = []
        for chain in (chain for formula in self.formulas for chain in formula.chains):
            if chain.signs[0].text == "∼":
                left = self._read(chain.sides[0])
                try:
                    law = parse_law(chain.sides[1])
                except NotUnderstood:
                    continue
                if isinstance(left, Symbol) and isinstance(law, Distribution):
                    found.append((left, law))
        return found

    @cached_property
    def _random(self) -> frozenset[str]:
        """The symbols that have a law, and the means of normal laws: none is a matrix, even if its letter is large."""
        means = (law.parameters[0] for law in self._laws if law.family == "normal")
        return frozenset(
            describe(each) for each in (*(left for left, _ in self._drawn), *means) if isinstance(each, Symbol)
        )

    @cached_property
    def _said(self) -> dict[str, Description]:
        """What words say of each symbol, put together."""
        found: dict[str, Description] = {}
        for item in self.described:
            key = describe(item.symbol)
            known = found.get(key, item)
            found[key] = replace(
                known,
                kind=known.kind or item.kind,
                shape=known.shape or item.shape,
                assume=known.assume or item.assume,
                law=known.law or item.law,
            )
        return found

    @cached_property
    def _declared_shapes(self) -> dict[str, tuple[str, str]]:
        """The shapes that the section's own formulas declare; none for a symbol that is declared in two ways."""
        found: dict[str, set[tuple[str, str]]] = {}
        for left, sign, right in self.relations:
            if isinstance(left, Symbol) and sign == "∈" and isinstance(right, SetOf) and right.domain == "R":
                found.setdefault(describe(left), set()).add(_shape(right))
        shapes = {key: min(shapes) for key, shapes in found.items() if len(shapes) == 1}
        said = {
            describe(item.symbol): item.shape
            for item in self.described
            if item.shape is not None and not (item.kind == "number" and self._is_count(item.symbol))
        }
        for name, size in self._listed.items():
            members = [shapes.pop(key, None) for key in (f"{name}_1", f"{name}_{describe(size)}")]
            if members[0] is not None:
                shapes[f"{name}_i"] = members[0]
        return {**said, **shapes}

    def _is_count(self, symbol: Symbol) -> bool:
        """True for a number that counts something or runs over a sum: no number that may be anything."""
        return describe(symbol) in self._size_names | self.indices or describe(symbol) in self.defined

    @cached_property
    def _listed(self) -> dict[str, Symbol]:
        """The size of each family that is listed: the n of x_1, …, x_n, by x."""
        found = {}
        for formula in self.formulas:
            tokens = tokens_of(formula)
            head = tokens[: next((k for k, token in enumerate(tokens) if token.text == "∈"), len(tokens))]
            family = listed_family(split_outside(head, lambda token: token.text == ","))
            if family is not None:
                found[family[0].name] = family[1]
        return found

    def _declared_as(self, symbol: Symbol, shape: tuple[str, str]) -> SymbolMeaning:
        """A symbol of that shape; with an index letter below it, a whole family."""
        letter = _index_of(symbol)
        if letter is None or letter not in self.indices or symbol.name in self._labelled:
            return SymbolMeaning(name=describe(symbol), shape=shape)
        return SymbolMeaning(name=symbol.name, index=letter, over=self._family_size(symbol.name), shape=shape)

    # -- indices and families ----------------------------------------------------------------------------------------
    @cached_property
    def indices(self) -> frozenset[str]:
        """The letters that pick members: those that sums run over, and those beside them below the same symbols."""
        sure = set(_SURE_INDICES)
        below: dict[str, set[str]] = {}
        for side in self.sides:
            for node in walk(side):
                if isinstance(node, BigOperator):
                    sure.add(node.index)
                elif isinstance(node, Symbol) and len(node.subscripts) == 1:
                    script = node.subscripts[0]
                    letter = _index_of(node)
                    below.setdefault(node.name, set()).add(letter or "")
                    if isinstance(script, Sum) and letter is not None:
                        sure.add(letter)
        pairs = [_entry_letters(node) for side in self.sides for node in walk(side)]
        for letters in (*pairs, *pairs):
            if letters & sure and letters <= _INDEX_LETTERS | sure:
                sure |= letters
        for letters in below.values():
            if letters & sure and letters - {""} <= _INDEX_LETTERS | sure:
                sure |= letters
        return frozenset(sure - self._size_names - {""})

    @cached_property
    def _size_names(self) -> set[str]:
        domains = (right for _, sign, right in self.relations if sign == "∈" and isinstance(right, SetOf))
        said = {size for item in self.described for size in item.shape or () if not size.isdigit()}
        sizes = [size for domain in domains for size in domain.dimensions]
        sizes += [node.upper for node in self._operators if node.lower is not None and node.upper is not None]
        sizes += self._listed.values()
        sizes += [script for last in self._listed_last for symbol in symbols(last) for script in symbol.subscripts]
        named = {describe(symbol) for size in sizes for symbol in symbols(size)}
        return (said | named) - set(_SURE_INDICES) - {*CONSTANTS}

    @property
    def _listed_last(self) -> Iterator[Expression]:
        """The last entry of every matrix that lists its entries with an ellipsis: the h_n of (h_1, …, h_n)."""
        for side in self.sides:
            for node in walk(side):
                if isinstance(node, Matrix) and any(isinstance(cell, Dots) for row in node.rows for cell in row):
                    yield node.rows[-1][-1]

    @cached_property
    def _operators(self) -> list[BigOperator]:
        return [node for side in self.sides for node in walk(side) if isinstance(node, BigOperator)]

    @cached_property
    def families(self) -> dict[str, str]:
        """The symbols with an index below them, each with the letter: x_i under x."""
        found: dict[str, str] = {}
        for key, symbol in self.used.items():
            letter = _index_of(symbol)
            is_index = letter is not None and letter in self.indices and symbol.name not in self._labelled
            if is_index and key not in self._size_names:
                found.setdefault(symbol.name, letter or "")
        return found

    @cached_property
    def _labelled(self) -> frozenset[str]:
        """The matrices that letters below them tell apart, and do not count: W_q, W_k and W_v."""
        below: dict[str, set[str]] = {}
        for symbol in (*self.used.values(), *(item.symbol for item in self.described)):
            below.setdefault(symbol.name, set()).add(_index_of(symbol) or "i")
        return frozenset(name for name, letters in below.items() if name[0].isupper() and letters - _INDEX_LETTERS)

    @cached_property
    def _family_sizes(self) -> dict[str, str]:
        """The size that each family runs over: that of a sum over it, or of another that shares its letter."""
        groups: dict[str, set[str]] = {}
        known = {key: item.meaning.shape for key, item in self.earlier.items() if key not in self.defined}
        sizes = {key: shape[0] for key, shape in {**known, **self._declared_shapes}.items() if shape[0] != "1"}
        listed = {name: describe(size) for name, size in self._listed.items()}
        sizes |= listed
        for left, _, right in self.relations:
            by_letter: dict[str, set[str]] = {}
            for side in (left, right):
                for node in walk(side) if side is not None else ():
                    self._note_ranges(node, by_letter, sizes)
            for names in by_letter.values():
                merged = set(names).union(*(groups.get(name, set()) for name in names))
                groups.update(dict.fromkeys(merged, merged))
        found = {
            name: next((sizes[other] for other in sorted(group) if other in sizes), _ANY_SIZE)
            for name, group in groups.items()
        }
        return {**found, **listed}

    def _note_ranges(self, node: Expression, by_letter: dict[str, set[str]], sizes: dict[str, str]) -> None:
        letter = _index_of(node) if isinstance(node, Symbol) else None
        if isinstance(node, Symbol) and letter in self.indices:
            by_letter.setdefault(letter or "", set()).add(node.name)
        if isinstance(node, BigOperator) and isinstance(node.upper, Symbol) and node.upper.name not in self.indices:
            for symbol in symbols(node.body):
                if _index_of(symbol) == node.index:
                    sizes.setdefault(symbol.name, describe(node.upper))

    def _family_size(self, name: str) -> str:
        return self._family_sizes.get(name, _ANY_SIZE)

    def _over(self, letter: str, sizes: Mapping[str, Size]) -> str:
        found = (self._family_size(name) for name, other in self.families.items() if other == letter)
        return next((size for size in found if size in sizes), _ANY_SIZE if _ANY_SIZE in sizes else min(sizes))

    # -- what nothing declares ---------------------------------------------------------------------------------------
    def _undeclared(self, declared: Mapping[str, SymbolMeaning]) -> dict[str, SymbolMeaning]:
        """Every used symbol that nothing declares, as a number or a family of numbers."""
        found = self._still_undeclared(declared)
        families = {meaning.name for meaning in (*declared.values(), *found.values()) if meaning.index is not None}
        for key, symbol in self.used.items():
            is_taken = (
                key in declared
                or key in found
                or symbol.name in families
                or key in self.defined
                or symbol.name in CONSTANTS
            )
            if is_taken or self._is_size(key) or self._is_bound(symbol) or key in self._differentiated:
                continue
            is_entry = bool(_entry_letters(symbol) & self.indices) and symbol.name != _KRONECKER
            if is_entry and symbol.name not in (*declared, *self.defined, *self.used):
                found[symbol.name] = SymbolMeaning(name=symbol.name)
            if len(symbol.subscripts) == 2 or not self._is_whole(symbol, declared):
                continue
            if symbol.name in self.families and _index_of(symbol) is not None:
                letter = self.families[symbol.name]
                if f"{symbol.name}_{letter}" in self.defined or key in self.defined or symbol.name in self._wholes:
                    continue
                said = self._said_of_family(symbol.name)
                found[f"{symbol.name}_{letter}"] = replace(
                    said, name=symbol.name, index=letter, over=self._family_size(symbol.name)
                )
            elif not (symbol.name in self.families and not symbol.subscripts):
                item = self._said.get(key)
                assume, law = (item.assume, item.law) if item is not None else ((), None)
                assume = assume or ((Assumption.POSITIVE_DEFINITE,) if key in self._covariances else ())
                found[key] = SymbolMeaning(name=key, assume=assume, law=law)
        return found

    def _still_undeclared(self, declared: Mapping[str, SymbolMeaning]) -> dict[str, SymbolMeaning]:
        """What earlier sections have used without declaring it: it is the same here, unless this one states it."""
        stated = {name.split("_")[0] for name in (*self.stated, *declared)} | {*self.stated, *declared}
        earlier = self.before.symbols if self.before is not None else {}
        return {
            key: meaning
            for key, meaning in earlier.items()
            if self.before is not None and key in self.before.undeclared and meaning.name not in stated
            if key not in self._size_names and meaning.name not in self._size_names
        }

    def _said_of_family(self, name: str) -> SymbolMeaning:
        """What words say of the members of a family: the vectors x_i are unit vectors, the entries of q have mean 0."""
        for item in self._said.values():
            if item.symbol.name == name:
                return SymbolMeaning(name=name, assume=item.assume, law=item.law)
        return SymbolMeaning(name=name)

    @cached_property
    def _differentiated(self) -> frozenset[str]:
        """The symbols that derivatives are taken of; where nothing defines one, it is a loss that may be anything."""
        tops = (node.top for side in self.sides for node in walk(side) if isinstance(node, Derivative))
        return frozenset(describe(top) for top in tops if isinstance(top, Symbol) and not top.subscripts)

    def _is_size(self, key: str) -> bool:
        return key in self._size_names or key in self._family_sizes.values() or key in self._kept_sizes

    @property
    def _kept_sizes(self) -> frozenset[str]:
        """The sizes of earlier sections that this one does not take for something else."""
        return frozenset(self.earlier_sizes - self.stated - self.families.keys())

    def _is_bound(self, symbol: Symbol) -> bool:
        """True for an index, and for a name that has an index inside, so that it is not one symbol."""
        if not symbol.subscripts and symbol.name in self.indices:
            return True
        inside = symbol.name.partition("(")[2] if "(" in symbol.name else ""
        return any(letter in self.indices for letter in _INDEX_INSIDE.findall(inside))

    def _is_whole(self, symbol: Symbol, declared: Mapping[str, SymbolMeaning]) -> bool:
        """True unless the symbol is an entry of one that is declared, or has a subscript that is neither."""
        if not symbol.subscripts or symbol.name not in declared:
            return not (symbol.name == _KRONECKER and symbol.subscripts)
        letter = _index_of(symbol)
        return not (letter in self.indices or isinstance(symbol.subscripts[0], Number))

    def _sizes(self, declared: Mapping[str, SymbolMeaning], undeclared: Mapping[str, SymbolMeaning]) -> dict[str, Size]:
        meanings = [*declared.values(), *undeclared.values()]
        names = {size for meaning in meanings for size in meaning.shape if not size.isdigit()}
        names |= {meaning.over for meaning in meanings if meaning.over is not None}
        names |= self._size_names | (self._kept_sizes & self.used.keys())
        names |= set(self._family_sizes.values()) if self.families else set()
        if not names and any(_entry_letters(symbol) & self.indices for symbol in self.used.values()):
            names.add(_ANY_SIZE)
        even = {describe(symbol) for node in self._halves for symbol in symbols(node)}
        return {
            name: Size(minimum=3 if name == _ANY_SIZE else 2, is_even=name in even)
            for name in sorted(names)
            if name.isidentifier()
        }

    @property
    def _halves(self) -> Iterator[Expression]:
        """What is divided by two in the upper limit of a sum: the d of d/2 − 1."""
        for node in self._operators:
            for inner in walk(node.upper) if node.upper is not None else ():
                if isinstance(inner, Quotient) and inner.bottom == Number(Fraction(2)):
                    yield inner.top

    def _kinds(self, undeclared: Mapping[str, SymbolMeaning]) -> dict[str, tuple[Kind, ...]]:
        """What each undeclared symbol may be: what words say, else what its letter and its use allow."""
        marked: set[str] = set().union(*map(marked_as_vectors, self.sides))
        return {key: self._kinds_of(key, meaning, marked) for key, meaning in undeclared.items()}

    def _kinds_of(self, key: str, meaning: SymbolMeaning, marked: Collection[str]) -> tuple[Kind, ...]:
        """One that is transposed somewhere is no number."""
        item = self._said.get(key)
        if item is not None and item.kind is not None:
            return (item.kind,)
        before = self.before.kinds.get(key) if self.before is not None else None
        if before is None and meaning.index is None and key not in self.used:  # only entries of it stand anywhere
            return ("matrix",)
        if key in self._covariances and key[0].isupper():
            return ("matrix",)
        kinds = before or (("number", "column") if key in self._random else likely_kinds(key))
        # The bare s of softmax(s) is all members together, and says nothing of one.
        members = (name for name in marked if meaning.index and "_" in name)
        is_marked = key in marked or any(name.split("_")[0] == meaning.name for name in members)
        return (tuple(kind for kind in kinds if kind != "number") or ("column",)) if is_marked else kinds


def numbers_of(law: Distribution) -> Iterator[tuple[Symbol, tuple[Assumption, ...]]]:
    """The letters that can only be numbers as parameters of a law, with what it assumes of them."""
    match law:
        case Distribution("bernoulli", (Symbol() as p,)):
            yield p, (Assumption.PROBABILITY,)
        case Distribution("exponential" | "poisson" | "gamma", parameters):
            yield from ((each, (Assumption.POSITIVE,)) for each in parameters if isinstance(each, Symbol))
        case Distribution("uniform", parameters):
            yield from ((each, ()) for each in parameters if isinstance(each, Symbol))
        case Distribution("normal", (mean, Power(Symbol() as sigma, Number(Fraction(numerator=2, denominator=1))))):
            yield sigma, (Assumption.POSITIVE,)
            if isinstance(mean, Symbol):
                yield mean, ()
        case Distribution("normal", (_, Product((Power(Symbol() as sigma, _), Identity())))):
            yield sigma, (Assumption.POSITIVE,)


def is_of_a_number(law: Distribution) -> bool:
    """True for a law that is one of a number whatever its letters stand for."""
    variance = law.parameters[-1]
    is_square = isinstance(variance, Power) and isinstance(variance.base, Symbol)
    return law.family not in ("normal", "categorical") or is_square or isinstance(variance, Number)


def _entry_letters(node: Expression) -> set[str]:
    """The letters that pick an entry of a matrix: the i and k of A_{ik}."""
    scripts = node.subscripts if isinstance(node, Symbol) and len(node.subscripts) == 2 else ()
    letters = {each.name for each in scripts if isinstance(each, Symbol) and not each.subscripts}
    return letters if len(letters) == len(scripts) and all(len(letter) == 1 for letter in letters) else set()


def _index_of(symbol: Symbol) -> str | None:
    """The letter that picks a member, also in t − 1 and i + 1; None for any other subscript."""
    script = symbol.subscripts[0] if len(symbol.subscripts) == 1 else None
    if isinstance(script, Sum) and len(script.terms) == 2:
        first, second = script.terms
        body = second.body if isinstance(second, Negative) else second
        script = first if isinstance(body, Number) else None
    return script.name if isinstance(script, Symbol) and not script.subscripts and len(script.name) == 1 else None


def _shape(domain: SetOf) -> tuple[str, str]:
    """Rows and columns of ℝ^{m×n}; ℝ^d is a column."""
    names = [describe(dimension) for dimension in domain.dimensions] or ["1"]
    return (names[0], names[1]) if len(names) > 1 else (names[0], "1")


def _in_words(shape: tuple[str, str]) -> str:
    if shape == ("1", "1"):
        return "declared as a number"
    return f"declared as a vector of length {shape[0]}" if shape[1] == "1" else f"declared as {shape[0]}×{shape[1]}"
