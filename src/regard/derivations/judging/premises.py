"""What a relation may assume: values, limits and inequalities, put into its scope or kept for its draws.

γ = 1 and γ → 0.5 set a symbol, γ → ∞ and γ ≫ 1 drive it, i ≠ a is a condition on an index, and γ > 1 picks the draws.
"""

from dataclasses import replace
from fractions import Fraction

from regard.derivations.judging.relations import PICKING, ReadRelation, Relation
from regard.derivations.judging.scope import FoundSymbol, Scope
from regard.derivations.judging.setting import SymbolMeaning
from regard.derivations.notation.syntax import Condition, Expression, Infinity, Negative, Number, Symbol, symbols
from regard.derivations.notation.tokens import NotUnderstood

_MIRRORED = {">": "<", "<": ">", "≥": "≤", "≤": "≥", "≫": "≪", "≪": "≫", "=": "=", "≈": "≈", "≠": "≠"}
_SETTING = ("=", "→", "≈")
_FAR_DOWN = "T"  # −T stands for what goes to −∞


def under_premises(read: ReadRelation) -> ReadRelation:
    """The relation in the scope that its premises make, with only those premises left that pick draws."""
    for premise in read.relation.premises:
        read = _under(
            premise, replace(read, relation=replace(read.relation, premises=_without(premise, read.relation)))
        )
    return read


def _without(premise: Relation, relation: Relation) -> tuple[Relation, ...]:
    return tuple(other for other in relation.premises if other is not premise)


def _under(premise: Relation, read: ReadRelation) -> ReadRelation:
    scope, relation = read.scope, read.relation
    left, sign, right = premise.left, premise.sign, premise.right
    if isinstance(left, Symbol) and not left.subscripts and left.name in scope.setting.free and not scope.knows(left):
        return replace(
            read, relation=replace(relation, conditions=(*relation.conditions, Condition(left, sign, (right,))))
        )
    if _open(left, scope) is None and _open(right, scope) is not None and sign in _MIRRORED:
        left, sign, right = right, _MIRRORED[sign], left
    if sign in PICKING:
        kept = Relation(left=left, sign=sign, right=right)
        return replace(read, relation=replace(relation, premises=(*relation.premises, kept)))
    changed = _with_value(left, sign, right, scope)
    if changed is None:
        raise NotUnderstood(f"A condition with '{sign}' between these two is not supported.")
    return replace(read, scope=changed)


def _with_value(left: Expression, sign: str, right: Expression, scope: Scope) -> Scope | None:
    """The scope with a symbol set or driven to where a premise says; None if the premise says no such thing."""
    if sign == "=" and isinstance(left, Symbol) and left.name in scope.setting.sizes and not scope.knows(left):
        if not isinstance(right, Number) or right.value.denominator != 1 or right.value < 1:
            return None
        return replace(scope, sizes={**scope.sizes, left.name: int(right.value)})
    found = _open(left, scope)
    if found is None or left in set(symbols(right)):
        return None
    if sign in _SETTING:
        return (
            _tending(found, right, scope)
            if sign != "=" and _is_extreme(right)
            else scope.with_meaning(_as(found, right))
        )
    if sign == "≫":
        return _tending(found, Infinity(), scope)
    other = _open(right, scope)
    if other is not None:  # ε_a ≪ ε_b
        return _tending(other, Infinity(), scope)
    return _tending(found, Negative(Infinity()) if _is_zero(right) else Number(Fraction(0)), scope)


def _open(node: Expression, scope: Scope) -> FoundSymbol | None:
    """A symbol that is drawn at random, and so can be set."""
    found = scope.lookup(node) if isinstance(node, Symbol) else None
    return found if found is not None and found.meaning.formula is None else None


def _is_zero(node: Expression) -> bool:
    return isinstance(node, Number) and node.value == 0


def _is_extreme(node: Expression) -> bool:
    body = node.body if isinstance(node, Negative) else node
    return isinstance(body, Infinity) or _is_zero(body)


def _tending(found: FoundSymbol, end: Expression, scope: Scope) -> Scope | None:
    """The scope in which a number tends to ∞, −∞ or zero; what tends there already goes on as it does."""
    meaning = found.meaning
    if not meaning.is_number:
        return None
    if isinstance(end, Negative) and not _is_zero(end.body):
        scope = scope.with_meaning(SymbolMeaning(name=_FAR_DOWN, tends="infinity"))
        return scope.with_meaning(_as(found, Negative(Symbol(_FAR_DOWN))))
    tends = "infinity" if isinstance(end, Infinity) else "zero"
    if found.member is None:
        return scope if meaning.tends == tends else scope.with_meaning(SymbolMeaning(name=meaning.name, tends=tends))
    scale = SymbolMeaning(name=f"{meaning.name}_{_letter(found)}", tends=tends)
    return scope.with_meaning(scale)


def _as(found: FoundSymbol, value: Expression) -> SymbolMeaning:
    """The symbol, or one member of a family, with that value."""
    if found.member is None:
        return SymbolMeaning(name=found.meaning.name, formula=value)
    return SymbolMeaning(name=f"{found.meaning.name}_{_letter(found)}", formula=value)


def _letter(found: FoundSymbol) -> str:
    if not isinstance(found.member, Symbol):
        raise NotUnderstood("A condition on this member is not supported.")
    return found.member.name
