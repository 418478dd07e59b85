"""A row that sees nothing gives what the layer declares."""

from collections.abc import Iterator, Mapping

import numpy as np

from regard.conformance.law import Comparison, Comparisons, Diagnosis, Law, LawTrial, distance
from regard.conformance.probing import mask_hiding
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Projections, Spec
from regard.conformance.visibility import visible_pairs

_NOT_FINITE = Diagnosis("padding", "a fully masked row gives NaN")
_UNIFORM = Diagnosis("padding", "a fully masked row averages the values: the softmax falls back to uniform weights")
_SET_TO_ZERO = Diagnosis("padding", "a fully masked row is set to zero")


def _compare(trial: LawTrial) -> Comparisons:
    """A whole row is masked; in causal layers, also the first tokens of a row, which then see nothing either.

    The output must be finite unless the layer declares NaN. Zero and uniform are distinguished if the layer gives its
    weights; without them, a single layer's zero shows in that the row's content does not matter. A whole model may
    give anything finite. No other row may change.
    """
    x = trial.inputs()
    mask = np.ones(x.shape[:2], dtype=bool)
    mask[-1] = False
    bare = trial.call(x)
    y = trial.call(x, mask=mask)
    yield _compared(trial, "the output of a fully masked row", y[-1:], x[-1:], bare[-1:])
    if trial.spec.empty == "zero" and trial.spec.depth == 1 and not trial.subject.has("weights"):
        yield _constant(trial, mask, y[-1:], bare[-1:])
    if x.shape[0] > 1:
        what, control = "masking a whole row changes other rows", distance(y[-1], bare[-1])
        yield trial.compared(what, y[:-1], bare[:-1], trial.tolerance(bare), control=control)
    if trial.spec.causal and x.shape[1] > 2:
        mask = mask_hiding(x.shape[0], x.shape[1], "left")
        y, hidden = trial.call(x, mask=mask), int((~mask[-1]).sum())
        yield _compared(trial, "the output of left padding", y[-1:, :hidden], x[-1:], bare[-1:, :hidden])


def _constant(trial: LawTrial, mask: np.ndarray, y: np.ndarray, bare: np.ndarray) -> Comparison:
    """A zero output cannot depend on the row's content, except for a residual that bypasses attention."""
    x, changed = trial.inputs()[-1:].astype(np.float64), trial.inputs("another row")
    other = trial.call(changed, mask=mask)[-1:]
    residual = changed[-1:].astype(np.float64) - x if x.shape == y.shape else 0.0
    return Comparison(
        what="a fully masked row should give zero, but its content changes the output",
        error=min(distance(other, y), distance(other - residual, y)),
        tolerance=trial.tolerance(bare),
        control=distance(y, bare),
        place={"row": trial.size.batch - 1},
        suggests=(_UNIFORM,),
    )


def _compared(trial: LawTrial, what: str, y: np.ndarray, x: np.ndarray, bare: np.ndarray) -> Comparison:
    policy = trial.spec.empty
    errors = _errors(trial, y, x)
    tolerance = trial.tolerance(bare)
    wanted = "finite" if policy is None or (policy != "nan" and policy not in errors) else policy
    found = next((name for name in ("nan", "zero", "uniform") if errors.get(name, np.inf) <= tolerance), None)
    return Comparison(
        what=f"{what} is not {wanted}" + (f", but {found}" if found else ""),
        error=errors[wanted],
        tolerance=tolerance,
        control=distance(y, bare),
        place={"row": trial.size.batch - 1},
        is_yes_no=wanted in ("finite", "nan"),
        suggests=_suggested(found, y),
    )


def _suggested(found: str | None, y: np.ndarray) -> tuple[Diagnosis, ...]:
    """What the row gives says what is done with it."""
    if found == "nan" or not np.isfinite(y).all():
        return (_NOT_FINITE,)
    return (_SET_TO_ZERO,) if found == "zero" else (_UNIFORM,)


def _errors(trial: LawTrial, y: np.ndarray, x: np.ndarray) -> Mapping[str, float]:
    """How far the outputs are from each policy that can be recognized."""
    errors = {"finite": 0.0 if np.isfinite(y).all() else np.inf, "nan": 0.0 if np.isnan(y).all() else np.inf}
    if trial.subject.has("weights"):
        weights = trial.subject.projections()
        bias = 0.0 if weights.output_bias is None else weights.output_bias
        errors["zero"] = distance(y, np.broadcast_to(bias, y.shape))
        errors["uniform"] = min(
            distance(y, (mixed @ weights.output.astype(np.float64) + bias)[:, : y.shape[1]])
            for mixed in _averages(trial.spec, weights, x)
        )
    return errors


def _averages(spec: Spec, weights: Projections, x: np.ndarray) -> Iterator[np.ndarray]:
    """The values averaged over all keys, and over those that an unmasked query sees: both are called uniform."""
    values = x.astype(np.float64) @ weights.value + (0.0 if weights.value_bias is None else weights.value_bias)
    shared = spec.num_kv_heads or 1
    grouped = values.reshape(*x.shape[:2], shared, -1).repeat(spec.num_heads // shared, axis=2)
    flat = grouped.reshape(*x.shape[:2], -1)
    yield np.broadcast_to(flat.mean(axis=1, keepdims=True), flat.shape)
    seen = visible_pairs(spec, np.arange(x.shape[1]), np.arange(x.shape[1]))
    yield (seen / seen.sum(axis=1, keepdims=True)) @ flat


class _UndefinedRow(ReferenceLayer):
    def softmax(self, z: np.ndarray, visible: np.ndarray) -> np.ndarray:
        weights = super().softmax(z, visible)
        return np.where(visible.any(axis=-1, keepdims=True), weights, np.nan).astype(z.dtype)


LAW = Law(
    id="EMPTY",
    statement="a row without a visible key is finite and as declared (zero, uniform or nan); other rows do not change",
    family="padding",
    rank=330,
    needs=("mask",),
    compare=_compare,
    broken_example=lambda: _UndefinedRow(Spec(causal=False, positions="none"), name="NaN where nothing is visible"),
    suspects=(_NOT_FINITE, _UNIFORM, _SET_TO_ZERO),
)
