"""What statements do to the environment: conditions, the regime, values, definitions, declarations, distributions.

The author's own meaning of a letter counts before the problem's.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from regard.derivations.context.clauses import Form, Supposition
from regard.derivations.context.complex_numbers import with_imaginary_unit
from regard.derivations.context.formulas import index_conditions, normal_law
from regard.derivations.judging.findings import Finding, NoteKind, true
from regard.derivations.judging.judge import decide
from regard.derivations.judging.relations import Relation, Sides, read_side
from regard.derivations.judging.scope import CONSTANTS, Scope
from regard.derivations.judging.setting import Assumption, DefinedFunction, SymbolMeaning
from regard.derivations.judging.values import ORDERS
from regard.derivations.notation.parser import parse, parse_law
from regard.derivations.notation.statements import Chain
from regard.derivations.notation.syntax import (
    Apply,
    BigOperator,
    Condition,
    Derivative,
    Distribution,
    Expression,
    Identity,
    Infinity,
    Matrix,
    Negative,
    Number,
    Power,
    Product,
    SetOf,
    Sum,
    Symbol,
    Transpose,
    describe,
    letters_in,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import GREEK, NotUnderstood, Token, tokenize
from regard.derivations.reading.phrases import any_of
from regard.derivations.results import INFERRED, Role

_SMALLEST_SIZE = 2
GREEK_NAMES = {letter: command.removeprefix("\\") for letter, command in GREEK.items()}
_INDICES = "ijkl"
_ON_INDICES = ("≠", "∉", "∈", "=", "<", ">", "≤", "≥")
_ON_NUMBERS = ("=", "<", ">", "≤", "≥", "≠", "≈")
_DRIVES = re.compile(
    r"(?<![A-Za-z\\_])(\\[a-z]+|[A-Za-z])\s?(?:\\(?:to|rightarrow|longrightarrow)(?![a-z])|→)\s?\{?"
    r"([+-]?\s?(?:\\infty|∞|\d+(?:\.\d+)?)\^?[+-]?)"
)
_ENDS = {"infinity": re.compile(r"\+?\s?(?:\\infty|∞)"), "zero": re.compile(r"0\^?\+?")}
_PREMISE = re.compile(
    rf"(?P<name>[α-ωΑ-Ω]|\\[a-z]+)\s*\$?\s*(?:{any_of('slightly')}|\s)*"
    rf"(?:(?P<above>{any_of('greater_than')}|>)|{any_of('less_than')}|<)\s*\$?\s*(?P<number>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_VARIES = re.compile(
    rf"(?:{any_of('some_number')}|{any_of('where')})\s*\$?\s*(?P<name>\\[a-z]+|[A-Za-zα-ω])\s*\$?\s*{any_of('that_varies')}",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\\[a-z]+|(?<![A-Za-z\\])[A-Za-zα-ω](?![A-Za-z])")
_ON_SCALES = ("→", ">", "≫", "≪", "≥")


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """The role of a step and what was found; `scope` is what names mean after it, where it has changed."""

    role: Role
    finding: Finding
    scope: Scope | None = None


def readable(side: Sequence[Token], scope: Scope) -> Expression | None:
    """A side read in the plain way; None if it is empty or cannot be read."""
    try:
        return read_side(side, scope) if side else None
    except NotUnderstood:
        return None


def as_condition(left: Expression | None, sign: str, right: Expression | None, scope: Scope) -> Recognised | None:
    """Conditions on indices, and words about the regime: i ≠ a, β → ∞, λ > 0."""
    setting = scope.setting
    if isinstance(left, Number) and isinstance(right, Symbol) and right.name in setting.fixed and sign in ("≠", "∉"):
        return _supposed("A condition on an index", Role.INDEX)
    if not isinstance(left, Symbol):
        return None
    if sign == "≠" and {left.name, getattr(right, "name", "")} <= set(_INDICES) and not left.subscripts:
        return _supposed("A condition on an index", Role.INDEX)
    is_whole = not isinstance(right, Number) or right.value.denominator == 1
    if _is_index(left, scope) and sign in _ON_INDICES and is_whole:
        return _supposed("A condition on an index", Role.INDEX)
    is_driven = tends(left, scope) and sign in _ON_SCALES and isinstance(right, Infinity | Number)
    regime = new_regime(left, sign, right, scope)
    if is_driven or regime is not None:
        return _supposed("The regime", scope=regime)
    if is_value(left, right, scope) and sign in _ON_NUMBERS:
        # Where only the document says what symbols mean, a value is a definition.
        is_kept = sign == "=" and setting.name == INFERRED and not isinstance(right, Matrix)
        kept = _set(left, right, scope) if is_kept and right is not None else None
        return _supposed("A particular value" if sign == "=" else "A condition on a number", scope=kept)
    if sign == "→" and isinstance(right, Number) and is_drawn(left, scope):
        return _supposed("A particular value")
    if sign in ORDERS and right is not None and _is_limit(right) and is_shifted(left, scope):
        return _supposed("A condition on a number")
    return None


def _is_index(symbol: Symbol, scope: Scope) -> bool:
    """True for a free index, unless the author has taken its letter for something else."""
    is_free = symbol.name in scope.setting.free and not scope.setting.is_complex
    return is_free and not symbol.subscripts and symbol.name not in scope.own


def new_regime(left: Symbol, sign: str, right: Expression | None, scope: Scope) -> Scope | None:
    """The scope in which a letter of the author's own grows (t ≫ 0) or vanishes (τ → 0)."""
    if scope.knows(left) or scope.is_constant(left):
        return None
    if _grows(sign, right):
        return _as_scale(left, scope)
    is_zero = isinstance(right, Number) and (right.value == 0 if sign == "→" else sign == "≪")
    return scope.with_meaning(SymbolMeaning(name=describe(left), tends="zero")) if is_zero else None


