"""What a document without a problem states of its own symbols: functions, definitions, updates and conditions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from regard.derivations.context.environment import Recognised, as_definition
from regard.derivations.judging.calculus import is_loss
from regard.derivations.judging.findings import Finding, OpenBecause, true
from regard.derivations.judging.judge import decide
from regard.derivations.judging.relations import Sides, read_side
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Assumption, DefinedFunction, SymbolMeaning
from regard.derivations.notation.parser import parse
from regard.derivations.notation.syntax import (
    Apply,
    BigOperator,
    Derivative,
    Distribution,
    Expression,
    Identity,
    Matrix,
    Number,
    Power,
    Product,
    Scripted,
    Symbol,
    Transpose,
    describe,
    outer_symbols,
    symbols,
)
from regard.derivations.notation.tokens import NotUnderstood, Token
from regard.derivations.results import Role

_UPDATE = "←"
_ON_SCALES = ("≫", "≪")
_INVERTIBLE = ("cos", "sin", "tan", "exp", "log")


@dataclass(frozen=True, kw_only=True)
class OwnStatement:
    """A statement about the author's own symbols; `loose` are names that it explains in one of several ways."""

    found: Recognised
    loose: frozenset[str] = frozenset()


def as_own_statement(sides: Sides, scope: Scope, *, is_linked: bool, is_alone: bool) -> OwnStatement | None:
    """What a relation states of a symbol that nothing else explains; None for a claim about known ones.

    `is_linked` says that the words draw it as a conclusion, so that it defines nothing anew, `is_alone` that its chain
    has no other relation.
    """
    if sides.sign == _UPDATE:
        return _updated(sides, scope)
    if sides.sign in _ON_SCALES and decide(sides, scope).kind == "not understood":
        return OwnStatement(found=Recognised(role=Role.SUPPOSITION, finding=true("How large things are")))
    if sides.sign != "=":
        return None
    if (law := _as_law(sides, scope)) is not None:
        return OwnStatement(found=law)
    function = _as_function(sides, scope, is_linked=is_linked)
    if function is not None:
        return OwnStatement(found=function)
    left = _readable(sides.left, scope)
    if isinstance(left, Symbol) and _is_open(left, scope):
        return _of_symbol(left, sides, scope)
    right = _readable(sides.right, scope)
    if isinstance(right, Symbol) and left is not None and _is_open(right, scope):
        return _of_symbol(right, replace(sides, left=sides.right, right=sides.left), scope)
    if is_alone and right == Number(Fraction(1)) and (weights := _as_weights(left, scope)) is not None:
        found = Recognised(role=Role.SUPPOSITION, finding=true("Weights that add up to one"), scope=weights)
        return OwnStatement(found=found)
    if is_alone and right is not None and _is_constant(right) and _is_condition(sides, scope):
        finding = Finding(kind="unknown", reason="An equation to be solved, or a condition on symbols that are open")
        return OwnStatement(found=Recognised(role=Role.SUPPOSITION, finding=finding))
    if (value := as_value(sides, scope)) is not None:
        return OwnStatement(found=value)
    if not is_linked and left is not None and right is not None and _is_convention(left, right, sides, scope):
        finding = Finding(kind="unknown", reason="A convention, or a condition on symbols that are open")
        return OwnStatement(found=Recognised(role=Role.SUPPOSITION, finding=finding))
    if isinstance(left, Transpose) and isinstance(left.body, Symbol) and _is_open(left.body, scope):
        return _of_transpose(left.body, sides, scope)
    is_square = isinstance(left, Power) and left.exponent == Number(Fraction(2))
    if isinstance(left, Power) and is_square and isinstance(left.base, Symbol) and _is_open(left.base, scope):
        return _of_square(left.base, sides, scope)
    return None


def _readable(side: Sequence[Token], scope: Scope) -> Expression | None:
    try:
        return read_side(side, scope)
    except NotUnderstood:
        return None


def _as_weights(left: Expression | None, scope: Scope) -> Scope | None:
    """The scope in which an open family adds up to one: Σ_i y_i = 1."""
    if not isinstance(left, BigOperator) or left.operator != "sum" or left.conditions:
        return None
    body = left.body
    if not isinstance(body, Symbol) or body.subscripts != (Symbol(left.index),) or not _is_open(body, scope):
        return None
    family = scope.family(body.name)
    if family is None or family.over is None:
        return None
    weights = SymbolMeaning(name=f"{body.name}°", shape=(family.over, "1"), assume=(Assumption.DISTRIBUTION,))
    entry = Scripted(Symbol(weights.name), (Symbol(family.index or ""),))
    own = {weights.key: weights, family.key: replace(family, formula=entry)}
    return replace(scope, own={**scope.own, **own})


