"""One token repeated gives one output repeated."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance, dtype_of
from regard.conformance.probes import liveness
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.rounding import in_float64, inner_rounding
from regard.conformance.subject import Spec, Subject

# Several numbers are rounded to float32 inside, and a step shows the rounding of those that it moves.
_ROUNDINGS = 30.0


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Every output beside the first one; averages of equal values are that value, whatever the weights."""
    x = trial.inputs()
    if x.shape[1] < 2:
        return
    x = np.ascontiguousarray(np.broadcast_to(x[:, :1], x.shape))
    y = trial.subject.call(x)
    gaps = [distance(y[:, place], y[:, 0]) for place in range(x.shape[1])]
    worst = int(np.argmax(gaps))
    yield from _alone(trial, x)
    yield Comparison(
        what="outputs of one token repeated differ",
        error=max(gaps),
        tolerance=trial.tolerance(y),
        control=liveness(trial, x, y),
        place={"output": worst},
        signature={"gaps": gaps, "sizes": np.abs(y.astype(np.float64)).max(axis=(0, 2)).tolist()},
    )


def _alone(trial: LawTrial, x: np.ndarray) -> Iterator[Comparison]:
    """The token repeated beside the token alone, in float64 if the layer can be had in it.

    Shares that sum to a little less than one show only there; what the layer rounds to float32 inside is allowed for.
    """
    if trial.subject.has("float64") and trial.spec.dtype != "float64":
        trial = in_float64(trial)
    x = x.astype(dtype_of(trial.spec.dtype))
    many, alone = trial.subject.call(x), trial.subject.call(x[:, :1])
    inside = _ROUNDINGS * inner_rounding(trial, x) if trial.spec.dtype == "float64" else 0.0
    yield Comparison(
        what="outputs of one token repeated are not that token's alone",
        error=distance(many[:, -1:], alone),
        tolerance=trial.tolerance(many) + inside,
        control=None,
        place={"output": x.shape[1] - 1, "dtype": trial.spec.dtype},
        signature={"is_alone": True},
    )


def _applies(spec: Spec) -> str | None:
    if spec.positions not in ("none", "rotary", "alibi"):
        said = "nothing is declared" if spec.positions is None else f"it is {spec.positions}"
        return f"only for positions = none or rotary or alibi, and {said}"
    return "a sink takes a share that depends on the number of keys" if spec.sink else None


class _TurnedValues(ReferenceLayer):
    """Turns the values too, not queries and keys alone."""

    def _heads(self, x: np.ndarray, part: str, num_heads: int) -> np.ndarray:
        heads = super()._heads(x, part, num_heads)
        places = np.broadcast_to(np.arange(x.shape[1]), x.shape[:2])
        return self.rotate(heads, places) if part == "value" else heads


def _broken_example() -> Subject:
    return _TurnedValues(Spec(positions="rotary"), name="values turned too")


LAW = Law(
    id="CONST",
    statement="if all x_j are equal, all y_i are, and equal to that of the token alone",
    applies=_applies,
    compare=_compare,
    broken_example=_broken_example,
    suspects=("values are turned too", "the mask comes after the softmax", "the softmax is over the wrong axis"),
)