def growing_instead(scope: Scope, reached: Iterable[str]) -> Iterator[tuple[str, Scope]]:
    """Each scale of the author's own that vanishes, with a scope in which it grows: a remark may be about one place."""
    for name in reached:
        meaning = scope.own.get(name)
        if meaning is not None and meaning.tends == "zero" and meaning.formula is None:
            yield name, scope.with_meaning(replace(meaning, tends="infinity"))


def _grows(sign: str, right: Expression | None) -> bool:
    return (sign == "→" and isinstance(right, Infinity)) or (sign == "≫" and isinstance(right, Number))


def _as_scale(symbol: Symbol, scope: Scope) -> Scope:
    return scope.with_meaning(SymbolMeaning(name=describe(symbol), tends="infinity"))


def _supposed(reason: str, role: Role = Role.SUPPOSITION, scope: Scope | None = None) -> Recognised:
    return Recognised(role=role, finding=true(reason), scope=scope)


def tends(symbol: Expression, scope: Scope) -> bool:
    """True for a symbol that is driven somewhere in the regime."""
    return isinstance(symbol, Symbol) and scope.knows(symbol) and scope.find(symbol).meaning.tends is not None


def is_guessed(symbol: Symbol, scope: Scope) -> bool:
    """True for a symbol that is only known by a guess: K_a where there is k_a. The problem's own aliases are none."""
    found = scope.lookup(symbol)
    return found is not None and found.note is not None and found.note.kind is not NoteKind.ALIAS


def form_of(chain: Chain, scope: Scope) -> Form:
    """What a relation on one letter is by its form, whatever the words around it say: γ > 1, i ≠ a; β ≫ 0."""
    if len(chain.signs) != 1 or chain.is_case:
        return None
    left, sign, right = readable(chain.sides[0], scope), chain.signs[0].text, readable(chain.sides[1], scope)
    if not isinstance(left, Symbol) or right is None:
        return None
    if _is_index(left, scope):
        return "condition" if sign in _ON_INDICES else None
    is_new = not (scope.knows(left) or scope.is_constant(left))
    is_driven = tends(left, scope) and _drives_on(scope.find(left).meaning, sign, right)
    if (is_driven and isinstance(right, Number | Infinity)) or new_regime(left, sign, right, scope) is not None:
        return "regime"
    if sign == "=":
        return "condition" if is_value(left, right, scope) else None
    is_open = is_new or is_drawn(left, scope) or is_shifted(left, scope)
    is_bounded = sign in (*ORDERS, "→", "≫", "≪") and _is_limit(right)
    return "condition" if (is_open or tends(left, scope)) and is_bounded else None


