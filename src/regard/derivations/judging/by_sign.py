"""A relation under one reading, at particular values or for all of them: what decides it depends on its sign."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from regard.derivations.judging.evaluator import Evaluator
from regard.derivations.judging.exact import UndefinedSide, confirmed, decide_exact, decide_printed, holds_decimals
from regard.derivations.judging.findings import Finding, NoteKind, OpenBecause, ill_shaped, left_open, not_understood
from regard.derivations.judging.instances import Instance
from regard.derivations.judging.limits import decide_by_chance, decide_growth, decide_limit, stay_apart
from regard.derivations.judging.premises import under_premises
from regard.derivations.judging.relations import Instances, ReadRelation
from regard.derivations.judging.scope import Scope, UnknownSymbol
from regard.derivations.judging.simplification import leaves_out_only_what_vanishes
from regard.derivations.judging.values import BALLS, FLOATS, ORDERS, ROUNDED, IllShaped, Work
from regard.derivations.notation.syntax import (
    BigOperator,
    Expression,
    Extremum,
    Infinity,
    Integral,
    Negative,
    Number,
    Product,
    SetOf,
    Sum,
    Symbol,
    describe,
    mapped,
    symbols,
    walk,
)
from regard.derivations.notation.tokens import NotUnderstood

_LARGE, _SMALL = (512.0,), (512.0**-8,)
_ROUNDING = 0.02
_STEPS = (4, -4, 1, -1, Fraction(1, 64), -Fraction(1, 64), Fraction(1, 4096), -Fraction(1, 4096))


def decide_reading(read: ReadRelation, work: Work, *, is_particular: bool = False) -> Finding:
    """The finding on a relation under one reading, at particular values of its letters or for all of them."""
    try:
        taken = under_premises(_without_infinity(read))
        instances = Instances(scope=taken.scope, relation=taken.relation, work=work)
        return _at_values(instances) if is_particular else _decide_by_sign(instances)
    except UnknownSymbol as error:
        return Finding(kind="unknown", reason=str(error), missing=describe(error.symbol))
    except NotUnderstood as error:
        return replace(not_understood(error), is_undefined=isinstance(error, UndefinedSide))
    except IllShaped as error:
        return ill_shaped(error, notes=error.notes)


def _without_infinity(read: ReadRelation) -> ReadRelation:
    """An expression that computes with ∞ alone is what it comes to: 1/(1 + ∞) is 0."""
    relation = read.relation
    sides = (relation.left, relation.right)
    if not any(_holds_infinity(side) for side in sides):
        return read
    left, right = (_folded(side, read.scope) if _holds_infinity(side) else side for side in sides)
    return replace(read, relation=replace(relation, left=left, right=right))


def _holds_infinity(node: Expression) -> bool:
    """True if an ∞ stands inside an expression that is more than ∞."""
    inner_nodes = list(walk(node))
    limits = {id(limit) for inner in inner_nodes if isinstance(inner, Integral) for limit in _ends(inner)}
    limits |= {id(inner.upper) for inner in inner_nodes if isinstance(inner, BigOperator)}
    return any(isinstance(inner, Infinity) and id(inner) not in limits for inner in walk(node) if inner is not node)


def _ends(node: Integral) -> Iterator[Expression]:
    """The infinite limits of an integral."""
    for limit in (node.lower, node.upper):
        yield from walk(limit)


def _folded(side: Expression, scope: Scope) -> Expression:
    instance = Instance(setting=scope.setting, sizes={}, num_draws=1)
    evaluate = Evaluator(scope=scope, instance=instance, arithmetic=FLOATS, is_extended=True)
    value = None if any(symbols(side)) else evaluate(side)
    if value is None or not value.is_scalar or math.isnan(number := float(value.array[0, 0, 0])):
        raise NotUnderstood("∞ is used where a number is needed.")
    if math.isinf(number):
        return Infinity() if number > 0 else Negative(Infinity())
    return Number(Fraction(number))


def _at_values(instances: Instances) -> Finding:
    if instances.relation.sign == "≈" and instances.regime:
        near = decide_limit(instances, is_particular=True)
        return near if near.is_true else decide_printed(instances, near)
    return _decide_by_sign(instances)


def _decide_by_sign(instances: Instances) -> Finding:
    relation = instances.relation
    if isinstance(relation.left, Extremum) and relation.sign == "=":
        return _at_extremum(instances, relation.left)
    if relation.sign in ("≫", "≪"):
        return _growth(instances)
    if relation.sign == "∈":
        return _membership(instances)
    if relation.sign not in ("=", "≈", "→", "≠", "⊥", *ORDERS):
        raise NotUnderstood(f"'{relation.sign}' between these two is not supported.")
    if isinstance(relation.right, Infinity):
        return _growth(replace(instances, relation=replace(relation, right=Number(Fraction(1)))))
    finding = _approximate(instances) if relation.sign in ("≈", "→") else _exactly(instances)
    is_printed = finding.kind == "false" and relation.sign in ("=", "≈", "→")
    return _printed(instances, finding) if is_printed else finding


def _printed(instances: Instances, failure: Finding) -> Finding:
    """The finding where printed decimals are rounded, also in the limit: α_a ≈ 0.33."""
    printed = decide_printed(instances, failure)
    if not printed.is_false or not instances.regime or not holds_decimals(instances):
        return printed
    limit = decide_limit(instances, arithmetic=ROUNDED)
    return limit if limit.is_true else printed


def _exactly(instances: Instances) -> Finding:
    exact = decide_exact(instances)
    if exact.is_true or exact.kind == "ill-shaped":
        return exact
    by_chance = decide_by_chance(instances) if instances.relation.sign in ORDERS else None
    if by_chance is not None or not instances.regime:
        return by_chance or exact
    return _in_the_regime(instances, exact)


def _at_extremum(instances: Instances, extremum: Extremum) -> Finding:
    """arg max_x f(x) = y: whether f(y ± δx) ≤ f(y) for steps of every size, where f has a value.

    A failure is left open, since the text may restrict x.
    """
    place, variable = instances.relation.right, extremum.variable
    if not isinstance(variable, Symbol) or variable in symbols(place) or not instances.scope.knows(variable):
        raise NotUnderstood("It is not clear what this runs over.")
    finding: Finding | None = None
    for size in _STEPS:
        step = Product((Number(Fraction(size)), variable), (False,))
        near = _put_in(extremum.body, variable, Sum((place, step)))
        best = _put_in(extremum.body, variable, place)
        if near == best:
            raise NotUnderstood("It is not clear how this depends on what it runs over.")
        sign = "≤" if extremum.sign > 0 else "≥"
        try:
            finding = decide_exact(
                replace(instances, relation=replace(instances.relation, left=near, sign=sign, right=best))
            )
        except UndefinedSide:
            if abs(size) < 1:
                raise
            continue
        if not finding.is_true:
            return left_open(OpenBecause.DOUBTFUL, "Looks wrong unless what it runs over is restricted", finding.notes)
    assert finding is not None
    return finding


def _put_in(node: Expression, variable: Symbol, other: Expression) -> Expression:
    return mapped(node, lambda each: other if each == variable else each)


def _growth(instances: Instances) -> Finding:
    if not instances.regime:
        raise NotUnderstood("Nothing here tends to a limit, so nothing can outgrow anything.")
    relation = instances.relation
    if relation.sign == "≪":
        relation = replace(relation, left=relation.right, right=relation.left, sign="≫")
    return decide_growth(replace(instances, relation=relation))


# -- ≈ -----------------------------------------------------------------------------------------------------------------
def _approximate(instances: Instances) -> Finding:
    equality = replace(instances, relation=replace(instances.relation, sign="="))
    exact = decide_exact(equality, is_confirmed=False)
    if exact.kind != "false":
        return exact
    if instances.regime:
        return decide_limit(instances).with_notes(exact.notes)
    return _nearly(instances, confirmed(decide_exact(equality)))


def _nearly(instances: Instances, exact: Finding) -> Finding:
    """Without a regime, ≈ between numbers allows for rounding: of 148.4 to 148, or to the decimals printed."""
    relation = instances.relation
    printed = decide_printed(instances, exact)
    is_number = not (any(symbols(relation.right)) and any(symbols(relation.left)))
    if not printed.is_false or not is_number or not _is_close(instances):
        return printed
    if holds_decimals(instances):
        return Finding(
            kind="unknown", reason="True to within 2 %, but not to the printed decimals", method="evaluation"
        )
    return Finding(kind="approximate", reason="True to within 2 %", method="interval arithmetic")


def _is_close(instances: Instances) -> bool:
    """True if the sides are numbers that differ by at most 2 %, or by 0.01 from zero, whatever the sizes."""
    bases = (instances.base(num_draws=4, larger=larger) for larger in (0, 1))
    for pair in (pair for base in bases for pair in instances.pairs(base, BALLS)):
        if not (pair.left.is_scalar and pair.right.is_scalar):
            return False
        pairs = zip(*np.broadcast_arrays(pair.left.array, pair.right.array), strict=True)
        near = ((abs(x - y), abs(y) if bool(abs(y) > 0) else 0.5) for x, y in ((x[0, 0], y[0, 0]) for x, y in pairs))
        if not all(bool(gap <= _ROUNDING * scale) for gap, scale in near):
            return False
    return True


# -- what is true only in the regime -----------------------------------------------------------------------------------
def _in_the_regime(instances: Instances, exact: Finding) -> Finding:
    """An = that fails exactly but holds in the limit means ≈; an inequality may hold for large scales only."""
    sign = instances.relation.sign
    if sign == "=":
        limit = None if stay_apart(instances) else decide_limit(instances)
        if limit is None or not limit.is_true or not leaves_out_only_what_vanishes(instances):
            return exact
        closer = confirmed(exact)
        if not closer.is_false:
            return closer
        loose = replace(limit, counterexample=closer.counterexample)
        return loose.with_notes((NoteKind.APPROXIMATION_MEANT.note(), *exact.notes))
    if sign in ORDERS and _holds_eventually(instances):
        reason = "True once the scale is large enough"
        return Finding(kind="approximate", reason=reason, method="limit", notes=exact.notes)
    return exact


def _holds_eventually(instances: Instances) -> bool:
    meanings = instances.scope.meanings
    driven = {name: _LARGE if m.tends == "infinity" else _SMALL for name, m in meanings.items() if m.tends}
    is_met = ORDERS[instances.relation.sign]
    for pair in instances.pairs(instances.base(seed=3, num_draws=12, driven=driven), BALLS):
        lefts, rights = np.broadcast_arrays(pair.left.array, pair.right.array)
        if not all(bool(is_met(x, y)) for x, y in zip(lefts.flat, rights.flat, strict=True)):
            return False
    return True


# -- ∈ -----------------------------------------------------------------------------------------------------------------
def _membership(instances: Instances) -> Finding:
    """x ∈ ℝ^d compares shapes; other sets are left to the reader."""
    right = instances.relation.right
    if not isinstance(right, SetOf) or right.domain not in ("R", "C"):
        raise NotUnderstood("Membership in this set is not supported.")
    instance = instances.base(num_draws=1)
    names = [describe(dimension) for dimension in right.dimensions]
    unknown = [name for name in names if name not in instance.sizes and not name.isdigit()]
    if unknown or len(names) > 2:
        raise NotUnderstood(
            f"The size {', '.join(unknown)} is not known here." if unknown else "Only matrices have sizes."
        )
    sizes = tuple(map(instance.size, names)) or (1,)
    wanted = sizes if len(sizes) == 2 else (sizes[0], 1)
    left = replace(instances, relation=replace(instances.relation, right=instances.relation.left))
    value = next(left.pairs(instance, BALLS)).left
    if value.shape == wanted or (len(sizes) == 1 and value.shape == wanted[::-1]):
        return Finding(kind="true", reason="The shapes agree", method="shapes")
    found, asked = value.describe_shape(), f"{wanted[0]}×{wanted[1]}"
    return Finding(
        kind="ill-shaped",
        reason=f"The left side is {found}, not {asked}",
        method="shapes",
        counterexample=f"shapes {found} and {asked}",
    )
