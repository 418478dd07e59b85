"""Which inputs an output may depend on, according to the spec.

A spec says it with `causal` and `window`, or with `support`: a condition on the places i of the output and j of the
input, such as "j <= i or j < 4" for a prefix of four tokens that all tokens see. It is text so that it can be printed,
stored and sent to another process; it is never executed as Python.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.core.errors import InputError

if TYPE_CHECKING:
    from regard.conformance.subject import Spec

_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_LONGEST = 500


def visible_pairs(spec: "Spec", outputs: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """[output, input]: True where an output at one place sees an input at another, through one layer."""
    i, j = outputs[:, None], inputs[None, :]
    if spec.support is not None:
        return np.broadcast_to(evaluate_support(spec.support, i, j), (len(outputs), len(inputs)))
    seen = j <= i if spec.causal else np.ones((len(outputs), len(inputs)), dtype=bool)
    return seen if spec.window is None else seen & (np.abs(i - j) < spec.window)


def evaluate_support(condition: str, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """The condition for all pairs of places.

    >>> evaluate_support("j <= i or j < 2", np.arange(3)[:, None], np.arange(3)[None, :]).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    if len(condition) > _LONGEST:
        raise InputError(f"The support has {len(condition)} characters. Give at most {_LONGEST}.")
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray(_evaluated(ast.parse(condition.strip(), mode="eval").body, {"i": i, "j": j}))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise InputError(
            f"support = {condition!r} is not understood ({error}). Write a condition on i, the place of an output, and "
            "j, the place of an input: j <= i or j < 4. It may use + - * // % abs() < <= > >= == != and, or, not."
        ) from error
    if found.dtype != bool:
        raise InputError(f"support = {condition!r} is a number, not a condition. Compare it with something.")
    return found


def _evaluated(node: ast.expr, places: Mapping[str, np.ndarray]) -> Any:
    match node:
        case ast.Name(id=name) if name in places:
            return places[name]
        case ast.Constant(value=int(value)):
            return value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](_evaluated(left, places), _evaluated(right, places))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluated(operand, places)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return np.logical_not(_evaluated(operand, places))
        case ast.Call(func=ast.Name(id="abs"), args=[operand], keywords=[]):
            return np.abs(_evaluated(operand, places))
        case ast.BoolOp(op=op, values=values):
            combine = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return combine.reduce(np.broadcast_arrays(*(_evaluated(value, places) for value in values)))
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARISONS for op in ops):
            sides = [_evaluated(each, places) for each in (left, *others)]
            found = [_COMPARISONS[type(op)](*pair) for op, pair in zip(ops, pairwise(sides), strict=True)]
            return np.logical_and.reduce(np.broadcast_arrays(*found))
    raise ValueError(f"what is {ast.unparse(node)}?")