def _is_limit(node: Expression) -> bool:
    return isinstance(node, Number | Infinity) or (isinstance(node, Negative) and _is_limit(node.body))


def is_driven_elsewhere(source: str, scope: Scope) -> bool:
    r"""True if a formula drives a symbol where the regime in force does not: \lim_{\beta \to 0}."""
    for name, end in _DRIVES.findall(source):
        symbol = Symbol(name.removeprefix("\\"))
        if symbol.name in scope.setting.sizes and not scope.knows(symbol):
            return True
        if tends(symbol, scope) and _ENDS[scope.find(symbol).meaning.tends or ""].fullmatch(end) is None:
            return True
    return False


def with_declared(words: str, scope: Scope) -> Scope:
    """The scope with the letters that words declare to be numbers that vary: for some scalar β that varies."""
    for match in _VARIES.finditer(words):
        name = match["name"].removeprefix("\\")
        scope = scope.with_letter(SymbolMeaning(name=GREEK_NAMES.get(name, name)))
    return scope


def renamed_scale(sides: Sides, scope: Scope) -> SymbolMeaning | None:
    """The letter that stands for one of the problem's vanishing numbers, where that makes a given relation true."""
    if not decide(sides, scope).is_false:
        return None
    used = {symbol for side in sides.expressions(scope) for symbol in symbols(side) if not symbol.subscripts}
    vanishing = [name for name, meaning in scope.setting.symbols.items() if meaning.tends == "zero"]
    for symbol in sorted(used, key=describe):
        for name in vanishing:
            other = SymbolMeaning(name=symbol.name, formula=Symbol(name))
            is_number = symbol.name != name and scope.knows(symbol) and scope.find(symbol).meaning.is_number
            if is_number and decide(sides, scope.with_meaning(other)).is_true:
                return other
    return None


def is_renamed_scale(meaning: SymbolMeaning, scope: Scope) -> bool:
    """True for a letter that only stands for one of the problem's vanishing numbers."""
    known = scope.setting.symbols.get(describe(meaning.formula)) if isinstance(meaning.formula, Symbol) else None
    return known is not None and known.tends == "zero"


def has_own_numbers(node: Expression, scope: Scope) -> bool:
    """True if an expression has numbers in it that the author has declared and not defined."""
    found = (scope.own.get(describe(symbol)) for symbol in symbols(node))
    return any(m is not None and m.formula is None and m.tends is None and m.variance is None for m in found)


# -- the condition of a clause -----------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Premises:
    """A condition put to work: the scope and the relations under which its clause is to be judged.

    `is_complete` says that nothing in the condition was left aside, `is_particular` that it gives a letter a value.
    """

    scope: Scope
    relations: tuple[Relation, ...] = ()
    indices: tuple[Condition, ...] = ()
    is_complete: bool = True
    is_particular: bool = False


def apply_conditions(condition: Supposition, scope: Scope) -> Premises:
    """What a condition means for its clause: γ > 1, γ → 0.5, i ≠ a, q = β μ_b, or words such as γ is larger than 1."""
    setting = scope.setting
    found = Premises(scope=scope, relations=_premises_in_words(condition.words))
    is_spelt = bool(found.relations) or not condition.is_in_words
    found = replace(found, is_complete=is_spelt or (condition.is_extreme and _is_in_regime(condition, scope)))
    for chain in condition.relations:
        indices = index_conditions([chain], setting)
        if indices and not _bounds_a_number(chain, scope):
            found = replace(found, indices=(*found.indices, *indices))
        elif len(chain.signs) == 1:
            found = _with_premise(chain, found)
        else:
            found = replace(found, is_complete=False)
    return found


def _bounds_a_number(chain: Chain, scope: Scope) -> bool:
    """True for r > 1, where r is a length of the author's rather than an index."""
    return chain.signs[0].text in ("<", ">") and isinstance(readable(chain.sides[1], scope), Number)


