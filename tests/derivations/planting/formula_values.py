"""What a formula in a document is worth in a world, in plain numpy: Regard reads the formula, and nothing more."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from derivations.planting.values import Array, Misfit, Unknown, World
from regard.core.errors import InputError
from regard.derivations.notation.parser import Reading, parse
from regard.derivations.notation.syntax import (
    Accent,
    Apply,
    BigOperator,
    Condition,
    Expression,
    Identity,
    Inner,
    Label,
    Matrix,
    Negative,
    Norm,
    Number,
    Ones,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    Transpose,
    describe,
)
from regard.derivations.notation.tokens import tokenize

_READING = Reading(functions=frozenset({"R", "RoPE", "Phi", "PE"}))
_SHUFFLED = ("'", "^perm", "^p", "^P", "^pi", "^sigma", "^Pi", "^tilde", "^hat")
_SHUFFLED_LABELS = ("perm", "p", "P", "pi", "new", "permuted", "shuffled")
_FAMILIES = {"K": "k", "V": "v", "u": "mu", "alpha": "w", "p": "w", "Sigma": "Sigma"}
_SUBSCRIPTED = {"R": "theta", "Phi": "omega", "phi": "omega", "PE": "omega"}  # what their world must have
_SCALES = ("beta", "lambda", "C", "s", "t", "kappa", "eta", "M", "L", "c", "tau", "B")


def formula(source: str) -> Expression | None:
    """The expression that a formula spells; None if it can't be read."""
    try:
        return parse(tokenize(source), _READING)
    except InputError:
        return None


def value(node: Expression, world: World) -> Array:
    """The value of an expression: 0-d a number, 2-d a matrix, 3-d a multiple of the identity; raises Misfit if none."""
    match node:
        case Number(number):
            return np.asarray(float(number))
        case Identity(size):
            return np.ones((1, 1, 1)) if size is None else np.eye(int(value(size, world)))
        case Ones() if "ones" in world.values:
            return np.asarray(world.values["ones"])
        case Symbol():
            return _symbol(node, world)
        case Sum(terms):
            return reduce(_add, [value(term, world) for term in terms])
        case Negative(body):
            return -value(body, world)
        case Product(factors, dots):
            parts = [value(factor, world) for factor in factors]
            return reduce(lambda left, pair: _times(left, *pair), zip(parts[1:], dots, strict=True), parts[0])
        case Quotient(top, bottom):
            return value(top, world) / _meant_as_number(value(bottom, world))
        case Power(base, exponent):
            return _meant_as_number(value(base, world)) ** _meant_as_number(value(exponent, world))
        case Transpose(body, is_conjugate):
            inner = value(body, world)
            return np.conj(inner).T if is_conjugate else inner.T
        case Accent("bar", body):
            return np.conj(_number(value(body, world)))
        case Norm(body, order) if order in (0, 2):
            return np.sqrt(np.sum(np.abs(value(body, world)) ** 2))
        case Inner(left, right):
            return _inner(value(left, world), value(right, world))
        case Matrix(rows):
            return _simple(np.block([[np.atleast_2d(value(entry, world)) for entry in row] for row in rows]))
        case BigOperator("sum", index):
            places = _places(node, world)
            return reduce(_add, [value(node.body, world.at(**{index: place})) for place in places])
        case Apply(function, arguments) if function in _FUNCTIONS:
            return _simple(_FUNCTIONS[function](world, *(value(argument, world) for argument in arguments)))
    raise Unknown(type(node).__name__)


def _symbol(node: Symbol, world: World) -> Array:
    name, scripts = _name(node)
    known = world.values
    if len(scripts) == 1 and name in _SUBSCRIPTED and _SUBSCRIPTED[name] in known:
        return _FUNCTIONS[name](world, value(scripts[0], world))
    whole = "_".join((name, *(describe(script) for script in scripts)))
    if whole in known and np.ndim(known[whole]) != 3:
        return np.asarray(known[whole])
    if not scripts:
        return _plain(name, world)
    place = world.places.get(describe(scripts[0]))
    family = known.get(_FAMILIES.get(name, name))
    if len(scripts) > 1 or place is None or family is None or np.ndim(family) not in (1, 3):
        raise Unknown(whole)
    return np.asarray(family[place])


def _name(node: Symbol) -> tuple[str, tuple[Expression, ...]]:
    """The name, marked if it is of the permuted layer, and the subscripts that are left."""
    mark = next((mark for mark in _SHUFFLED if node.name.endswith(mark)), "")
    scripts = tuple(
        script for script in node.subscripts if not (isinstance(script, Label) and script.text in _SHUFFLED_LABELS)
    )
    is_shuffled = bool(mark) or len(scripts) < len(node.subscripts)
    return node.name.removesuffix(mark) + "_perm" * is_shuffled, scripts


