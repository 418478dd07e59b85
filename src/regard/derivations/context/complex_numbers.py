"""Complex numbers in a document that does not declare them: e^{iφ}, conjugates and real parts say what is meant."""

from collections.abc import Sequence
from dataclasses import replace

from regard.derivations.judging.relations import Sides
from regard.derivations.judging.scope import Scope
from regard.derivations.judging.setting import Assumption, Setting, SymbolMeaning
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Expression,
    Power,
    Product,
    Symbol,
    children,
    letters_in,
    walk,
)
from regard.derivations.notation.tokens import NotUnderstood

_UNIT = Symbol("i")
_PARTS = ("re", "im")


def with_imaginary_unit(sides: Sides, scope: Scope) -> Scope | None:
    """The scope in which i² = −1, if a relation writes e^{iφ}, conjugates, or takes a real part; None if it does not.

    Letters outside of exponents and functions are complex numbers then, but for those that stand beside an i.
    """
    wider = replace(scope, setting=_complex_setting(scope.setting))
    try:
        expressions = sides.expressions(wider)
    except NotUnderstood:
        return None
    nodes = [node for side in expressions for node in walk(side)]
    is_unit_written = not _is_index(nodes) and (_UNIT in nodes or _reaches_unit(expressions, wider))
    is_conjugated = any(map(_is_complex_part, nodes))
    if not (is_unit_written or (is_conjugated and _UNIT not in nodes)):
        return None
    return _with_complex_letters(wider, expressions) if is_conjugated else wider


def is_surely_complex(sides: Sides, scope: Scope) -> bool:
    """True if a relation conjugates or takes a part, and writes an i with it that nothing declares: Re(e^{iφ} z̄)."""
    if scope.setting.is_complex or _UNIT.name in scope.own or _UNIT.name in scope.setting.free:
        return False
    try:
        nodes = [node for side in sides.expressions(scope) for node in walk(side)]
    except NotUnderstood:
        return False
    return _UNIT in nodes and any(map(_is_complex_part, nodes)) and not _is_index(nodes)


def _is_index(nodes: Sequence[Expression]) -> bool:
    """True if i stands below a symbol or a sum, and so is no number."""
    scripts = (each for node in nodes if isinstance(node, Symbol) for each in node.subscripts)
    bound = {node.index for node in nodes if isinstance(node, BigOperator)}
    return _UNIT.name in bound.union(*map(letters_in, scripts))


def _is_complex_part(node: Expression) -> bool:
    """True for a conjugate, a real or an imaginary part."""
    return (isinstance(node, Accent) and node.kind == "bar") or (isinstance(node, Apply) and node.function in _PARTS)


def _with_complex_letters(scope: Scope, sides: Sequence[Expression]) -> Scope:
    """The scope in which letters are complex numbers, unless they stand beside an i, in exponents or in functions."""
    products = [node for side in sides for node in walk(side) if isinstance(node, Product) and _UNIT in node.factors]
    letters = set[str]().union(*map(_outer_names, sides)).difference(*map(_outer_names, products))
    declared = {
        key: replace(each, assume=each.assume or (Assumption.COMPLEX,)) if _letter_of(each) in letters else each
        for key, each in scope.setting.symbols.items()
    }
    return replace(scope, setting=replace(scope.setting, symbols=declared))


def _letter_of(meaning: SymbolMeaning) -> str:
    return meaning.name.partition("_")[0]


def _complex_setting(setting: Setting) -> Setting:
    free = {letter: over for letter, over in setting.free.items() if letter != _UNIT.name}
    declared = {key: meaning for key, meaning in setting.symbols.items() if key != _UNIT.name}
    return replace(setting, is_complex=True, free=free, symbols=declared)


def _reaches_unit(sides: Sequence[Expression], scope: Scope) -> bool:
    """True if something that is defined by an i stands on one of the sides."""
    names = scope.reach(*sides)
    functions = (each.formula for name, each in scope.setting.functions.items() if f"{name}()" in names)
    formulas = (scope.meanings[name].formula for name in names if name in scope.meanings)
    return any(_UNIT in set(walk(formula)) for formula in (*functions, *formulas) if formula is not None)


def _outer_names(node: Expression) -> set[str]:
    """The letters of symbols that stand outside of exponents and functions, though inside a real part."""
    if isinstance(node, Symbol):
        return {node.name.partition("_")[0]}
    if isinstance(node, Power):
        return _outer_names(node.base)
    if isinstance(node, Apply) and node.function not in _PARTS:
        return set()
    return {name for part in children(node) for name in _outer_names(part)}