def _with_premise(chain: Chain, found: Premises) -> Premises:
    left, sign, right = (
        readable(chain.sides[0], found.scope),
        chain.signs[0].text,
        readable(chain.sides[1], found.scope),
    )
    scope = found.scope
    if left is None or right is None or not isinstance(left, Symbol):
        return replace(found, is_complete=False)
    if sign == "∈" and isinstance(right, SetOf) and right.domain == "R" and _is_declared(left, scope):
        return found
    is_driven = tends(left, scope) and sign in _ON_SCALES
    if is_driven and _drives_on(scope.find(left).meaning, sign, right):
        return found
    if left.name in scope.setting.sizes and not isinstance(right, Number):
        return replace(found, is_complete=False)  # shapes keep their own sizes: m = d cannot be tried
    if sign in ("=", "→", "≈") and (
        is_value(left, right, scope) or (isinstance(right, Number) and is_drawn(left, scope))
    ):
        return replace(found, scope=_set(left, right, scope), is_particular=found.is_particular or sign == "=")
    if sign == "≫" and isinstance(right, Number) and is_drawn(left, scope):
        return replace(found, scope=_as_scale(left, scope))
    if sign in ORDERS and (is_drawn(left, scope) or is_shifted(left, scope)) and not is_driven:
        return replace(found, relations=(*found.relations, Relation(left=left, sign=sign, right=right)))
    if sign == "=" and left.name in {key.split("_")[0] for key in scope.own}:
        return found
    return replace(found, is_complete=False)


def _is_declared(symbol: Symbol, scope: Scope) -> bool:
    """True for a symbol of the author's whose shape is known: for A ∈ ℝ^{n×n} adds nothing to it."""
    found = scope.lookup(symbol) if scope.setting.is_own else None
    return found is not None and found.meaning.key not in scope.setting.undeclared


def _drives_on(meaning: SymbolMeaning, sign: str, right: Expression) -> bool:
    """True if a condition drives a symbol where the regime drives it anyway: β ≫ 0, α → 0."""
    if meaning.tends == "infinity":
        return isinstance(right, Infinity) or sign in (">", "≫", "≥")
    return sign in ("→", "≪", "<", "≈") and (not isinstance(right, Number) or sign == "≪" or right.value == 0)


def _premises_in_words(words: str) -> tuple[Relation, ...]:
    """Conditions on a number that words spell out: γ is slightly larger than 1."""
    found = []
    for match in _PREMISE.finditer(words):
        try:
            left, right = parse(tokenize(match["name"])), parse(tokenize(match["number"]))
        except NotUnderstood:
            continue
        found.append(Relation(left=left, sign=">" if match["above"] else "<", right=right))
    return tuple(found)


def _is_in_regime(condition: Supposition, scope: Scope) -> bool:
    """True if a condition in words only says what the regime says: when β is large, but not when γ is large."""
    letters = [Symbol(name.removeprefix("\\")) for name in _LETTER.findall(condition.words)]
    return any(tends(letter, scope) for letter in letters)


# -- particular values -------------------------------------------------------------------------------------------------
def is_value(left: Expression | None, right: Expression | None, scope: Scope) -> bool:
    """True if left = right gives a letter a particular value: n = 10, β = 5, β = log n, γ_1 = γ_2, P = (0 1; 1 0)."""
    if right is None or left == right or not isinstance(left, Symbol):
        return False
    if isinstance(right, Matrix):
        return _is_drawn_matrix(left, scope) and is_spelt_out(right, scope)
    is_plain = isinstance(right, Identity) or (isinstance(right, Number) and right.value == 0)
    if is_plain and scope.setting.name == INFERRED and _is_drawn_matrix(left, scope):
        return True
    sizes = () if left.name in scope.setting.sizes else tuple(scope.setting.sizes)
    if scope.setting.is_complex:
        sizes = (*sizes, "i")
    return is_drawn(left, scope) and (_is_made_of(right, (*CONSTANTS, *sizes)) or is_drawn(right, scope))


def is_number(chain: Chain, scope: Scope) -> bool:
    """True if a chain gives a letter a plain number as its value: n = 10."""
    right = readable(chain.sides[1], scope)
    is_plain = right is not None and not isinstance(right, Identity) and _is_made_of(right, CONSTANTS)
    return chain.signs[0].text == "=" and is_plain