def _plain(name: str, world: World) -> Array:
    """A letter without subscripts that the world has under another name, or nowhere."""
    known = world.values
    if name == "pi":
        return np.asarray(np.pi)
    if name == "e":
        return np.asarray(np.e)
    if name == "i" and "imaginary" in known:
        return np.asarray(1j)
    if name == "alpha" and "noise" in known:
        return np.asarray(known["noise"])
    if name in _SCALES and "scale" in known:
        return np.asarray(known["scale"])
    raise Unknown(name)


def _places(node: BigOperator, world: World) -> list[int]:
    """Where a sum's index runs: everywhere, except where its conditions forbid."""
    if node.index not in world.lengths or node.upper is not None and not isinstance(node.upper, Symbol):
        raise Unknown(f"a sum over {node.index}")
    avoided: set[int] = set()
    for condition in node.conditions:
        is_exclusion = isinstance(condition, Condition) and condition.sign in ("≠", "∉")
        if not is_exclusion or describe(condition.left) != node.index:
            raise Unknown("a condition")
        avoided |= {_place(letter, world) for letter in condition.right}
    return [place for place in range(world.lengths[node.index]) if place not in avoided]


def _place(letter: Expression, world: World) -> int:
    if describe(letter) not in world.places:
        raise Unknown(describe(letter))
    return world.places[describe(letter)]


def _simple(array: Array) -> Array:
    array = np.asarray(array)
    return array.reshape(()) if array.size == 1 and array.ndim < 3 else array


def _number(array: Array) -> Array:
    if array.ndim:
        raise Misfit(f"a {array.shape} where a number is needed")
    return array


def _meant_as_number(array: Array) -> Array:
    """A vector to divide by, or the power of a matrix, is no slip: something else must be meant."""
    if array.ndim:
        raise Unknown("a number")
    return array


def _is_square(array: Array) -> bool:
    return array.ndim == 2 and array.shape[0] == array.shape[1]


def like(array: Array, other: Array) -> Array:
    """A multiple of the identity in the size of the other value."""
    return float(array.reshape(())) * np.eye(len(other)) if array.ndim == 3 and _is_square(other) else array


def _add(left: Array, right: Array) -> Array:
    left, right = like(left, right), like(right, left)
    if left.shape == right.shape or any(part.ndim == 0 and part == 0 for part in (left, right)):
        return left + right
    raise Misfit(f"{left.shape} + {right.shape}")


def _times(left: Array, right: Array, is_dot: bool) -> Array:
    if 3 in (left.ndim, right.ndim):
        return left.reshape(()) * right if left.ndim == 3 else left * right.reshape(())
    if not left.ndim or not right.ndim:
        return left * right
    if is_dot and left.shape == right.shape and left.shape[1] == 1:
        return _inner(left, right)
    if left.shape[1] != right.shape[0]:
        raise Misfit(f"{left.shape} times {right.shape}")
    return _simple(left @ right)


def _inner(left: Array, right: Array) -> Array:
    if left.shape != right.shape:
        raise Misfit(f"{left.shape} dot {right.shape}")
    return np.asarray(np.real(np.sum(left * np.conj(right))))


def _softmax(_: World, scores: Array) -> Array:
    if scores.ndim != 2:
        raise Misfit("softmax of a number")
    axis = 0 if scores.shape[1] == 1 else 1
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _rotation(world: World, t: Array) -> Array:
    angle = _number(t) * world.values["theta"]
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _rope(world: World, z: Array, t: Array) -> Array:
    if z.shape == (2, 1):
        return _rotation(world, t) @ z
    return _number(z) * np.exp(1j * _number(t) * world.values["theta"])


def _code(world: World, t: Array) -> Array:
    omega = np.asarray(world.values["omega"])
    return np.concatenate([np.sin(_number(t) * omega), np.cos(_number(t) * omega)])[:, None]


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "exp": lambda _, x: np.exp(_number(x)),
    "log": lambda _, x: np.log(_number(x)),
    "sqrt": lambda _, x: np.sqrt(_number(x)),
    "sin": lambda _, x: np.sin(_number(x)),
    "cos": lambda _, x: np.cos(_number(x)),
    "re": lambda _, x: np.real(x),
    "im": lambda _, x: np.imag(x),
    "det": lambda _, x: np.linalg.det(x),
    "softmax": _softmax,
    "relu": lambda _, x: np.maximum(x, 0.0),
    "RoPE": _rope,
    "R": _rotation,
    "Phi": _code,
    "phi": _code,
    "PE": _code,
}
