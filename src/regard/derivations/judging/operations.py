"""Operations: sums, products, quotients, powers, transposes, norms, entries, matrices and cases."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from regard.derivations.judging.ellipsis import spelt_out
from regard.derivations.judging.evaluation import Evaluation, OutOfRange, Rule
from regard.derivations.judging.indices import index_range, satisfies
from regard.derivations.judging.values import IllShaped, Value, add, inner, multiply
from regard.derivations.notation.syntax import (
    Accent,
    BigOperator,
    Cases,
    Dots,
    Expression,
    Inner,
    Matrix,
    Negative,
    Norm,
    Number,
    Ones,
    Power,
    Product,
    Quotient,
    Scripted,
    Sum,
    Transpose,
    describe,
)
from regard.derivations.notation.tokens import NotUnderstood

_LARGEST_MATRIX_POWER = 9


def _sum(evaluate: Evaluation, node: Sum) -> Value:
    if any(isinstance(term, Dots) for term in node.terms):
        return evaluate(spelt_out(node))
    total = evaluate(node.terms[0])
    for term in node.terms[1:]:
        total = add(total, evaluate(term))
    return total


def _sum_over_an_index(evaluate: Evaluation, node: BigOperator) -> Value:
    if node.operator != "sum":
        raise NotUnderstood(f"A {node.operator} over an index is not evaluated.")
    excluded = evaluate.convention.excluded
    letter, places = index_range(node, evaluate.scope, evaluate.indices, evaluate.instance, excluded)
    total = Value(evaluate.arithmetic.number(Fraction(0)), is_zero=True)
    for place in places:
        total = add(total, evaluate.at(**{letter: place})(node.body))
    return total


def _negative(evaluate: Evaluation, node: Negative) -> Value:
    return evaluate(node.body).negated()


def _product(evaluate: Evaluation, node: Product) -> Value:
    nodes = map(_with_ones, node.factors) if evaluate.convention.is_one_a_vector else node.factors
    factors = [evaluate(factor) for factor in nodes]
    total, is_pending = factors[0], False
    for factor, is_dot in zip(factors[1:], node.dots, strict=True):
        # In x · 2 y the dot still waits for the vector after the number.
        is_pending |= is_dot
        total = multiply(total, factor, is_dot=is_pending)
        is_pending &= factor.is_scalar
    return total


def _with_ones(factor: Expression) -> Expression:
    return Ones() if isinstance(factor, Number) and factor.value == 1 else factor


def _quotient(evaluate: Evaluation, node: Quotient) -> Value:
    top, bottom = evaluate(node.top), evaluate(node.bottom)
    if not bottom.is_scalar:
        raise IllShaped(f"{top.describe_shape()} divided by {bottom.describe_shape()}")
    return Value(top.array / bottom.array, is_identity=top.is_identity, is_zero=top.is_zero)


def _power(evaluate: Evaluation, node: Power) -> Value:
    base, exponent = evaluate(node.base), node.exponent
    if isinstance(exponent, Negative):
        positive = evaluate(Power(node.base, exponent.body))
        return Value(1 / positive.array) if positive.is_scalar else _inverse(evaluate, positive)
    if not base.is_scalar and not base.is_identity:
        return _matrix_power(base, exponent)
    power = evaluate(exponent)
    if not power.is_scalar:
        raise IllShaped(f"a number to the power of {power.describe_shape()}")
    if isinstance(exponent, Number) and exponent.value.denominator == 1:
        if 1 <= exponent.value <= _LARGEST_MATRIX_POWER:  # a ball around zero has products, but no powers
            return _matrix_power(base, exponent)
        return Value(base.array ** int(exponent.value), is_identity=base.is_identity)
    return Value(evaluate.arithmetic.power(base.array, power.array))


def _matrix_power(base: Value, exponent: Expression) -> Value:
    power = exponent.value if isinstance(exponent, Number) else 0
    if power.denominator != 1 or not 1 <= power <= _LARGEST_MATRIX_POWER:
        raise IllShaped(f"{base.describe_shape()} to the power {describe(exponent)}")
    total = base
    for _ in range(int(power) - 1):
        total = multiply(total, base)
    return total


def _inverse(evaluate: Evaluation, value: Value) -> Value:
    if value.shape[0] != value.shape[1]:
        raise IllShaped(f"the inverse of {value.describe_shape()}")
    return Value(evaluate.arithmetic.inverse(value.array))


def _transpose(evaluate: Evaluation, node: Transpose) -> Value:
    value = evaluate(node.body).transposed()
    return Value(evaluate.arithmetic.conjugate(value.array)) if node.is_conjugate else value


def _accent(evaluate: Evaluation, node: Accent) -> Value:
    value, setting = evaluate(node.body), evaluate.scope.setting
    if node.kind == "bar" and setting.is_complex:
        return Value(evaluate.arithmetic.conjugate(value.array))
    if node.kind == "'" and "'" not in setting.aliases.get("_perm", ()):
        return value.transposed()
    raise NotUnderstood("A bar or star has no meaning here.")


def _norm(evaluate: Evaluation, node: Norm) -> Value:
    value, arithmetic = evaluate(node.body), evaluate.arithmetic
    if node.order == 0 and value.is_scalar:
        return Value(arithmetic.absolute(value.array))
    squares = arithmetic.real(value.array * arithmetic.conjugate(value.array))
    return Value(arithmetic.sqrt(np.sum(squares, axis=(1, 2), keepdims=True)))


def _inner(evaluate: Evaluation, node: Inner) -> Value:
    return inner(evaluate(node.left), evaluate(node.right), evaluate.arithmetic)


def _matrix(evaluate: Evaluation, node: Matrix) -> Value:
    blocks = [[evaluate(cell).array for cell in row] for row in node.rows]
    draws = max(block.shape[0] for row in blocks for block in row)
    filled = [[np.broadcast_to(block, (draws, *block.shape[1:])) for block in row] for row in blocks]
    try:
        return Value(np.concatenate([np.concatenate(row, axis=2) for row in filled], axis=1))
    except ValueError:
        raise IllShaped("the blocks of this matrix do not fit together") from None


def entry(evaluate: Evaluation, node: Scripted) -> Value:
    """One entry of a vector, one row or one entry of a matrix."""
    value = evaluate(node.base)
    places = [evaluate.place(script) for script in node.subscripts]
    if len(places) > 2:
        raise NotUnderstood("This subscript has no meaning here.")
    array = np.swapaxes(value.array, 1, 2) if len(places) == 1 and value.shape[0] == 1 else value.array
    for axis, place in enumerate(places, start=1):
        if not 0 <= place < array.shape[axis]:
            raise OutOfRange(f"the index {place + 1} is out of range.")
        array = np.take(array, [place], axis=axis)
    return Value(array)


def _cases(evaluate: Evaluation, node: Cases) -> Value:
    for value, conditions in zip(node.values, node.conditions, strict=True):
        if all(satisfies(condition, evaluate.indices, evaluate.instance) for condition in conditions):
            return evaluate(value)
    raise NotUnderstood("No case applies.")


OPERATIONS: Mapping[type[Expression], Rule] = {
    Sum: _sum,
    BigOperator: _sum_over_an_index,
    Negative: _negative,
    Product: _product,
    Quotient: _quotient,
    Power: _power,
    Transpose: _transpose,
    Accent: _accent,
    Norm: _norm,
    Inner: _inner,
    Matrix: _matrix,
    Scripted: entry,
    Cases: _cases,
}