def is_drawn(symbol: Expression | None, scope: Scope) -> bool:
    """True for a size, or a number that the problem leaves open: what a text may give a particular value."""
    if not isinstance(symbol, Symbol):
        return False
    if not symbol.subscripts and symbol.name in scope.setting.sizes:
        return True
    if not scope.knows(symbol) or is_guessed(symbol, scope):
        return False
    meaning = scope.find(symbol).meaning
    if isinstance(meaning.formula, Symbol) and meaning.formula != symbol:
        return is_drawn(meaning.formula, scope)
    return meaning.formula is None and meaning.index is None and meaning.is_number


def is_shifted(symbol: Symbol, scope: Scope) -> bool:
    """True for a letter that is a random number, perhaps shifted and scaled: the ε = γ − 1 of an author."""
    formula = scope.find(symbol).meaning.formula if scope.knows(symbol) else None
    inside = [scope.lookup(term) for term in symbols(formula)] if isinstance(formula, Sum | Symbol | Product) else []
    return len(inside) == 1 and inside[0] is not None and inside[0].meaning.is_random_number


def _is_drawn_matrix(symbol: Symbol, scope: Scope) -> bool:
    """True for a matrix or vector that the problem leaves open."""
    meaning = scope.find(symbol).meaning if scope.knows(symbol) else None
    return meaning is not None and meaning.formula is None and not meaning.is_number


def is_spelt_out(node: Expression | None, scope: Scope) -> bool:
    """True for a matrix of numbers and scales, with or without a factor: 5 (1, 0), (β, β, 0)."""
    if isinstance(node, Product):
        return any(isinstance(factor, Matrix) for factor in node.factors) and _has_only_scales(node, scope)
    return isinstance(node, Matrix) and _has_only_scales(node, scope)


def _has_only_scales(node: Expression, scope: Scope) -> bool:
    return all(symbol.name in CONSTANTS or tends(symbol, scope) for symbol in symbols(node))


def _is_made_of(node: Expression, names: Sequence[str]) -> bool:
    """True for 10, ½, log 196, and for what has no other letters than these."""
    return not isinstance(node, Infinity) and all(symbol.name in names for symbol in symbols(node))


def at_particular_values(chains: Iterable[Chain], scope: Scope) -> Scope | None:
    """The scope at the particular values that a text gives, None if it gives none."""
    particular = scope
    for chain in (chain for chain in chains if chain.signs[0].text == "="):
        left, right = readable(chain.sides[0], scope), readable(chain.sides[1], scope)
        if isinstance(left, Symbol) and right is not None and is_value(left, right, scope):
            particular = _set(left, right, particular)
    return None if particular is scope else particular


