"""A layer sees what it declares to see, no more and no less."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import WIDEST, Comparison, InputSize, Law, LawTrial, distance, reach
from regard.conformance.probes import bumped
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec, Subject

# Up to this length every input is bumped; beyond it those whose window ends within the input.
_ALL = 16
# A key that gets little weight may move the output by less than rounding: it is called dead after this many bumps.
_BUMPS = 6


def declared_support(spec: Spec, length: int) -> np.ndarray:
    """[output, input]: True where the spec says that the output depends on the input, through all layers."""
    output, given = np.arange(length)[:, None], np.arange(length)[None, :]
    seen = given <= output if spec.causal else np.ones((length, length), dtype=bool)
    return seen if spec.window is None else seen & (np.abs(output - given) < reach(spec))


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Each x_j is bumped by itself; the outputs that move must be those that declare to see it."""
    x = trial.inputs()
    y = trial.subject.call(x)
    declared = declared_support(trial.spec, x.shape[1])
    gaps = {place: _gaps(trial, x, y, place) for place in _places(x.shape[1])}
    control = max(float(gap[declared[:, place]].max()) for place, gap in gaps.items())
    tolerance = trial.exactly(y)
    extra = {place: np.flatnonzero(~declared[:, place] & (gap > tolerance)) for place, gap in gaps.items()}
    still = {place: np.flatnonzero(declared[:, place] & (gap == 0)) for place, gap in gaps.items()}
    missing = {place: _dead(trial, x, y, (place, still[place])) if control > 0 else still[place][:0] for place in gaps}
    offsets = {"extra": _offsets(extra), "missing": _offsets(missing)}
    for place, gap in gaps.items():
        wrong = [*extra[place].tolist(), *missing[place].tolist()]
        yield Comparison(
            what=_words(extra[place], missing[place]),
            error=float(gap[extra[place]].max()) if len(extra[place]) else control if wrong else 0.0,
            tolerance=tolerance,
            control=control,
            place={"input": place, **({"output": wrong[0]} if wrong else {})},
            signature={"input": place, "window": trial.spec.window, "gaps": gap.tolist(), **offsets},
        )


def _offsets(outputs: dict[int, np.ndarray]) -> dict[int, list[int]]:
    """By input, how far after it the outputs stand."""
    return {place: [int(output) - place for output in each] for place, each in outputs.items() if len(each)}


def _places(length: int) -> list[int]:
    if length <= _ALL:
        return [*range(length)]
    return sorted({0, 1, 2, length // 2, length - 3, length - 2, length - 1})


def _gaps(trial: LawTrial, x: np.ndarray, y: np.ndarray, place: int, *, bump: int = 0) -> np.ndarray:
    """How far each output moves with one input."""
    moved = trial.subject.call(bumped(trial, x, place, name=f"support {bump}", by=1.0 + bump))
    return np.array([distance(moved[:, i], y[:, i]) for i in range(x.shape[1])])


def _dead(trial: LawTrial, x: np.ndarray, y: np.ndarray, unmoved: tuple[int, np.ndarray]) -> np.ndarray:
    """Those of the unmoved outputs that no stronger bump of the input moves either."""
    place, outputs = unmoved
    for bump in range(1, _BUMPS):
        if not len(outputs):
            break
        outputs = outputs[_gaps(trial, x, y, place, bump=bump)[outputs] == 0]
    return outputs


def _words(extra: np.ndarray, missing: np.ndarray) -> str:
    if len(extra):
        return "an output moves with an input that it should not see"
    return "an output ignores an input that it should see" if len(missing) else "outputs that see the bumped input"


def _applies(spec: Spec) -> str | None:
    if spec.causal is None:
        return "only for causal = True or False, and nothing is declared"
    if spec.window is not None and reach(spec) + 1 > min(WIDEST, spec.max_positions or WIDEST):
        return f"its windows reach {reach(spec)} tokens, too many to look past"
    return None


class _OneTooWide(ReferenceLayer):
    """Counts the window without the token itself."""

    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        keys = np.arange(num_keys)[None, :]
        back = query_places[:, None] - keys
        seen = (back >= 0) & (back <= (self.spec.window or num_keys))
        return seen[None] & mask[:, None, :]


def _broken_example() -> Subject:
    return _OneTooWide(Spec(causal=True, window=4), name="window one too wide")


LAW = Law(
    id="SUPPORT",
    statement="the inputs that move y_i are exactly those that the layer declares to see",
    applies=_applies,
    compare=_compare,
    broken_example=_broken_example,
    suspects=(
        "the window is one too wide or too narrow",
        "the diagonal is excluded",
        "the window is ignored",
        "some keys are dead",
    ),
    looks_past_window=True,
    size=InputSize(batch=2, length=40),
)
