"""Every parameter is used."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, NotTried, Spec, distance
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import LayerParameter

# Shorter inputs give too few pairs of tokens; with one token, queries and keys do nothing.
_SHORTEST = 6
_NUM_DIRECTIONS = 2
# Gradients below this part of the largest are rounding.
_ROUNDING = {"float64": 1e-10, "float32": 1e-6}


def _compare(trial: LawTrial) -> Comparisons:
    """No gradient, and no change of the output if other numbers are put in place of what has none.

    A bias of keys adds the same number to all logits of a query, which the softmax removes, unless keys are rotated
    after it: as many numbers as there are in the keys of a token may do nothing, where they can be such a bias.
    """
    if trial.size.length < _SHORTEST:
        return
    if trial.spec.window == 1:
        raise NotTried("with a window of 1, queries and keys do nothing")
    trial = trial.in_float64()
    x = trial.inputs()
    control, parameters = trial.liveness(x, trial.call(x)), trial.subject.parameters()
    if not parameters:
        raise NotTried("the layer learns nothing")
    unused = _unused(trial, x, parameters)
    for name, dead in unused.items():
        yield Comparison(
            what=f"no output changes with {_described(name, dead)}",
            error=float(dead.mean()),
            tolerance=0.0,
            control=control,
            suggests=(_named(name, dead),),
            is_yes_no=True,
        )
    if not unused:
        yield Comparison(what="every parameter is used", error=0.0, tolerance=0.0, control=control)


def _unused(trial: LawTrial, x: np.ndarray, parameters: Mapping[str, LayerParameter]) -> dict[str, np.ndarray]:
    """By parameter, which of its numbers change nothing and should; only parameters that have such numbers."""
    slopes, alone = _slopes(trial, x, parameters), _slopes(trial, x[:, :1], parameters)
    least = _ROUNDING.get(trial.spec.dtype, 1.0) * max(float(each.max(initial=0.0)) for each in slopes.values())
    if not least > 0:
        raise NotTried("no output has a gradient with respect to a parameter")
    found = {name: _dead(parameter, slopes[name] < least) for name, parameter in parameters.items()}
    queries_and_keys = {name: (alone[name] < least) & (slopes[name] >= least) for name in parameters}
    keys = {
        name: dead & _can_be_of_keys(name, parameters, queries_and_keys, trial.spec) for name, dead in found.items()
    }
    if sum(int(each.sum()) for each in keys.values()) <= (trial.spec.num_kv_heads or 1) * trial.spec.head_width:
        found = {name: dead & ~keys[name] for name, dead in found.items()}
    return {name: dead for name, dead in found.items() if dead.any() and _changes_nothing(trial, x, name, dead)}


def _slopes(trial: LawTrial, x: np.ndarray, parameters: Mapping[str, LayerParameter]) -> dict[str, np.ndarray]:
    """The largest gradients seen, in several directions, with and without padding."""
    largest = {name: np.zeros(parameter.values.shape) for name, parameter in parameters.items()}
    for number, options in enumerate([{}] * _NUM_DIRECTIONS + _masks(trial, x)[:1]):
        direction = trial.rng(f"direction {number}").standard_normal(trial.call(x, **options).shape).astype(x.dtype)
        for name, found in trial.subject.parameter_gradients(x, direction, **options).items():
            # What is not a number is no evidence that something is unused.
            largest[name] = np.maximum(largest[name], np.abs(np.nan_to_num(found, nan=np.inf, posinf=np.inf)))
    return largest


def _masks(trial: LawTrial, x: np.ndarray) -> list[dict[str, Any]]:
    """The first tokens of one row hidden, and all of them."""
    if not trial.subject.has("mask"):
        return []
    some, all_of_them = np.ones((2, *x.shape[:2]), dtype=bool)
    some[0, : x.shape[1] // 3] = False
    all_of_them[0] = False
    return [{"mask": some}, {"mask": all_of_them}]


def _dead(parameter: LayerParameter, is_still: np.ndarray) -> np.ndarray:
    """The numbers without an effect that should have one: rows and columns, single numbers, or the whole."""
    match parameter.kind:
        case "matrix":
            return np.logical_or(is_still.all(axis=1, keepdims=True), is_still.all(axis=0, keepdims=True))
        case "vector":
            return is_still
    return np.full(is_still.shape, is_still.all())


def _can_be_of_keys(
    name: str, parameters: Mapping[str, LayerParameter], queries_and_keys: Mapping[str, np.ndarray], spec: Spec
) -> np.ndarray:
    """Which numbers of a vector may be a bias of keys: the rows beside them matter, but not to a token alone."""
    own = parameters[name]
    if own.kind != "vector" or len(own.values) % spec.head_width:
        return np.zeros(own.values.shape, dtype=bool)
    can = np.ones(own.values.shape, dtype=bool)
    for other, parameter in parameters.items():
        if parameter.kind == "matrix" and parameter.module == own.module and len(own.values) in parameter.values.shape:
            axis = parameter.values.shape.index(len(own.values))
            can &= queries_and_keys[other].any(axis=1 - axis)
    return can


def _changes_nothing(trial: LawTrial, x: np.ndarray, name: str, dead: np.ndarray) -> bool:
    """True if other numbers in its place change no output, whatever the gradient says."""
    values = trial.subject.parameters()[name].values
    drawn = trial.rng(f"other {name}").standard_normal(values.shape) * (float(values.std()) or 1.0)
    other = trial.subject.with_parameters({name: np.where(dead, drawn, values)})
    for options in ({}, *_masks(trial, x)):
        y = trial.call(x, **options)
        if distance(other.call(x, **options), y) > trial.tolerance(y):
            return False
    return True


def _described(name: str, dead: np.ndarray) -> str:
    return name if dead.all() else f"{int(dead.sum())} of the {dead.size} numbers of {name}"


def _named(name: str, dead: np.ndarray) -> Diagnosis:
    family = "sink/softcap" if "sink" in name else "projection"
    return Diagnosis(family, f"{_described(name, dead)} {'is' if dead.all() else 'are'} not used")


class _ValuesFromKeys(ReferenceLayer):
    """In place of a gradient, how far the output moves with the whole matrix: only whether it does counts."""

    capabilities = ReferenceLayer.capabilities | {"parameters", "gradient"}

    def parameters(self) -> dict[str, LayerParameter]:
        return {name: LayerParameter(values=each, kind="matrix", module=name) for name, each in self.matrices.items()}

    def with_parameters(self, values: Mapping[str, np.ndarray]) -> "_ValuesFromKeys":
        other = type(self)(self.spec, name=self.name, seed=self.seed)
        other.matrices = {**self.matrices, **values}
        return other

    def parameter_gradients(self, x: np.ndarray, direction: np.ndarray, **options: Any) -> dict[str, np.ndarray]:
        y, found = self.call(x, **options), {}
        for name, matrix in self.matrices.items():
            moved = self.with_parameters({name: 1.1 * matrix}).call(x, **options)
            found[name] = np.full(matrix.shape, float(np.abs(direction * (moved - y)).max()))
        return found

    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        return super()._heads(x, "key" if part == "value" else part, num_heads)


LAW = Law(
    id="USED",
    statement="every parameter of the layer changes some output",
    family="projection",
    rank=155,
    needs=("parameters", "gradient"),
    applies=lambda spec: None if spec.depth == 1 else f"of {spec.depth} layers, some may be switched off",
    compare=_compare,
    broken_example=lambda: _ValuesFromKeys(Spec(causal=True, dtype="float64"), name="values by the key matrix"),
    suspects=(
        "a matrix, bias or gain is not used",
        "one matrix is used in another's place",
        Diagnosis("sink/softcap", "sinks are not used"),
    ),
)
