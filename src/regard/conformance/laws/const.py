"""One token repeated gives one output repeated."""

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnoses, Diagnosis, Law, LawTrial, Spec, distance, only_if
from regard.conformance.reference_layer import ReferenceLayer

# Several numbers are rounded to float32 inside, and a step shows the rounding only of those that it changes.
_ROUNDINGS = 30.0
_ROTATED = Diagnosis("rotary", "values are rotated too")
_MASKED_LATE = Diagnosis("softmax", "the mask is applied after the softmax")


def _compare(trial: LawTrial) -> Comparisons:
    """Every output against the first one: averages of equal values are that value, whatever the weights."""
    x = trial.inputs()
    if x.shape[1] < 2:
        return
    x = np.ascontiguousarray(np.broadcast_to(x[:, :1], x.shape))
    y = trial.call(x)
    gaps = [distance(y[:, place], y[:, 0]) for place in range(x.shape[1])]
    yield from _alone(trial, x)
    yield Comparison(
        what="the outputs of one token repeated differ",
        error=max(gaps),
        tolerance=trial.tolerance(y),
        control=trial.liveness(x, y),
        place={"output": int(np.argmax(gaps))},
    )


def _alone(trial: LawTrial, x: np.ndarray) -> Comparisons:
    """The token repeated against the token alone, in float64 if the layer is known to be a softmax over its matrices.

    Weights that sum to a little less than one show only there; what the layer rounds to float32 inside is allowed for.
    Other kinds of attention add a small number to their denominators on purpose.
    """
    if trial.subject.has("float64", "weights"):
        trial = trial.in_float64()
    x = x.astype(trial.dtype)
    many, alone = trial.call(x), trial.call(x[:, :1])
    inside = _ROUNDINGS * trial.inner_rounding(x) if trial.spec.dtype == "float64" else 0.0
    yield trial.compared(
        "a token repeated gives another output than the token alone",
        many[:, -1:],
        alone,
        trial.tolerance(many) + inside,
        place={"output": x.shape[1] - 1, "dtype": trial.spec.dtype},
    )


def _signs(trial: LawTrial, broken: list[Comparison]) -> Diagnoses:
    """Rotated values keep the first output of a causal layer; weights that do not sum to one change it too."""
    x = trial.inputs()
    y = trial.call(np.ascontiguousarray(np.broadcast_to(x[:, :1], x.shape)))
    alone = trial.call(x[:, :1])
    two, five = (trial.call(np.repeat(x[:, :1], count, axis=1)) for count in (2, 5))
    if max(distance(two[:, -1:], five[:, -1:]), distance(two[:, :1], two[:, 1:])) <= broken[0].tolerance:
        yield Diagnosis("shape", "a single token takes another branch")
        return
    is_rotary = trial.spec.positions == "rotary"
    if distance(y[:, :1], alone) > broken[0].tolerance and not (is_rotary and not trial.spec.causal):
        yield Diagnosis("softmax", "the weights of a row do not sum to one")
        yield _MASKED_LATE
    elif is_rotary:
        yield _ROTATED
    else:
        yield Diagnosis("heads", "a reshape mixes heads and positions")
        yield Diagnosis("positions", "they enter the values")


def _applies(spec: Spec) -> str | None:
    sink = "a sink takes a share that depends on the number of keys" if spec.sink else None
    return only_if(positions=("none", "rotary", "alibi"))(spec) or sink


class _RotatedValues(ReferenceLayer):
    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        heads = super()._heads(x, part, num_heads)
        places = np.broadcast_to(np.arange(x.shape[1]), x.shape[:2])
        return self.rotate(heads, places) if part == "value" else heads


LAW = Law(
    id="CONST",
    statement="if all x_j are equal, all y_i equal the output of that token alone",
    family="softmax",
    rank=180,
    applies=_applies,
    compare=_compare,
    signs=_signs,
    grows_in=("length",),
    broken_example=lambda: _RotatedValues(Spec(positions="rotary"), name="values rotated too"),
    suspects=(_ROTATED, _MASKED_LATE, "the softmax is over the wrong axis"),
)
