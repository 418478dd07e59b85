"""Rotary codes rotate at the declared rates."""

import numpy as np

from regard.conformance.law import (
    BlindSpot,
    Comparison,
    Comparisons,
    InputSize,
    Law,
    LawTrial,
    NotTried,
    distance,
    only_if,
)
from regard.conformance.probing import ones_mask
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.subject import Spec
from regard.conformance.verdict import Diagnosis
from regard.positions.rotary import Rotary

# Every distance up to the first number, then some up to the second, where slow pairs have rotated too.
_NEAR, _FAR, _NUM_FAR = 48, 1000, 48
# How much of the output follows the distance; the logits are then small, and so is what is not linear in them.
_SHARE = 1e-2
_QUADRATIC = 0.3
_ALIVE = 1e-9
_TINY = 1e-3
# If biases make logits of their own: shares above rounding at which only squares of logits matter besides, and the
# number of rates whose sums and differences can still be distinguished from other rates.
_LEAST, _MOST, _FEW = 1e-3, 0.15, 6
# The part of the curves that may stay unexplained, and the part that every rate must contribute.
_UNEXPLAINED, _UNEXPLAINED_OF_SQUARES = 2e-2, 5e-3
_ABSENT = 2e-3
# The part of the curves that may be rounding; what it adds to the unexplained part is allowed for.
_COARSE = 2e-2
# Columns that the others can replace are not required: this share of a column must be its own.
_OWN_SHARE = 0.2
_ROUNDING = 1e-9
# Bases of public models, tried if the declared one does not fit.
_BASES = (100.0, 500.0, 1e3, 1e4, 2.5e4, 5e4, 1e5, 1.5e5, 5e5, 1e6, 5e6, 1e7)


def _compare(trial: LawTrial) -> Comparisons:
    """Two small tokens at growing distance: the second output is a sum of cos θ_i g and sin θ_i g, every i needed.

    For small logits z the output is linear in them: y = v̄ + Σ_h z_h(g) (v₀ − v₁)_h / 4 + O(z²), and z_h(g) rotates
    with the pairs of coordinates. Other weights change the amplitudes, not the rates. Biases of queries and keys leave
    logits that do not vanish: then sums and differences of two rates are allowed as well.
    """
    if trial.size.length < 2:
        return
    trial = trial.in_float64()
    far = np.geomspace(_NEAR, _FAR, _NUM_FAR).round().astype(int)
    gaps = np.unique(np.concatenate([np.arange(_NEAR), far]))
    gaps, declared = gaps[gaps < (trial.spec.max_positions or _FAR + 1)], _rates(trial.spec)
    share = _share(trial, trial.inputs(length=2), gaps, 1.0)
    if not share > _ALIVE:
        what = "outputs do not depend on the distance"
        yield Comparison(what=what, error=0.0 * share, tolerance=_UNEXPLAINED, control=0.0)
        return
    curves, is_linear, rounding = _curves(trial, gaps)
    if rounding > _COARSE:
        raise NotTried("rounding hides how the output follows the distance")
    waves, common = _waves(declared, gaps), _common(declared, gaps, is_linear=is_linear)
    left = unexplained(curves, [common, *waves])
    tolerance = (_UNEXPLAINED if is_linear else _UNEXPLAINED_OF_SQUARES) + 2 * rounding
    fits = [] if left <= tolerance else _fitting(trial.spec, curves, gaps, tolerance, is_linear=is_linear)
    yield Comparison(
        what="outputs do not rotate with distance at the declared rates" + (f", but {fits[0]}" if fits else ""),
        error=left,
        tolerance=tolerance,
        place={"distances": len(gaps)},
    )
    without = unexplained_without(curves, common, waves) if left <= tolerance else []
    absent = [index for index, rest in enumerate(without) if rest is not None and rest < _ABSENT]
    yield Comparison(
        what=f"nothing rotates at the declared rate {declared[absent[0]]:.3g}" if absent else "every rate is present",
        error=float(len(absent)),
        tolerance=0.0,
        place={"absent": len(absent)},
        is_yes_no=True,
    )


