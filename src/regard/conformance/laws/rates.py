"""Tokens turn at the declared rates."""

from collections.abc import Iterator

import numpy as np

from regard.conformance.law import Comparison, InputSize, Law, LawTrial, NotTried, distance
from regard.conformance.masking import ones_mask
from regard.conformance.reference_layer import ReferenceLayer
from regard.conformance.rounding import in_float64
from regard.conformance.spans import left_over, needed
from regard.conformance.subject import Spec, Subject
from regard.positions.rotary import Rotary

# Every distance up to the first number, then some up to the second, where slow pairs have turned too.
_NEAR, _FAR, _NUM_FAR = 48, 1000, 48
# How much of the output follows the distance; the logits are then small, and so is what is not linear in them.
_SHARE = 1e-2
_QUIET = 0.3
_ALIVE = 1e-9
_TINY = 1e-3
# Where biases make logits of their own: shares that are more than rounding and at which squares of logits are all there
# is besides, and the number of rates whose sums and differences can still be told from other rates.
_LEAST, _MOST, _FEW = 1e-3, 0.15, 6
# The part of the curve that other rates may explain better, and the part that every rate must have in it.
_LEFT, _LEFT_OF_SQUARES = 2e-2, 5e-3
_ABSENT = 2e-3
# Bases of public models, tried for a name where the declared one does not fit.
_BASES = (100.0, 500.0, 1e3, 1e4, 2.5e4, 5e4, 1e5, 1.5e5, 5e5, 1e6, 5e6, 1e7)


def _compare(trial: LawTrial) -> Iterator[Comparison]:
    """Two quiet tokens at growing distance: what the second gives is a sum of cos θ_i g and sin θ_i g, every i needed.

    For small logits z the output is linear in them: y = v̄ + Σ_h z_h(g) (v₀ − v₁)_h / 4 + O(z²), and z_h(g) turns with
    the pairs of coordinates. Other weights change the amplitudes, not the rates. Biases of queries and keys leave
    logits that do not vanish: there, sums and differences of two rates are allowed besides.
    """
    if trial.size.length < 2:
        return
    trial = in_float64(trial)
    gaps, declared = _gaps(trial.spec), _rates(trial.spec)
    share = _share(trial, trial.inputs(length=2), gaps, 1.0)
    if not share > _ALIVE:
        yield Comparison(what="turning with distance", error=0.0 * share, tolerance=_LEFT, control=0.0)
        return
    curves, is_linear = _curves(trial, gaps)
    waves, common = _waves(declared, gaps), _common(declared, gaps, is_linear=is_linear)
    left = left_over(curves, [common, *waves])
    tolerance = _LEFT if is_linear else _LEFT_OF_SQUARES
    fits = [] if left <= tolerance else _fitting(trial.spec, curves, gaps, is_linear=is_linear)
    yield Comparison(
        what="outputs do not turn with distance at the declared rates" + (f", but {fits[0]}" if fits else ""),
        error=left,
        tolerance=tolerance,
        place={"distances": len(gaps)},
        signature={"fits": fits},
    )
    without = needed(curves, common, waves) if left <= tolerance else []
    absent = [index for index, rest in enumerate(without) if rest is not None and rest < _ABSENT]
    yield Comparison(
        what=f"nothing turns at the declared rate {declared[absent[0]]:.3g}" if absent else "turning at every rate",
        error=float(len(absent)),
        tolerance=0.0,
        place={"absent": len(absent)},
        signature={"absent": absent},
    )


def _gaps(spec: Spec) -> np.ndarray:
    far = np.geomspace(_NEAR, _FAR, _NUM_FAR).round().astype(int)
    gaps = np.unique(np.concatenate([np.arange(_NEAR), far]))
    return gaps[gaps < (spec.max_positions or _FAR + 1)]


def _rates(spec: Spec) -> np.ndarray:
    width = spec.rotary_width or spec.head_width
    return spec.rotary_base ** (-np.arange(0, width, 2) / width)


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


