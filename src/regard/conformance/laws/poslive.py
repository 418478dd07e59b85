"""A position code distinguishes the order of tokens."""

import numpy as np

from regard.conformance.law import (
    Comparison,
    Comparisons,
    Diagnosis,
    Law,
    LawTrial,
    NotTried,
    Spec,
    declared_words,
    distance,
)
from regard.conformance.reference_layer import ReferenceLayer

_CODES = ("sinusoidal", "learned", "rotary", "alibi", "relative")


def _compare(trial: LawTrial) -> Comparisons:
    """Pairs of tokens before the last are swapped: the last output must change, as it does if their content changes.

    One pair is enough for codes that may put distant tokens into one bucket, and where rounding may hide the others;
    otherwise a code distinguishes any two neighbours.
    """
    trial = trial.in_float32()
    if trial.is_half_precision and trial.spec.positions == "alibi":
        raise NotTried(f"neighbours differ by less than {trial.spec.dtype} can tell")
    x = trial.inputs()
    last = x.shape[1] - 1
    if last < 2:
        return
    y = trial.call(x)[:, last]
    # All neighbours that the last token can see, and the two that are farthest apart.
    farthest = 0 if trial.spec.window is None else max(last - trial.spec.window + 1, 0)
    pairs = sorted({(farthest, last - 1), *((place, place + 1) for place in range(farthest, last - 1))})
    moved = {pair: distance(trial.call(_swapped(x, pair))[:, last], y) for pair in pairs}
    others = {pair: distance(trial.call(trial.bumped(x, [*pair], by=2.0))[:, last], y) for pair in moved}
    control, tolerance = max(others.values()), trial.tolerance(y)
    dead = [pair for pair, gap in moved.items() if gap <= tolerance and others[pair] > trial.lively * tolerance]
    is_one_enough = trial.spec.positions == "relative" or trial.is_half_precision
    is_dead = len(dead) == len(moved) if is_one_enough else bool(dead)
    is_finite = np.isfinite([*moved.values()]).all()
    yield Comparison(
        what="swapping two inputs does not change the last output",
        error=control if is_dead else 0.0 if is_finite else np.inf,
        tolerance=tolerance,
        control=control,
        place={"swapped": [*(dead or [*moved])[0]], "output": last},
        suggests=_suggested(trial.spec, is_partial=0 < len(dead) < len(moved)),
        is_yes_no=True,
    )


def _swapped(x: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    order = np.arange(x.shape[1])
    order[[*pair]] = order[[*pair[::-1]]]
    return x[:, order]


def _suggested(spec: Spec, *, is_partial: bool) -> tuple[Diagnosis, ...]:
    family = spec.positions if spec.positions in ("rotary", "alibi") else "positions"
    if is_partial:
        return (Diagnosis(family, "some positions are the same"),)
    return Diagnosis(family, "the position code is never applied"), Diagnosis("positions", "all positions are the same")


def _applies(spec: Spec) -> str | None:
    if spec.positions not in _CODES:
        return f"only for layers with positions; {declared_words(spec.positions)}"
    if spec.window is not None and spec.window < 3:
        return f"only for windows that contain two other tokens; the window is {spec.window}"
    if spec.causal is not False and spec.depth > 1:
        return f"{spec.depth} causal layers distinguish the order by their masks alone"
    return None


class _RotatedByHead(ReferenceLayer):
    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        del positions
        numbers = np.broadcast_to(np.arange(heads.shape[1]), heads.shape[:2])
        return super().rotate(heads.swapaxes(1, 2), numbers).swapaxes(1, 2)


LAW = Law(
    id="POSLIVE",
    statement="a layer with positions notices if two past tokens are swapped",
    family="positions",
    rank=240,
    applies=_applies,
    compare=_compare,
    broken_example=lambda: _RotatedByHead(Spec(causal=True, positions="rotary"), name="rotary code on the head axis"),
    suspects=(
        "the position code is never applied",
        Diagnosis("rotary", "the position code is on the head axis"),
        "all positions are the same",
    ),
)