def as_value(sides: Sides, scope: Scope) -> Recognised | None:
    """Q Kᵀ = (1 0; 0 1) (1 2; 3 4) says what Q and K are, ∂L/∂O = (1 0) what the gradient is.

    Where one of the factors had a value before, what is said of it must be true.
    """
    left, right = _readable(sides.left, scope), _readable(sides.right, scope)
    named: dict[str, Expression] = {}
    num_known = 0
    if sides.sign != "=" or left is None or right is None:
        return None
    if isinstance(left, Derivative) and _is_spelt_out(right) and is_loss(left.top, scope):
        named[f"∂{describe(left.top)}/∂{describe(left.bottom)}"] = right
    elif isinstance(left, Product) and isinstance(right, Product) and len(left.factors) == len(right.factors):
        for factor, value in zip(left.factors, right.factors, strict=True):
            body = factor.body if isinstance(factor, Transpose) else factor
            if not isinstance(body, Symbol) or not _is_spelt_out(value):
                return None
            num_known += not _has_no_value(body, scope)
            if _has_no_value(body, scope):
                named[describe(body)] = Transpose(value) if isinstance(factor, Transpose) else value
    for name, value in named.items():
        scope = scope.with_meaning(SymbolMeaning(name=name, formula=value))
    if not named or (num_known and not decide(sides, scope).is_true):
        return None
    return Recognised(role=Role.SUPPOSITION, finding=true("Particular values"), scope=scope)


def _is_spelt_out(node: Expression) -> bool:
    return isinstance(node, Matrix) and not any(symbols(node))


def _has_no_value(symbol: Symbol, scope: Scope) -> bool:
    found = scope.lookup(symbol)
    return found is None or not (found.meaning.formula is not None and _is_spelt_out(found.meaning.formula))


def _is_convention(left: Expression, right: Expression, sides: Sides, scope: Scope) -> bool:
    """True for what can only fix how things are called: d_k = d/h for sizes, cos θ = uᵀv/(|u||v|) for an open θ."""
    if isinstance(left, Symbol) and describe(left) in scope.setting.sizes:
        names = {describe(symbol) for symbol in symbols(right)}
        is_of_sizes = all(name in scope.setting.sizes or _is_open(Symbol(name), scope) for name in names)
        return bool(names) and is_of_sizes and not decide(sides, scope).is_true
    argument = left.arguments[0] if isinstance(left, Apply) and left.function in _INVERTIBLE else None
    is_named = isinstance(argument, Symbol) and _is_open(argument, scope) and not _mentions(right, argument)
    return is_named and not decide(sides, scope).is_true


def _is_constant(node: Expression) -> bool:
    return isinstance(node, Identity) or not any(symbols(node))


def _is_condition(sides: Sides, scope: Scope) -> bool:
    """True if a relation fails for symbols of which nothing is said."""
    open_names = scope.setting.undeclared.difference(scope.own)
    reached = scope.reach(*sides.expressions(scope))
    return bool(reached & open_names) and decide(sides, scope).open_because is OpenBecause.DOUBTFUL


def _mentions(node: Expression, symbol: Symbol) -> bool:
    """True if an expression holds a symbol, or for a member of a family any other member."""
    is_member = any(isinstance(script, Symbol) for script in symbol.subscripts)
    others = (other for other in outer_symbols(node) if other.name == symbol.name)
    return any(other == symbol or (is_member and bool(other.subscripts)) for other in others)


def _is_open(symbol: Symbol, scope: Scope) -> bool:
    """True for a symbol that the document uses without having said what it is."""
    function = scope.setting.functions.get(symbol.name)
    if function is not None and function.is_subscripted:
        return False
    found = scope.lookup(symbol)
    if found is None:
        return not (scope.is_constant(symbol) or scope.is_entry(symbol) or scope.knows(Symbol(symbol.name)))
    return found.note is None and found.meaning.key in scope.setting.undeclared - scope.own.keys()


def _updated(sides: Sides, scope: Scope) -> OwnStatement:
    """x ← x − η g: afterwards x is something else."""
    left = _readable(sides.left, scope)
    after = scope.without(describe(left)) if isinstance(left, Symbol) and not scope.is_constant(left) else None
    found = Recognised(role=Role.DEFINITION, finding=true("An update"), scope=after)
    return OwnStatement(found=found)


def _of_symbol(left: Symbol, sides: Sides, scope: Scope) -> OwnStatement | None:
    """The definition of a symbol that was used before, or a condition on it: A = Aᵀ."""
    right = read_side(sides.right, scope)
    is_example = bool(left.subscripts) and not any(symbols(right))
    if is_example or (scope.knows(left) and decide(sides, scope).is_true):
        return None
    if _mentions(right, left):
        finding = Finding(kind="unknown", reason=f"Says something of {describe(left)}, which nothing declares")
        return OwnStatement(found=Recognised(role=Role.SUPPOSITION, finding=finding))
    return OwnStatement(found=as_definition(left, sides.right, scope))


