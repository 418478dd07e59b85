"""A layer sees exactly what it declares to see."""

import numpy as np

from regard.conformance.law import (
    LONGEST_INPUT,
    Comparison,
    Comparisons,
    Diagnoses,
    InputSize,
    Law,
    LawTrial,
    NotTried,
    only_if,
    reach,
)
from regard.conformance.probing import token_gaps
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis
from regard.conformance.visibility import visible_pairs

# How many inputs are changed in one call.
_ROWS = 48
# A key with little weight may move the output by less than rounding: it counts as dead after this many changes.
_BUMPS = 6


def declared_support(spec: Spec, length: int) -> np.ndarray:
    """[output, input]: True where the spec says that the output depends on the input, through all layers."""
    seen = visible_pairs(spec, np.arange(length), np.arange(length))
    return np.linalg.matrix_power(seen.astype(np.float64), spec.depth) > 0


def _compare(trial: LawTrial) -> Comparisons:
    """Each x_j is changed by itself; the outputs that change must be those that declare to see it."""
    if trial.subject.has_state:
        raise NotTried("the layer carries a state, in which earlier tokens fade")
    length = trial.size.length
    declared, places = declared_support(trial.spec, length), np.arange(length)
    gaps = _gaps(trial, places)
    control, tolerance = float(gaps[declared].max()), _tolerance(trial)
    missing = _dead(trial, declared & (gaps == 0)) if control > 0 else np.zeros_like(declared)
    extra = ~declared & (gaps > tolerance)
    for place in places.tolist():
        more, less = np.flatnonzero(extra[:, place]), np.flatnonzero(missing[:, place])
        wrong = [*more.tolist(), *less.tolist()]
        yield Comparison(
            what="an output changes with an input that it should not see"
            if len(more)
            else "an output ignores an input that it should see",
            error=float(gaps[more, place].max()) if len(more) else control if wrong else 0.0,
            tolerance=tolerance,
            control=control,
            place={"input": place, **({"output": wrong[0]} if wrong else {})},
            signature={"extra": (more - place).tolist(), "missing": (less - place).tolist()},
        )


def _tolerance(trial: LawTrial) -> float:
    return trial.exact_tolerance(trial.call(trial.inputs(batch=1)))


def _gaps(trial: LawTrial, places: np.ndarray, *, bump: int = 0) -> np.ndarray:
    """[output, place]: how far each output moves with each of these inputs, many of which are changed in one call."""
    x, rows = trial.inputs(batch=1), min(len(places), _ROWS)
    same = np.repeat(x, rows, axis=0)
    # Rounding depends on the row of a batch, so that equal rows are compared, not the outputs of one row alone.
    y, found = trial.call(same), []
    for start in range(0, len(places), rows):
        now, moved = places[start : start + rows], same.copy()
        for row, place in enumerate(now.tolist()):
            moved[row] = trial.bumped(x, place, name=f"support {bump}", by=1.0 + bump)[0]
        found.append(token_gaps(trial.call(moved), y)[: len(now)])
    return np.concatenate(found).T


def _dead(trial: LawTrial, unmoved: np.ndarray) -> np.ndarray:
    """[output, input]: those of the unmoved outputs that no larger change of the input moves either."""
    for bump in range(1, _BUMPS):
        places = np.flatnonzero(unmoved.any(axis=0))
        if not len(places):
            break
        unmoved = unmoved.copy()
        unmoved[:, places] &= _gaps(trial, places, bump=bump) == 0
    return unmoved


def _signs(trial: LawTrial, broken: list[Comparison]) -> list[Diagnosis]:
    """How far the outputs that wrongly change, or wrongly do not, are after the input."""
    window = trial.spec.window
    extra, missing = ({offset for each in broken for offset in each.signature[kind]} for kind in ("extra", "missing"))
    found = []
    if any(offset < 0 for offset in extra) and trial.spec.causal:
        found.append(Diagnosis("mask", "keys ahead are visible"))
    if missing == {0} or (0 in missing and len(missing) <= 2):
        found.append(Diagnosis("mask", "the diagonal is excluded"))
    if window is not None:
        found += _signs_of_window(window, {abs(each) for each in extra}, {abs(each) for each in missing})
    if missing and not found:
        found.append(Diagnosis("mask", "some keys are never seen"))
    return found or [Diagnosis("mask", "the set of visible keys is not the declared one")]


def _signs_of_window(window: int, extra: set[int], missing: set[int]) -> Diagnoses:
    if extra == {window}:
        yield Diagnosis("window", "one key too many (W+1)")
    elif extra and min(extra) == window:
        yield Diagnosis("window", "other keys than the declared ones are visible" if missing else "it is ignored")
    elif missing == {window - 1} and not extra:
        yield Diagnosis("window", "one key too few (W−1)")
    elif missing and max(missing) == window - 1:
        yield Diagnosis("window", "it is too narrow")


def _applies(spec: Spec) -> str | None:
    if spec.window is not None and reach(spec) + 1 > min(LONGEST_INPUT, spec.max_positions or LONGEST_INPUT):
        return f"its windows reach {reach(spec)} tokens, too many to look past"
    return None if spec.support is not None else only_if(causal=(True, False))(spec)


class _WindowTooWide(ReferenceLayer):
    def visible(self, query_places: np.ndarray, num_keys: int, mask: np.ndarray) -> np.ndarray:
        keys = np.arange(num_keys)[None, :]
        back = query_places[:, None] - keys
        seen = (back >= 0) & (back <= (self.spec.window or num_keys))
        return seen[None] & mask[:, None, :]


LAW = Law(
    id="SUPPORT",
    statement="the inputs that change y_i are exactly those that the layer declares to see",
    family="mask",
    rank=90,
    follows=("CAUSAL",),
    applies=_applies,
    compare=_compare,
    signs=_signs,
    diagnosed_by="signs",
    broken_example=lambda: _WindowTooWide(Spec(causal=True, window=4), name="window one too wide"),
    suspects=(
        Diagnosis("window", "the window is one too wide or too narrow"),
        "the diagonal is excluded",
        Diagnosis("window", "it is ignored"),
        "some keys are never seen",
    ),
    looks_past_window=True,
    size=InputSize(batch=2),
    grows_in=("length",),
)