def _curves(trial: LawTrial, gaps: np.ndarray) -> tuple[np.ndarray, bool]:
    """Outputs by distance [distance, draw · width], and whether they are linear in the logits."""
    x = trial.inputs(length=2)
    silence = _called(trial, x, gaps, 0.0)
    loud = _quieted(trial, x, gaps)
    if loud is None:
        one, other = (_called(trial, _asking_nothing(x), gaps, sign * _TINY) for sign in (1, -1))
        return ((one - other) / _TINY).transpose(1, 0, 2).reshape(len(gaps), -1), False
    # The sum over powers of the loudness is y₁ + l² y₃ + l⁴ y₅ …; differences leave y₃ alone.
    one, two, four = ((_called(trial, x, gaps, loud / part) - silence) / (loud / part) for part in (1, 2, 4))
    curves = 16 * (two - four) - (one - two)
    return curves.transpose(1, 0, 2).reshape(len(gaps), -1), True


def _quieted(trial: LawTrial, x: np.ndarray, gaps: np.ndarray) -> float | None:
    """The loudness at which a hundredth of the output follows the distance; None if biases make it that without any."""
    loud = 1.0
    for _ in range(3):
        loud *= min((_SHARE / max(_share(trial, x, gaps, loud), _ALIVE)) ** 0.5, 10.0)
    ratio = _share(trial, x, gaps, loud / 2) / max(_share(trial, x, gaps, loud), 1e-300)
    if abs(4 * ratio - 1) > _QUIET:
        if not _LEAST < _share(trial, _asking_nothing(x), gaps, _TINY) < _MOST or len(_rates(trial.spec)) > _FEW:
            raise NotTried("logits stay as they are for quiet inputs, as norms and large biases make them")
        return None
    return loud


def _asking_nothing(x: np.ndarray) -> np.ndarray:
    """The tokens with a silent second one, whose query is its bias alone: norms of silence give no logits."""
    return np.concatenate([x[:, :1], np.zeros_like(x[:, 1:])], axis=1)


def _share(trial: LawTrial, x: np.ndarray, gaps: np.ndarray, loud: float) -> float:
    """How much of the output follows the distance; what silent tokens give follows it too if there is a sink."""
    y = _called(trial, x, gaps, loud) - _called(trial, x, gaps, 0.0)
    middle = np.broadcast_to(y.mean(axis=1, keepdims=True), y.shape)
    return distance(y, middle) / max(float(np.abs(y).max()), 1e-300)


def _called(trial: LawTrial, x: np.ndarray, gaps: np.ndarray, loud: float) -> np.ndarray:
    """The second token's output for every draw and distance [draw, distance, width]."""
    tokens = np.repeat((loud * x).astype(x.dtype), len(gaps), axis=0)
    places = np.tile(np.stack([np.zeros_like(gaps), gaps], axis=1), (len(x), 1))
    y = trial.subject.call(tokens, positions=places, **ones_mask(trial.subject, tokens))[:, 1]
    return y.astype(np.float64).reshape(len(x), len(gaps), -1)


def _fitting(spec: Spec, curves: np.ndarray, gaps: np.ndarray, *, is_linear: bool) -> list[str]:
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
        words: left_over(curves, [_common(rates, gaps, is_linear=is_linear), *_waves(rates, gaps)])
        for words, rates in known.items()
    }
    return [words for words, rest in left.items() if rest <= (_LEFT if is_linear else _LEFT_OF_SQUARES)]


class _OtherBase(ReferenceLayer):
    """Turns with the base of another model."""

    def rotate(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return Rotary(base=1e3).rotate(heads, positions[:, None, :])


def _broken_example() -> Subject:
    return _OtherBase(Spec(causal=True, positions="rotary"), name="base 1000 instead of 10000")


def _applies(spec: Spec) -> str | None:
    if spec.positions != "rotary":
        said = "nothing is declared" if spec.positions is None else f"it is {spec.positions}"
        return f"only for positions = rotary, and {said}"
    if spec.window == 1:
        return "only for windows that hold another token, and it is 1"
    return None if spec.depth == 1 else f"rates mix in {spec.depth} layers"


LAW = Law(
    id="RATES",
    statement="between quiet tokens, outputs turn with distance at the declared rates, each of them, and at no others",
    needs=("positions",),
    applies=_applies,
    compare=_compare,
    broken_example=_broken_example,
    suspects=("rotary: another base, exponent or number of coordinates", "rotary: the angles have another unit"),
    size=InputSize(batch=3, length=2),
)
