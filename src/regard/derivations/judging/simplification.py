"""An = that holds only in the limit: a side that leaves out what vanishes is meant as ≈, another closed form is not.

Σ_j e^{k_jᵀq} = 2e^β leaves out n − 2, which vanishes beside what is kept. In 2e^β + n the n is kept, so that what is
left out must be negligible beside n too: it is not, and the = is meant exactly.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from regard.derivations.judging.instances import QUANTILES, Instance
from regard.derivations.judging.limits import driven_to, largest, vanishes
from regard.derivations.judging.relations import Instances
from regard.derivations.judging.scope import Scope, UnknownSymbol
from regard.derivations.judging.values import BALLS, IllShaped
from regard.derivations.notation.syntax import (
    BigOperator,
    Condition,
    Dots,
    Expression,
    Number,
    Scripted,
    Sum,
    Symbol,
    describe,
    symbols,
)
from regard.derivations.notation.tokens import NotUnderstood

_SCALES = (8.0, 32.0, 128.0)
_PRECISION = 2048  # e^{−2·128} beside 1 takes 370 bits, and terms like it are subtracted
_MOST_SUMMANDS = 16


def leaves_out_only_what_vanishes(instances: Instances) -> bool:
    """True if the sides of an = differ by less and less beside every summand that the simpler side keeps."""
    full, kept = _by_simplicity(instances)
    shorter = list(_without_each_summand(kept))
    if len(shorter) > _MOST_SUMMANDS:
        return False
    noiseless = replace(instances, scope=_without_noise(instances.scope))
    with ctx.workprec(_PRECISION):
        return all(_is_negligible_beside(noiseless, full, kept, less) for less in shorter)


def _by_simplicity(instances: Instances) -> tuple[Expression, Expression]:
    """The full side, then the simpler one: the right, unless only the left spells out its scales, or has none."""
    left, right = instances.sides
    if not _driven_in(left, instances, is_deep=True):
        return right, left
    is_hidden = _driven_in(right, instances, is_deep=True) and not _driven_in(right, instances)
    return (right, left) if is_hidden and _driven_in(left, instances) else (left, right)


def _driven_in(node: Expression, instances: Instances, *, is_deep: bool = False) -> bool:
    names = instances.scope.reach(node) if is_deep else {describe(symbol) for symbol in symbols(node)}
    return not names.isdisjoint(instances.regime)


def _without_noise(scope: Scope) -> Scope:
    """The scope in which random vectors and vanishing ones are zero, since noise goes before scales grow."""
    for meaning in scope.meanings.values():
        is_noise = meaning.variance is not None or meaning.tends == "zero"
        if is_noise and meaning.formula is None and (meaning.index is not None or not meaning.is_number):
            scope = scope.with_meaning(replace(meaning, formula=Number(Fraction(0)), variance=None, tends=None))
    return scope


# -- beside one summand ------------------------------------------------------------------------------------------------
def _is_negligible_beside(instances: Instances, full: Expression, kept: Expression, less: Expression) -> bool:
    """True if full − kept vanishes beside kept − less, in some draw; a summand without effect asks for nothing."""
    for instance in _drives(instances):
        try:
            effects = _gaps(instances, kept, less, instance)
            errors = _gaps(instances, full, kept, instance)
        except (IllShaped, NotUnderstood, UnknownSymbol):
            return True
        is_defined = all(gap.is_finite() for gap in (*effects, *errors))
        if is_defined and any(bool(effect > 0) for effect in effects):
            return _vanish_beside(errors, effects, instance)
    return True


def _drives(instances: Instances) -> Iterator[Instance]:
    """The regime driven, first with nothing left of what vanishes, then with everything at its own pace.

    Not in the smallest sizes, in which n − 2 is 1.
    """
    is_random = any(meaning.is_random_number for meaning in instances.scope.meanings.values())
    num_draws = len(QUANTILES) if is_random else 1
    driven = driven_to(instances, _SCALES)
    meanings = instances.scope.meanings
    gone = {name: (0.0,) * len(_SCALES) for name in driven if meanings[name].tends == "zero"}
    if any(meanings[name].tends == "infinity" for name in instances.regime):
        yield instances.base(larger=1, seed=3, num_draws=num_draws, driven={**driven, **gone})
    yield instances.base(larger=1, seed=3, num_draws=num_draws, driven=driven)


def _gaps(instances: Instances, left: Expression, right: Expression, instance: Instance) -> list[Any]:
    """At each stage and draw the largest gap between two expressions, over entries and indices."""
    relation = replace(instances.relation, left=left, right=right)
    found = np.full(instance.num_stages * instance.num_draws, arb(0), dtype=object)
    for pair in replace(instances, relation=relation).pairs(instance, BALLS):
        left_value, right_value = pair.aligned()
        gaps = BALLS.absolute(left_value.array - right_value.array)
        gaps = np.broadcast_to(gaps, (len(found), *gaps.shape[1:]))
        found = np.array([largest(np.append(balls, before)) for balls, before in zip(gaps, found, strict=True)])
    return list(found)


def _vanish_beside(errors: list[Any], effects: list[Any], instance: Instance) -> bool:
    ratios = [
        float((error / effect).abs_upper()) if bool(effect > 0) else math.inf
        for error, effect in zip(errors, effects, strict=True)
    ]
    table = np.array(ratios).reshape(instance.num_stages, instance.num_draws)
    return any(vanishes(column) for column in table.T)


# -- an expression without one of its summands -------------------------------------------------------------------------
def _without_each_summand(node: Expression) -> Iterator[Expression]:
    """The expression without each of the summands written in it; subscripts and the bounds of sums are left alone."""
    if isinstance(node, Sum) and not any(isinstance(term, Dots) for term in node.terms):
        for place in range(len(node.terms)):
            rest = node.terms[:place] + node.terms[place + 1 :]
            yield rest[0] if len(rest) == 1 else Sum(rest)
    for name in _parts_of(node):
        for changed in _changed_values(getattr(node, name)):
            yield _with_part(node, name, changed)


def _parts_of(node: Expression) -> tuple[str, ...]:
    if isinstance(node, Symbol | Condition):
        return ()
    if isinstance(node, BigOperator):
        return ("body",)
    return ("base",) if isinstance(node, Scripted) else node.__slots__


def _changed_values(value: Any) -> Iterator[Any]:
    if isinstance(value, Expression):
        yield from _without_each_summand(value)
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            for changed in _changed_values(item):
                yield (*value[:place], changed, *value[place + 1 :])


def _with_part(node: Expression, name: str, value: Any) -> Expression:
    return type(node)(*(value if item == name else getattr(node, item) for item in node.__slots__))
