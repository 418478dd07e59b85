"""Functions: those of every entry, softmax, max, det and trace; those that the problem defines; derivatives."""

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
from flint import arb

from regard.derivations.judging.arithmetic import BALLS
from regard.derivations.judging.evaluation import Evaluation, Rule
from regard.derivations.judging.randomness import EXPECTATIONS, expected, is_random
from regard.derivations.judging.values import IllShaped, Value, add
from regard.derivations.notation.syntax import Apply, Derivative, Expression, Symbol
from regard.derivations.notation.tokens import NotUnderstood

_ELEMENTWISE = {name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "relu", "erf")} | {
    "re": "real",
    "im": "imag",
}
_STEP = Fraction(1, 10**25)


def _apply(evaluate: Evaluation, node: Apply) -> Value:
    if node.function in evaluate.scope.setting.functions:
        return apply_defined(evaluate, node)
    if node.function in EXPECTATIONS and is_random(evaluate.scope.setting):
        return expected(evaluate, node)
    arguments = [evaluate(argument) for argument in node.arguments]
    if node.function in ("max", "min") and len(arguments) == 2:
        return _extreme(evaluate, node.function, *arguments)
    if len(arguments) != 1:
        raise NotUnderstood(f"{node.function} takes one argument.")
    return _of_one(evaluate, node.function, arguments[0])


def apply_defined(evaluate: Evaluation, node: Apply) -> Value:
    """A function that the problem defines, its arguments put in."""
    function = evaluate.scope.setting.functions[node.function]
    if len(function.arguments) != len(node.arguments):
        raise NotUnderstood(f"{node.function} takes {len(function.arguments)} arguments.")
    values = [evaluate(argument) for argument in node.arguments]
    is_vector = values[0].shape[0] > 1
    meanings = (evaluate.scope.find(Symbol(name)).meaning for name in function.arguments)
    arguments = {id(meaning): value for meaning, value in zip(meanings, values, strict=True)}
    inside = evaluate.with_arguments(arguments, indices={}, depth=evaluate.depth + 1)
    return inside(function.vector_formula if is_vector and function.vector_formula else function.formula)


def _of_one(evaluate: Evaluation, function: str, x: Value) -> Value:
    if function in _ELEMENTWISE:
        if x.is_identity:
            raise IllShaped(f"{function} of a square matrix of unknown size")
        return Value(getattr(evaluate.arithmetic, _ELEMENTWISE[function])(x.array))
    rule = _softmax if function == "\\sigma" and not x.is_scalar else _OF_ONE.get(function)
    if rule is None:
        raise NotUnderstood(f"The function {function} is not evaluated.")
    return rule(evaluate, x)


def _extreme(evaluate: Evaluation, function: str, left: Value, right: Value) -> Value:
    gap = add(left, right.negated())
    half = evaluate.arithmetic.absolute(gap.array) * (0.5 if function == "max" else -0.5)
    return Value(add(left, right).array * 0.5 + half)


def _softmax(evaluate: Evaluation, x: Value) -> Value:
    if x.is_scalar:
        raise IllShaped("the softmax of a number")
    axis = 1 if x.shape[1] == 1 else 2
    array = x.array if evaluate.arithmetic.is_certified else x.array - x.array.max(axis=axis, keepdims=True)
    weights = evaluate.arithmetic.exp(array)
    return Value(weights / np.sum(weights, axis=axis, keepdims=True))


def _sigmoid(evaluate: Evaluation, x: Value) -> Value:
    return Value(1 / (1 + evaluate.arithmetic.exp(-x.array)))


def _mean_of_entries(_evaluate: Evaluation, x: Value) -> Value:
    if x.is_scalar:
        raise NotUnderstood("The function mean is not evaluated.")
    return Value(np.sum(x.array, axis=(1, 2), keepdims=True) / (x.shape[0] * x.shape[1]))


def _determinant(evaluate: Evaluation, x: Value) -> Value:
    return Value(evaluate.arithmetic.determinant(_square("det", x).array))


def _trace(_evaluate: Evaluation, x: Value) -> Value:
    return Value(np.trace(_square("trace", x).array, axis1=1, axis2=2)[:, None, None])


def _square(function: str, x: Value) -> Value:
    if x.shape[0] != x.shape[1]:
        raise NotUnderstood(f"The function {function} is not evaluated.")
    return x


_OF_ONE: Mapping[str, Callable[[Evaluation, Value], Value]] = {
    "softmax": _softmax,
    "\\sigma": _sigmoid,
    "sigmoid": _sigmoid,
    "mean": _mean_of_entries,
    "det": _determinant,
    "trace": _trace,
}


def _derivative(evaluate: Evaluation, node: Derivative) -> Value:
    """∂top/∂bottom for a number that the problem leaves open, by central differences far below any rounding."""
    if not isinstance(node.bottom, Symbol) or evaluate.scope.find(node.bottom).meaning.formula is not None:
        raise NotUnderstood("a derivative is taken with respect to a number that the problem leaves open.")
    meaning = evaluate.scope.find(node.bottom).meaning
    certain = evaluate.elsewhere(arithmetic=BALLS)
    point, step = certain(node.bottom).array, BALLS.number(_STEP)
    above, below = (
        certain.with_arguments({id(meaning): Value(x)})(node.top).array for x in (point + step, point - step)
    )
    slope = (above - below) / (2 * step)
    return Value(_cut(slope) if evaluate.arithmetic.is_certified else _midpoints(slope))


def _cut(slope: np.ndarray) -> np.ndarray:
    """Balls whose last digits are not to be trusted, cut to 20 digits."""
    cut = np.empty_like(slope)
    for place, ball in np.ndenumerate(slope):
        cut[place] = arb(ball.mid().str(20, radius=False))
    return cut


def _midpoints(balls: np.ndarray) -> np.ndarray:
    return np.array([float(ball.mid()) for ball in balls.flat]).reshape(balls.shape)


FUNCTIONS: Mapping[type[Expression], Rule] = {Apply: _apply, Derivative: _derivative}