def _of_transpose(base: Symbol, sides: Sides, scope: Scope) -> OwnStatement | None:
    """pᵀ = softmax(sᵀ) says what p is."""
    right = read_side(sides.right, scope)
    is_valued = decide(replace(sides, left=sides.right), scope).is_true
    if not is_valued or _mentions(right, base) or decide(sides, scope).is_true:
        return None
    scope = scope.with_meaning(SymbolMeaning(name=describe(base), formula=Transpose(right)))
    found = Recognised(role=Role.DEFINITION, finding=true("Defines a new symbol by its transpose"), scope=scope)
    return OwnStatement(found=found)


def _of_square(base: Symbol, sides: Sides, scope: Scope) -> OwnStatement | None:
    """σ² = … says what σ is, up to its sign."""
    right = read_side(sides.right, scope)
    names = {symbol.name for symbol in symbols(right)}
    if base.subscripts or not names or base.name in names or decide(sides, scope).is_true:
        return None
    if not decide(replace(sides, left=sides.right), scope).is_true:
        return None
    meaning = SymbolMeaning(name=describe(base), formula=Apply("sqrt", (right,)))
    found = Recognised(
        role=Role.DEFINITION, finding=true("Defines a new symbol by its square"), scope=scope.with_meaning(meaning)
    )
    return OwnStatement(found=found, loose=frozenset({meaning.key}))


# -- distributions -----------------------------------------------------------------------------------------------------
def _as_law(sides: Sides, scope: Scope) -> Recognised | None:
    """The definition of a distribution: q = N(μ, σ²), or by its density, q(z) = N(z; μ, σ²)."""
    left, right = _applied(sides.left, scope) or _readable(sides.left, scope), _readable(sides.right, scope)
    match left, right:
        case Symbol(), Distribution() as law:
            name = describe(left)
        case Apply(function=name, arguments=(Symbol(),)), Distribution() as law:
            pass
        case Apply(function=name, arguments=(Symbol() as one,)), Apply("density", (other, Distribution() as law)):
            if one != other:
                return None
        case _:
            return None
    known = scope.meanings.get(name)
    if known is not None and known.is_law:
        return None
    meaning = SymbolMeaning(name=name, formula=law)
    return Recognised(role=Role.DEFINITION, finding=true("Defines a distribution"), scope=scope.with_meaning(meaning))


# -- functions ---------------------------------------------------------------------------------------------------------
def _as_function(sides: Sides, scope: Scope, *, is_linked: bool) -> Recognised | None:
    """The definition of a function by its value: f(x) = x²; another one of a known function unless it follows."""
    applied = _applied(sides.left, scope)
    if applied is None:
        return None
    if applied.function in scope.setting.functions:
        finding = decide(sides, scope)
        if is_linked or not finding.is_false:
            return None
    scope = _without_function(applied.function, scope)
    names = [describe(argument) for argument in applied.arguments]
    try:
        formula = read_side(sides.right, scope)
    except NotUnderstood:
        finding = Finding(kind="not understood", reason=f"The definition of {applied.function} could not be read")
        return Recognised(role=Role.DEFINITION, finding=finding, scope=scope)
    inside = {describe(symbol) for symbol in symbols(formula)} | {symbol.name for symbol in symbols(formula)}
    if not inside.issuperset(names) or any(name.startswith(f"{applied.function}(") for name in inside):
        return None
    own = {name: SymbolMeaning(name=name) for name in names if not scope.knows(Symbol(name))}
    function = DefinedFunction(arguments=tuple(names), formula=formula)
    setting = replace(scope.setting, functions={**scope.setting.functions, applied.function: function})
    defined = replace(scope, setting=setting, own={**scope.own, **own})
    return Recognised(role=Role.DEFINITION, finding=true("Defines a function"), scope=defined)


def _applied(side: Sequence[Token], scope: Scope) -> Apply | None:
    """A side that is one of the author's functions of different letters: f(q, m)."""
    own = scope.setting.opaque_functions
    reading = replace(scope.reading, functions=scope.reading.functions | own, opaque=frozenset())
    try:
        found = parse(tuple(side), reading) if own else None
    except NotUnderstood:
        return None
    if not isinstance(found, Apply) or found.function not in own:
        return None
    arguments = found.arguments
    are_letters = all(isinstance(argument, Symbol) and not argument.subscripts for argument in arguments)
    return found if are_letters and len(set(arguments)) == len(arguments) else None


def _without_function(name: str, scope: Scope) -> Scope:
    if name not in scope.setting.functions:
        return scope
    functions = {other: function for other, function in scope.setting.functions.items() if other != name}
    return replace(scope, setting=replace(scope.setting, functions=functions))