def _rates(spec: Spec) -> np.ndarray:
    return spec.rotary_code.frequencies(spec.head_width)


def _waves(rates: np.ndarray, gaps: np.ndarray) -> list[np.ndarray]:
    """cos and sin of each rate [distance, 2]."""
    return [np.stack([np.cos(rate * gaps), np.sin(rate * gaps)], axis=1) for rate in rates]


def _common(rates: np.ndarray, gaps: np.ndarray, *, is_linear: bool) -> np.ndarray:
    """What else may be in the curves [distance, column]: a constant, and products of two waves."""
    common = [np.ones((len(gaps), 1))]
    if not is_linear:
        pairs = [(i, j) for i in range(len(rates)) for j in range(i + 1)]
        beats = {abs(rates[i] + sign * rates[j]) for i, j in pairs for sign in (1, -1)} - {0.0}
        common += _waves(np.array(sorted(beats)), gaps)
    return np.concatenate(common, axis=1)


def _curves(trial: LawTrial, gaps: np.ndarray) -> tuple[np.ndarray, bool, float]:
    """Outputs by distance [distance, draw · width], whether they are linear in the logits, and their rounding."""
    x = trial.inputs(length=2)
    silence = _called(trial, x, gaps, 0.0)
    loud = _small_amplitude(trial, x, gaps)
    if loud is None:
        # Layers that form their softmax in float32 round most of what a tiny step changes.
        short, long = (_slope(trial, _zero_query(x), gaps, step) for step in (_TINY, 2 * _TINY))
        return long, False, float(np.linalg.norm(short - long)) / _spread(long)
    # In powers of the amplitude, each quotient is y₁ + a² y₃ + a⁴ y₅ …; differences leave only y₃.
    one, two, four = ((_called(trial, x, gaps, loud / part) - silence) / (loud / part) for part in (1, 2, 4))
    curves = 16 * (two - four) - (one - two)
    return curves.transpose(1, 0, 2).reshape(len(gaps), -1), True, 0.0


def _slope(trial: LawTrial, x: np.ndarray, gaps: np.ndarray, step: float) -> np.ndarray:
    up, down = (_called(trial, x, gaps, sign * step) for sign in (1, -1))
    return ((up - down) / step).transpose(1, 0, 2).reshape(len(gaps), -1)


def _spread(curves: np.ndarray) -> float:
    return max(float(np.linalg.norm(curves - curves.mean(axis=0))), 1e-300)


def _small_amplitude(trial: LawTrial, x: np.ndarray, gaps: np.ndarray) -> float | None:
    """The amplitude at which a hundredth of the output follows the distance; None if biases alone achieve that."""
    loud = 1.0
    for _ in range(3):
        loud *= min((_SHARE / max(_share(trial, x, gaps, loud), _ALIVE)) ** 0.5, 10.0)
    ratio = _share(trial, x, gaps, loud / 2) / max(_share(trial, x, gaps, loud), 1e-300)
    if abs(4 * ratio - 1) > _QUADRATIC:
        if not _LEAST < _share(trial, _zero_query(x), gaps, _TINY) < _MOST or len(_rates(trial.spec)) > _FEW:
            raise NotTried("small inputs do not make small logits, as with normalization or large biases")
        return None
    return loud


def _zero_query(x: np.ndarray) -> np.ndarray:
    """The tokens with a zero in second place, whose query is its bias alone: normalizing zero gives no logits."""
    return np.concatenate([x[:, :1], np.zeros_like(x[:, 1:])], axis=1)


def _share(trial: LawTrial, x: np.ndarray, gaps: np.ndarray, loud: float) -> float:
    """How much of the output follows the distance; with a sink, the output of zero tokens follows it too."""
    y = _called(trial, x, gaps, loud) - _called(trial, x, gaps, 0.0)
    middle = np.broadcast_to(y.mean(axis=1, keepdims=True), y.shape)
    return distance(y, middle) / max(float(np.abs(y).max()), 1e-300)


