"""What a term is worth in a world: plain numpy, matrices in two dimensions, 1×1 a number, misfits an error."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from derivations.planting.terms import (
    Apply,
    Dot,
    Grid,
    Group,
    Number,
    Over,
    Plus,
    Power,
    Symbol,
    Term,
    Times,
    Total,
    Transposed,
)

Array = np.ndarray


class Misfit(ValueError):
    """Two shapes that don't go together."""


class Unknown(LookupError):
    """A letter that means nothing in this world."""


@dataclass(frozen=True, kw_only=True)
class World:
    """One instance: what each letter is worth, where the indices stand and how far they run.

    `values["k"]` is a family (its first axis is the index); `values["q_1"]` is one symbol.
    """

    values: Mapping[str, Any]
    places: Mapping[str, int]
    lengths: Mapping[str, int]

    def at(self, **places: int) -> "World":
        return replace(self, places={**self.places, **places})

    def find(self, symbol: Symbol) -> Array:
        name = symbol.name + ("_perm" if symbol.is_shuffled else "")
        whole = name if symbol.index is None else f"{name}_{symbol.index}"
        if whole in self.values:
            return np.asarray(self.values[whole])
        if name not in self.values or symbol.index not in self.places:
            raise Unknown(whole)
        return np.asarray(self.values[name][self.places[symbol.index]])


def evaluate(term: Term, world: World) -> Array:
    """The value of a term; raises Misfit where it has none."""
    match term:
        case Number(value):
            return np.asarray(float(value))
        case Symbol():
            return world.find(term)
        case Plus(summands):
            return reduce(_add, [sign * evaluate(part, world) for sign, part in summands])
        case Times(factors):
            return reduce(_multiply, [evaluate(factor, world) for factor in factors])
        case Over(top, bottom):
            return evaluate(top, world) / _number(evaluate(bottom, world))
        case Transposed(body):
            return evaluate(body, world).T
        case Group(body):
            return evaluate(body, world)
        case Power(body, exponent):
            return _number(evaluate(body, world)) ** exponent
        case Dot(left, right):
            return _inner(evaluate(left, world), evaluate(right, world))
        case Total(body, index, _, without):
            avoided = {world.places[letter] for letter in without}
            places = [place for place in range(world.lengths[index]) if place not in avoided]
            return reduce(_add, [evaluate(body, world.at(**{index: place})) for place in places])
        case Grid(rows):
            return _simple(np.array([[_number(evaluate(entry, world)) for entry in row] for row in rows]))
        case Apply(name, arguments):
            return _simple(_function(name, world)(*[evaluate(argument, world) for argument in arguments]))
    raise TypeError(f"{term!r} is no term.")


def _simple(value: Any) -> Array:
    array = np.asarray(value)
    return array.reshape(()) if array.size == 1 else array


def _number(value: Array) -> Array:
    if value.ndim:
        raise Misfit(f"a {value.shape} where a number is needed")
    return value


def _add(left: Array, right: Array) -> Array:
    if left.shape == right.shape or _is_zero(left) or _is_zero(right):
        return left + right
    raise Misfit(f"{left.shape} + {right.shape}")


def _is_zero(value: Array) -> bool:
    return value.ndim == 0 and bool(value == 0)


def _multiply(left: Array, right: Array) -> Array:
    if not left.ndim or not right.ndim:
        return left * right
    if left.shape[1] != right.shape[0]:
        raise Misfit(f"{left.shape} times {right.shape}")
    return _simple(left @ right)


def _inner(left: Array, right: Array) -> Array:
    if left.shape != right.shape:
        raise Misfit(f"{left.shape} dot {right.shape}")
    return _simple(np.real(np.sum(left * np.conj(right))))


def _function(name: str, world: World) -> Callable[..., Array]:
    theta, omega = world.values.get("theta", 0.0), world.values.get("omega", np.zeros(0))
    functions: dict[str, Callable[..., Array]] = {
        "exp": lambda x: np.exp(_number(x)),
        "sqrt": lambda x: np.sqrt(_number(x)),
        "sin": lambda x: np.sin(_number(x)),
        "cos": lambda x: np.cos(_number(x)),
        "Re": np.real,
        "inner": _inner,
        "conj": lambda x: np.conj(_number(x)),
        "norm": lambda x: np.sqrt(np.sum(np.abs(x) ** 2)),
        "softmax": _softmax,
        "ReLU": lambda x: np.maximum(x, 0.0),
        "RoPE": lambda z, t: _number(z) * np.exp(1j * t * theta),
        "R": lambda t: np.array([[np.cos(t * theta), -np.sin(t * theta)], [np.sin(t * theta), np.cos(t * theta)]]),
        "Phi": lambda t: np.concatenate([np.sin(t * omega), np.cos(t * omega)])[:, None],
    }
    return functions[name]


def _softmax(scores: Array) -> Array:
    if scores.ndim != 2:
        raise Misfit("softmax of a number")
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
