"""A position code tells the order of tokens."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, Law, LawTrial, distance
from regard.conformance.probes import bumped
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

_CODES = ("sinusoidal", "learned", "rotary", "alibi", "relative")


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Pairs of tokens before the last change places: the last output must move, as it does if they are others.

    One pair is enough for codes that may put far tokens into one bucket, and where rounding may hide the others; else a
    code tells any two neighbours.
    """
    x = trial.inputs()
    last = x.shape[1] - 1
    if last < 2:
        return
    y = trial.subject.call(x)[:, last]
    moved = {pair: distance(trial.subject.call(_swapped(x, pair))[:, last], y) for pair in _pairs(trial, last)}
    others = {pair: distance(trial.subject.call(bumped(trial, x, [*pair], by=2.0))[:, last], y) for pair in moved}
    control, tolerance = max(others.values()), trial.tolerance(y)
    dead = [pair for pair, gap in moved.items() if gap <= tolerance and others[pair] > trial.lively * tolerance]
    is_one_enough = trial.spec.positions == "relative" or trial.spec.dtype in ("bfloat16", "float16")
    is_dead = len(dead) == len(moved) if is_one_enough else bool(dead)
    yield Comparison(
        what="the last output does not tell the order of inputs" if is_dead else "inputs in another order",
        error=control if is_dead else 0.0,
        tolerance=tolerance,
        control=control,
        place={"swapped": [*(dead or [*moved])[0]], "output": last},
        signature={"moved": moved, "positions": trial.spec.positions, "is_partly": 0 < len(dead) < len(moved)},
    )


def _pairs(trial: LawTrial, last: int) -> list[tuple[int, int]]:
    """All neighbours that the last token can see, and the two that are farthest apart."""
    farthest = 0 if trial.spec.window is None else max(last - trial.spec.window + 1, 0)
    return sorted({(farthest, last - 1), *((place, place + 1) for place in range(farthest, last - 1))})


def _swapped(x: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    order = np.arange(x.shape[1])
    order[[*pair]] = order[[*pair[::-1]]]
    return x[:, order]


def _applies(spec: Spec) -> str | None:
    if spec.positions not in _CODES:
        said = "nothing is declared" if spec.positions is None else f"it is {spec.positions}"
        return f"only for layers with positions, and {said}"
    if spec.window is not None and spec.window < 3:
        return f"only for windows that hold two other tokens, and it is {spec.window}"
    if spec.causal is not False and spec.depth > 1:
        return f"{spec.depth} causal layers tell the order by their masks alone"
    return None


class _TurnedByHead(ReferenceLayer):
    """Turns each head by its own number instead of the token's."""

    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        del positions
        numbers = np.broadcast_to(np.arange(heads.shape[1]), heads.shape[:2])
        return super().rotate(heads.swapaxes(1, 2), numbers).swapaxes(1, 2)


def _broken_example() -> Subject:
    return _TurnedByHead(Spec(causal=True, positions="rotary"), name="rotary code on the head axis")


LAW = Law(
    id="POSLIVE",
    statement="a layer with positions tells two past tokens that change places",
    applies=_applies,
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "the position code is never applied",
        "the position code is on the head axis",
        "all positions are the same",
    ),
)
