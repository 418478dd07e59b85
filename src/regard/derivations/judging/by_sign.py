"""A relation under one reading, decided by its sign: =, ≈ and →, orders, ≫ and ≪, ∈."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from regard.derivations.judging.arithmetic import BALLS, ORDERS
from regard.derivations.judging.drives import stay_apart
from regard.derivations.judging.exact import decide_exact, decide_rounded
from regard.derivations.judging.findings import Finding, NoteKind, ill_shaped, not_understood
from regard.derivations.judging.limits import decide_growth, decide_limit
from regard.derivations.judging.relations import Instances
from regard.derivations.judging.scope import UnknownSymbol
from regard.derivations.judging.values import IllShaped
from regard.derivations.notation.syntax import Expression, Infinity, Number, SetOf, describe
from regard.derivations.notation.tokens import NotUnderstood

_LARGE, _SMALL = (512.0,), (512.0**-8,)
_MOST_DECIMALS = 12
_ROUNDING = 0.02


def decide_reading(instances: Instances, *, is_particular: bool = False) -> Finding:
    """The finding on a relation under one reading, at particular values of its letters or for all of them."""
    try:
        return _at_values(instances) if is_particular else _decide(instances)
    except UnknownSymbol as error:
        return Finding(kind="unknown", reason=str(error))
    except NotUnderstood as error:
        return not_understood(error)
    except IllShaped as error:
        return ill_shaped(error)


def _at_values(instances: Instances) -> Finding:
    relation = instances.relation
    places = decimals(relation.right) or decimals(relation.left)
    if places and relation.sign in ("=", "≈", "→"):
        return decide_rounded(instances, places)
    if relation.sign == "≈" and instances.regime:
        return decide_limit(instances, is_particular=True)
    return _decide(instances)


def _decide(instances: Instances) -> Finding:
    relation = instances.relation
    if relation.sign in ("≫", "≪"):
        return _growth(instances)
    if relation.sign == "∈":
        return _membership(instances)
    if relation.sign in ("∼", "∝", "∉"):
        raise NotUnderstood(f"'{relation.sign}' between these two is not judged.")
    if isinstance(relation.right, Infinity):
        return _growth(replace(instances, relation=replace(relation, right=Number(Fraction(1)))))
    if relation.sign in ("≈", "→"):
        return _approximate(instances)
    exact = decide_exact(instances)
    if exact.is_true or exact.kind == "ill-shaped" or not instances.regime:
        return exact
    return _in_the_regime(instances, exact)


def _growth(instances: Instances) -> Finding:
    if not instances.regime:
        raise NotUnderstood("nothing here grows: no regime is in force.")
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
    return _nearly(instances, decide_exact(equality))


def _nearly(instances: Instances, exact: Finding) -> Finding:
    """Without a regime, ≈ between numbers allows the rounding of a printed decimal."""
    relation = instances.relation
    is_printed = isinstance(relation.right, Number) or isinstance(relation.left, Number)
    for pair in instances.pairs(instances.base(num_draws=1), BALLS):
        if not (pair.left.is_scalar and pair.right.is_scalar and is_printed):
            return exact
        x, y = pair.left.array[0, 0, 0], pair.right.array[0, 0, 0]
        if not bool(abs(x - y) <= _ROUNDING * abs(y)):
            return exact
    reason = "it is so to within 2 %, the rounding of a decimal"
    return Finding(kind="approximate", reason=reason, method="certified balls")


def decimals(node: Expression) -> int:
    """How many decimals a printed number has; none for anything else.

    >>> decimals(Number(Fraction("0.2023")))
    4
    """
    if not isinstance(node, Number):
        return 0
    return next((places for places in range(_MOST_DECIMALS + 1) if (node.value * 10**places).denominator == 1), 0)


# -- what is only so in the regime -------------------------------------------------------------------------------------
def _in_the_regime(instances: Instances, exact: Finding) -> Finding:
    """An = that fails exactly but holds in the limit means ≈; an inequality may hold for large scales only."""
    sign = instances.relation.sign
    if sign == "=":
        limit = None if stay_apart(instances) else decide_limit(instances)
        if limit is None or not limit.is_true:
            return exact
        loose = replace(limit, counterexample=exact.counterexample)
        return loose.with_notes((NoteKind.APPROXIMATION_MEANT.note(), *exact.notes))
    if sign in ORDERS and _is_so_eventually(instances):
        reason = "it is so once the scale is large"
        return Finding(kind="approximate", reason=reason, method="limit", notes=exact.notes)
    return exact


def _is_so_eventually(instances: Instances) -> bool:
    meanings = instances.scope.meanings
    driven = {name: _LARGE if m.tends == "infinity" else _SMALL for name, m in meanings.items() if m.tends}
    stands = ORDERS[instances.relation.sign]
    for pair in instances.pairs(instances.base(seed=3, num_draws=4, driven=driven), BALLS):
        lefts, rights = np.broadcast_arrays(pair.left.array, pair.right.array)
        if not all(bool(stands(x, y)) for x, y in zip(lefts.flat, rights.flat, strict=True)):
            return False
    return True


# -- ∈ -----------------------------------------------------------------------------------------------------------------
def _membership(instances: Instances) -> Finding:
    """x ∈ ℝ^d compares shapes; other sets are left to the reader."""
    right = instances.relation.right
    if not isinstance(right, SetOf) or right.domain not in ("R", "C"):
        raise NotUnderstood("membership in this set is not judged.")
    instance = instances.base(num_draws=1)
    sizes = tuple(instance.size(describe(dimension)) for dimension in right.dimensions) or (1,)
    wanted = sizes if len(sizes) == 2 else (sizes[0], 1)
    left = replace(instances, relation=replace(instances.relation, right=instances.relation.left))
    value = next(left.pairs(instance, BALLS)).left
    if value.shape == wanted or (len(sizes) == 1 and value.shape == wanted[::-1]):
        return Finding(kind="true", reason="the shapes agree", method="shapes")
    found, asked = value.describe_shape(), f"{wanted[0]}×{wanted[1]}"
    return Finding(
        kind="ill-shaped",
        reason=f"the left side is {found}, not {asked}",
        method="shapes",
        counterexample=f"shapes {found} and {asked}",
    )