def _set(left: Symbol, right: Expression, scope: Scope) -> Scope:
    """The scope with a letter at a particular value; a matrix also sets the sizes of its rows and columns."""
    if left.name in scope.setting.sizes and not scope.knows(left):
        if not isinstance(right, Number) or right.value.denominator != 1 or right.value < _SMALLEST_SIZE:
            return scope
        half = scope.setting.sizes[left.name].twice
        halved = {half: int(right.value) // 2} if half and right.value % 2 == 0 else {}
        return replace(scope, sizes={**scope.sizes, **halved, left.name: int(right.value)})
    meaning = scope.find(left).meaning
    if isinstance(meaning.formula, Symbol) and meaning.formula != left:
        return _set(meaning.formula, right, scope)
    if meaning.index is not None:
        return scope
    scope = scope.with_meaning(SymbolMeaning(name=meaning.name, formula=right))
    return replace(scope, sizes={**scope.sizes, **_sizes_of(right, meaning)}) if isinstance(right, Matrix) else scope


def _sizes_of(matrix: Matrix, meaning: SymbolMeaning) -> dict[str, int]:
    shape = (len(matrix.rows), len(matrix.rows[0]))
    return {name: size for name, size in zip(meaning.shape, shape, strict=True) if not name.isdigit()}


# -- definitions -------------------------------------------------------------------------------------------------------
def as_membership(left: Symbol, sides: Sides, scope: Scope) -> Recognised:
    """What x ∈ ℝ^d does: it declares x, whose shape the author may have chosen otherwise than the problem."""
    if not scope.knows(left):
        return Recognised(role=Role.DECLARATION, finding=true("Introduces a new symbol"))
    finding = decide(sides, scope)
    if not finding.is_false:
        return Recognised(role=Role.DECLARATION, finding=finding)
    other = true(f"{describe(left)} is the author's own symbol here")
    return Recognised(role=Role.DECLARATION, finding=other, scope=scope.without(describe(left)))


def as_definition(left: Symbol, right: tuple[Token, ...], scope: Scope) -> Recognised:
    """The definition of a symbol; what it is defined by must have a value, or the step is judged for it."""
    expression = read_side(right, scope)
    letter = _number_below(left, expression, scope)
    within = scope if letter is None else scope.with_meaning(SymbolMeaning(name=letter, assume=(Assumption.POSITIVE,)))
    itself = Sides(left=right, sign="=", right=right)
    finding = decide(itself, within)
    is_open = not finding.is_true or finding.has_note(NoteKind.ANY_NUMBER)
    if is_open and scope.setting.is_own and (other := with_imaginary_unit(itself, within)) is not None:
        expression, finding = read_side(right, other), decide(itself, other)
    if finding.has_note(NoteKind.ANY_NUMBER):
        reason = "Defined in terms of undefined symbols"
        return Recognised(role=Role.DEFINITION, finding=Finding(kind="unknown", reason=reason, notes=finding.notes))
    if not finding.is_true:
        return Recognised(role=Role.ASSERTION if finding.is_false else Role.DEFINITION, finding=finding)
    defined = replace(finding, kind="true", reason="Defines a new symbol")
    if letter is not None and letter not in scope.setting.free:
        return Recognised(
            role=Role.DEFINITION, finding=defined, scope=with_subscripted(left.name, letter, expression, within)
        )
    meaning = _meaning(left, expression, finding, scope)
    return Recognised(role=Role.DEFINITION, finding=defined, scope=scope.with_meaning(meaning))


def _number_below(left: Symbol, expression: Expression, scope: Scope) -> str | None:
    """The letter below a symbol that is a plain number in what defines it: the m of R_m = rotation by mθ."""
    script = left.subscripts[0] if len(left.subscripts) == 1 else None
    if (
        not scope.setting.is_own
        or not isinstance(script, Symbol)
        or script.subscripts
        or script.name in scope.setting.sizes
    ):
        return None
    if script.name[0].isupper() or isinstance(expression, Derivative):
        return None
    found = list(symbols(expression))
    is_index = any(script.name in letters_in(each) for symbol in found for each in symbol.subscripts)
    is_own_name = any(symbol.name == left.name for symbol in found)
    return script.name if script in found and not is_index and not is_own_name else None


def with_subscripted(name: str, letter: str, formula: Expression, scope: Scope) -> Scope:
    """The scope with a function that has its argument below its name: R_m, and so R_{m+n}."""
    function = DefinedFunction(arguments=(letter,), formula=formula, is_subscripted=True)
    members = {key for key in scope.setting.symbols if key.partition("_")[0] == name}
    setting = replace(
        scope.setting,
        functions={**scope.setting.functions, name: function},
        symbols={key: each for key, each in scope.setting.symbols.items() if key not in members},
        undeclared=scope.setting.undeclared - members,
    )
    return replace(scope, setting=setting, own={key: each for key, each in scope.own.items() if each.name != name})


def _meaning(left: Symbol, expression: Expression, finding: Finding, scope: Scope) -> SymbolMeaning:
    """The symbol, or the whole family where its subscript is a free index: x_i = … defines every x_i, s_ij a matrix."""
    if scope.setting.is_own and (table := _table(left, expression, scope)) is not None:
        return SymbolMeaning(name=left.name, formula=table, swaps=finding.swaps)
    script = left.subscripts[0] if len(left.subscripts) == 1 else None
    index = script.name if isinstance(script, Symbol) else None
    if index is None or index not in scope.setting.free or index not in letters_in(expression):
        return SymbolMeaning(name=describe(left), formula=expression, swaps=finding.swaps)
    over = scope.setting.free[index]
    return SymbolMeaning(name=left.name, index=index, over=over, formula=expression, swaps=finding.swaps)


def _table(left: Symbol, expression: Expression, scope: Scope) -> Expression | None:
    """The matrix of all entries that s_ij = … defines; None for other subscripts than two free indices."""
    letters = [script.name for script in left.subscripts if isinstance(script, Symbol) and not script.subscripts]
    below = set(letters_in(expression))
    is_table = len(letters) == len(left.subscripts) == len(set(letters)) == 2 and set(letters) <= below
    if not is_table or not set(letters) <= scope.setting.free.keys() or left.name in scope.setting.sizes:
        return None
    row = BigOperator("row", letters[1], (), None, None, expression)
    return BigOperator("column", letters[0], (), None, None, row)


def as_coordinates(left: Symbol, sides: Sides, scope: Scope) -> Recognised | None:
    """v = A x with a new letter x names the coordinates of a known v: x = (AᵀA)⁻¹Aᵀv, if v is spanned by A at all."""
    product = _product(sides, scope) if sides.sign == "=" and scope.knows(left) else None
    if product is None:
        return None
    *known, new = product.factors
    is_new = isinstance(new, Symbol) and not new.subscripts and not scope.declares(new)
    if not is_new or any(symbol == new for factor in known for symbol in symbols(factor)):
        return None
    if decide(sides, scope).kind not in ("unknown", "ill-shaped"):
        return None
    wider = scope.with_meaning(SymbolMeaning(name=describe(new), formula=_solved(known, left)))
    if decide(sides, wider).kind != "true":
        return None
    return Recognised(role=Role.DEFINITION, finding=true(f"Defines {describe(new)} as the coordinates"), scope=wider)


def as_remainder(left: Symbol, sides: Sides, scope: Scope) -> Recognised | None:
    """k = μ + ε with one new term ε defines it as what is left: ε = k − μ, for all members of a family at once."""
    right = readable(sides.right, scope) if sides.sign == "=" and scope.knows(left) else None
    if not isinstance(right, Sum):
        return None
    new = [term for term in right.terms if isinstance(term, Symbol) and not scope.knows(term)]
    if len(new) != 1 or scope.is_constant(new[0]) or is_guessed(left, scope):
        return None
    others = (term for term in right.terms if term is not new[0])
    rest = Sum((left, *(term.body if isinstance(term, Negative) else Negative(term) for term in others)))
    wider = scope.with_meaning(_meaning(new[0], rest, true(""), scope))
    if decide(sides, wider).kind != "true":
        return None
    return Recognised(role=Role.DEFINITION, finding=true(f"Defines {describe(new[0])} as the rest"), scope=wider)


def _product(sides: Sides, scope: Scope) -> Product | None:
    try:
        right = read_side(sides.right, scope)
    except NotUnderstood:
        return None
    return right if isinstance(right, Product) else None


def _solved(matrices: list[Expression], vector: Expression) -> Expression:
    """(AᵀA)⁻¹Aᵀv, where A is the product of the matrices."""
    matrix = _times(*matrices)
    return _times(Power(_times(Transpose(matrix), matrix), Negative(Number(Fraction(1)))), Transpose(matrix), vector)


def _times(*factors: Expression) -> Expression:
    return factors[0] if len(factors) == 1 else Product(factors, (False,) * (len(factors) - 1))


# -- distributions -----------------------------------------------------------------------------------------------------
def as_distribution(left: Symbol, right: Sequence[Token], scope: Scope) -> Recognised:
    """What left ∼ right says: the law of a known random symbol, or a random symbol of the author's own."""
    if scope.setting.is_own:
        return _own_distribution(left, right, scope)
    law = normal_law(right)
    known = scope.find(left).meaning if scope.knows(left) else None
    if known is not None and known.is_random_number and law is not None:
        compared = _compared(law, known)
        if not (compared.is_false and _is_usual(left, scope)):
            return Recognised(role=Role.GIVEN, finding=compared)
    if law is None and known is not None and (known.formula is not None or not known.is_number):
        role = Role.DECLARATION if known.key in scope.own else Role.GIVEN
        return Recognised(role=role, finding=true("Introduces a random symbol"))
    own = (_renamed(left, law, scope) or _random(left, law, scope)) if law else scope.without(describe(left))
    return Recognised(role=Role.DECLARATION, finding=true("Introduces a random symbol"), scope=own)


def _is_usual(symbol: Symbol, scope: Scope) -> bool:
    """True for a letter that the assignment does not use itself: one that is usual, or an alias of its own letter."""
    found = scope.find(symbol)
    return Assumption.USUAL in found.meaning.assume or found.note is not None or describe(symbol) in scope.own


def _own_distribution(left: Symbol, right: Sequence[Token], scope: Scope) -> Recognised:
    """x ∼ N(μ, σ²) where only the document says what its symbols are; another law is not known."""
    finding = true("Introduces a random symbol")
    law = _own_law(right, scope)
    found = scope.lookup(left)
    is_circular = law is not None and left in symbols(law)
    if law is None or is_circular or (found is not None and found.meaning.formula is not None):
        return Recognised(role=Role.DECLARATION, finding=finding, scope=scope.without(describe(left)))
    meaning = replace(found.meaning if found is not None else SymbolMeaning(name=describe(left)), law=law)
    is_open = meaning.key in scope.setting.undeclared - scope.own.keys()
    if is_open and law.family == "normal" and _may_be_a_covariance(law.parameters[-1]):
        setting = replace(scope.setting, symbols={**scope.setting.symbols, meaning.key: meaning})
        return Recognised(role=Role.DECLARATION, finding=finding, scope=replace(scope, setting=setting))
    return Recognised(role=Role.DECLARATION, finding=finding, scope=scope.with_meaning(meaning))


def _may_be_a_covariance(node: Expression) -> bool:
    return any(
        isinstance(each, Identity) or (isinstance(each, Symbol) and each.name[0].isupper()) for each in walk(node)
    )


def _own_law(tokens: Sequence[Token], scope: Scope) -> Distribution | None:
    """The law that N(μ, σ²) spells, or the name of a distribution."""
    try:
        law = parse_law(tokens, scope.reading)
    except NotUnderstood:
        return None
    found = scope.lookup(law) if isinstance(law, Symbol) else None
    law = found.meaning.formula if found is not None else law
    return law if isinstance(law, Distribution) else None


def _random(left: Symbol, law: tuple[Fraction, Fraction], scope: Scope) -> Scope:
    mean, variance = (float(number) for number in law)
    return scope.with_letter(SymbolMeaning(name=describe(left), mean=mean, variance=variance))


def _renamed(left: Symbol, law: tuple[Fraction, Fraction] | None, scope: Scope) -> Scope | None:
    """The scope in which another letter stands for the problem's one random number, or for its distance from a mean.

    ε ∼ N(0, ½) beside γ ∼ N(1, ½) is γ − 1, and ξ ∼ N(0, 1) is √2 (γ − 1).
    """
    own = describe(left)
    numbers = [meaning for key, meaning in scope.meanings.items() if meaning.is_random_number and key != own]
    numbers = numbers or [*{meaning.name: meaning for meaning in scope.neighbours.values()}.values()]
    if len(numbers) != 1 or law is None or law not in ((law[0], Fraction(numbers[0].variance or 0)), (0, 1)):
        return None
    known, variance = Symbol(numbers[0].name), Fraction(numbers[0].variance or 0)
    shift = law[0] - Fraction(numbers[0].mean)
    formula = known if shift == 0 else Sum((known, Number(shift) if shift > 0 else Negative(Number(-shift))))
    if law[1] != variance:
        formula = _times(Apply("sqrt", (Number(1 / variance),)), formula)
    return scope.with_meaning(SymbolMeaning(name=own, formula=formula))


def _compared(law: tuple[Fraction, Fraction], meaning: SymbolMeaning) -> Finding:
    mean, variance = law
    known = Fraction(meaning.variance or 0)
    if mean == Fraction(meaning.mean) and variance == known:
        return true("Given by the problem")
    if mean == Fraction(meaning.mean) and variance**2 == known:
        return Finding(kind="unknown", reason="The second number may be a standard deviation")
    given = f"N({meaning.mean:g}, {meaning.variance:g})"
    return Finding(
        kind="false",
        reason="The problem gives another distribution",
        method="the problem's distribution",
        counterexample=f"the problem gives {given}, the text N({float(mean):g}, {float(variance):g})",
    )