def _called(trial: LawTrial, x: np.ndarray, gaps: np.ndarray, loud: float) -> np.ndarray:
    """The second token's output for every draw and distance [draw, distance, width]."""
    tokens = np.repeat((loud * x).astype(x.dtype), len(gaps), axis=0)
    places = np.tile(np.stack([np.zeros_like(gaps), gaps], axis=1), (len(x), 1))
    y = trial.call(tokens, positions=places, **ones_mask(trial.subject, tokens))[:, 1]
    return y.astype(np.float64).reshape(len(x), len(gaps), -1)


def _fitting(spec: Spec, curves: np.ndarray, gaps: np.ndarray, tolerance: float, *, is_linear: bool) -> list[str]:
    """Codes whose rates explain the curves, in words."""
    width, base = spec.rotary_width or spec.head_width, spec.rotary_base
    exponents = np.arange(0, width, 2) / width
    known = {f"at those of base {each:g}": each**-exponents for each in _BASES}
    known |= {
        f"at those of {each} coordinates": base ** (-np.arange(0, each, 2) / each)
        for each in (spec.head_width, width // 2, 2 * width)
        if each > 1
    }
    known["at those of exponents twice as large"] = base ** (-2 * exponents)
    known["at those of exponents half as large"] = base ** (-exponents / 2)
    known["at those of angles in degrees"] = base**-exponents * np.pi / 180
    left = {
        words: unexplained(curves, [_common(rates, gaps, is_linear=is_linear), *_waves(rates, gaps)])
        for words, rates in known.items()
    }
    return [words for words, rest in left.items() if rest <= tolerance]


def unexplained(curves: np.ndarray, columns: list[np.ndarray]) -> float:
    """The part of the columns of `curves` [place, curve] that is no sum of the given columns, of their spread."""
    return _residual(curves, columns) / _spread(curves)


def unexplained_without(curves: np.ndarray, common: np.ndarray, groups: list[np.ndarray]) -> list[float | None]:
    """What stays unexplained without each group of columns; None for a group that the others can replace."""
    found: list[float | None] = []
    for number, group in enumerate(groups):
        others = [common, *groups[:number], *groups[number + 1 :]]
        is_its_own = _residual(group, others) > _OWN_SHARE * float(np.linalg.norm(group))
        found.append(unexplained(curves, others) if is_its_own else None)
    return found


def _residual(curves: np.ndarray, columns: list[np.ndarray]) -> float:
    """The size of what the columns leave of the curves.

    By Gram-Schmidt, twice for each column: products this small stay on one thread, where a decomposition of the whole
    matrix would wait for others.
    """
    basis = np.zeros((len(curves), 0))
    for column in np.concatenate(columns, axis=1).T:
        own = column
        for _ in range(2):
            own = own - basis @ (basis.T @ own)
        if np.linalg.norm(own) > _ROUNDING * np.linalg.norm(column):
            basis = np.column_stack([basis, own / np.linalg.norm(own)])
    return float(np.linalg.norm(curves - basis @ (basis.T @ curves)))


def _applies(spec: Spec) -> str | None:
    if spec.window == 1 and spec.positions == "rotary":
        return "only for windows that contain another token; the window is 1"
    return only_if(positions="rotary")(spec) or (None if spec.depth == 1 else f"rates mix in {spec.depth} layers")


class _OtherBase(ReferenceLayer):
    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return Rotary(base=1e3).rotate(heads, positions[:, None, :])


LAW = Law(
    id="RATES",
    statement="between small tokens, outputs rotate with distance at all declared rates and at no others",
    family="rotary",
    rank=210,
    needs=("positions",),
    applies=_applies,
    compare=_compare,
    means=Diagnosis("rotary", "the rates of rotation are not the declared ones"),
    reveals=(BlindSpot.ROTARY_RATES,),
    broken_example=lambda: _OtherBase(Spec(causal=True, positions="rotary"), name="base 1000 instead of 10000"),
    suspects=("a wrong base, exponent or number of coordinates", "angles in the wrong unit"),
    size=InputSize(batch=3, length=2),
)
