"""Chart scales: from numbers to coordinates, with ticks at round numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Float
from regard.render.figures import Axis

# A number beyond the first is drawn as a gap; an axis beyond the second would overflow.
_MAX_VALUE, _MAX_END = 1e290, 1e300
# On a logarithmic axis, the ratio of any two numbers must be finite.
_MIN_LOG, _MAX_LOG = 1e-140, 1e140
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MINUS, _THIN_SPACE = "\N{MINUS SIGN}", "\N{THIN SPACE}"
_MARGIN = 0.05


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Maps numbers from `lower` to `upper` onto coordinates from `start` to `end`, linearly or logarithmically.

    >>> float(Scale(lower=1.0, upper=100.0, start=0.0, end=50.0, is_log=True)(10.0))
    25.0
    """

    lower: float
    upper: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, values: float | Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The coordinate of each value; NaN if it cannot be drawn."""
        numbers, lower, upper = finite(values, is_log=self.is_log), self.lower, self.upper
        if self.is_log:
            numbers, lower, upper = np.log10(numbers), math.log10(lower), math.log10(upper)
        return np.asarray(self.start + (numbers - lower) / (upper - lower) * (self.end - self.start))


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A round number on an axis, and its label."""

    at: float
    label: str


def finite(values: float | Sequence[float] | np.ndarray, *, is_log: bool) -> Float[np.ndarray, "..."]:
    """The numbers as floats, NaN for each one that cannot be drawn."""
    numbers = np.asarray(values, dtype=float)
    least, most = (_MIN_LOG, _MAX_LOG) if is_log else (-_MAX_VALUE, _MAX_VALUE)
    return np.where((numbers >= least) & (numbers <= most), numbers, np.nan)


def scale_of(
    axis: Axis, values: Float[np.ndarray, " value"], *, start: float, end: float, is_padded: bool = False
) -> Scale:
    """A scale that covers all values, unless the axis sets its ends; `is_padded` leaves a margin at both ends."""
    known = finite(values, is_log=axis.is_log)
    known = known[~np.isnan(known)]
    lower, upper = (float(known.min()), float(known.max())) if known.size else (1.0, 10.0)
    if not axis.is_log and is_padded:
        lower, upper = _padded(lower, upper)
    if axis.is_log:
        lower, upper = _apart_by_factor(lower, upper, is_padded=is_padded)
    lower = lower if axis.lower is None else float(axis.lower)
    upper = upper if axis.upper is None else float(axis.upper)
    if axis.lower is None and lower >= upper:
        lower = upper / 10 if axis.is_log else upper - max(1.0, abs(upper))
    if axis.upper is None and upper <= lower:
        upper = lower * 10 if axis.is_log else lower + max(1.0, abs(lower))
    _ensure_sensible(axis, lower, upper)
    return Scale(lower=lower, upper=upper, start=start, end=end, is_log=axis.is_log)


def _ensure_sensible(axis: Axis, lower: float, upper: float) -> None:
    if not (lower < upper and abs(lower) <= _MAX_END and abs(upper) <= _MAX_END):
        raise ValueError(
            f"The axis '{axis.label}' runs from {lower:g} to {upper:g}. Give finite ends in increasing order."
        )
    if axis.is_log and lower <= 0:
        raise ValueError(f"The axis '{axis.label}' is logarithmic and cannot start at {lower:g}. Start above 0.")


def _padded(lower: float, upper: float) -> tuple[float, float]:
    """Adds a margin at both ends, snaps an end to a nearby zero, and widens an interval of almost no length."""
    if upper - lower <= 1e-9 * max(abs(lower), abs(upper)) or upper == lower:
        reach = max(abs(upper) / 2, abs(lower) / 2, 1e-3 if upper == 0 else 0.0) or 1.0
        lower, upper = lower - reach, upper + reach
    margin = _MARGIN * (upper - lower)
    begins_at_zero, ends_at_zero = 0 <= lower <= upper / 2, 0 >= upper >= lower / 2
    return (0.0 if begins_at_zero else lower - margin), (0.0 if ends_at_zero else upper + margin)


def _apart_by_factor(lower: float, upper: float, *, is_padded: bool) -> tuple[float, float]:
    are_equal = upper / lower < 1 + 1e-9
    margin = 3.0 if are_equal else (upper / lower) ** (_MARGIN if is_padded else 0.0)
    return max(lower / margin, _MIN_LOG), min(upper * margin, _MAX_LOG)


def ticks(scale: Scale, most: int = 6) -> list[Tick]:
    """About `most` round numbers on the scale, in increasing order: 1-2-5 steps, or powers of ten.

    >>> [tick.label for tick in ticks(Scale(lower=-1.0, upper=1.0, start=0.0, end=1.0), most=5)]
    ['−1.0', '−0.5', '0', '0.5', '1.0']
    """
    if scale.is_log:
        found = _decades(scale, most)
        if len(found) >= 2:
            return found
    return _even_steps(scale.lower, scale.upper, most)


def _even_steps(lower: float, upper: float, most: int) -> list[Tick]:
    rough = (upper - lower) / max(most - 0.5, 1)
    power = 10.0 ** math.floor(math.log10(rough)) if rough >= 1e-300 else 0.0
    if power == 0.0:
        return [Tick(at=lower, label=number_label(lower, abs(lower) or 1.0))]
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(lower / step - 1e-9), math.floor(upper / step + 1e-9)
    if last - first > 4 * most:
        # The numbers are so large that rounding swallows the steps between them.
        return [Tick(at=end, label=number_label(end, abs(end))) for end in (lower, upper)]
    places = [min(max(index * step, lower), upper) for index in range(first, last + 1)]
    largest = max((abs(place) for place in places), default=0.0)
    return [
        Tick(at=place, label=number_label(index * step, step, largest=largest))
        for index, place in zip(range(first, last + 1), places, strict=True)
    ]


def _decades(scale: Scale, most: int) -> list[Tick]:
    first, last = math.log10(scale.lower), math.log10(scale.upper)
    powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    if len(powers) >= 3:
        stride = next(s for s in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if len(powers) <= s * most)
        kept = [power for power in powers if power % stride == 0]
        is_plain = all(-3 <= power <= 4 for power in kept)
        return [
            Tick(at=_clamped(10.0**p, scale), label=number_label(10.0**p, 10.0**p) if is_plain else _power_of_ten(p))
            for p in kept
        ]
    places = [factor * 10.0**power for power in range(math.floor(first), math.floor(last) + 1) for factor in (1, 2, 5)]
    inside = [place for place in places if scale.lower * (1 - 1e-9) <= place <= scale.upper * (1 + 1e-9)]
    return [Tick(at=_clamped(place, scale), label=number_label(place, place)) for place in inside]


def _clamped(place: float, scale: Scale) -> float:
    return min(max(place, scale.lower), scale.upper)


def _power_of_ten(power: int) -> str:
    return f"10{str(power).translate(_SUPERSCRIPTS)}"


def number_label(value: float, step: float, *, largest: float | None = None) -> str:
    """The number with as many digits as steps of this size need.

    >>> number_label(-0.25, 0.05), number_label(12000.0, 1000.0), number_label(3e8, 1e8)
    ('−0.25', '12\N{THIN SPACE}000', '3×10⁸')
    """
    largest = max(abs(value), abs(step)) if largest is None else largest
    fine = math.floor(math.log10(step) + 1e-9) if step > 0 else 0
    if value == 0:
        return "0"
    if largest >= 1e6 or fine < -4:
        return _scientific(value, fine)
    text = f"{value:,.{max(-fine, 0)}f}"
    text = text.replace(",", _THIN_SPACE if abs(value) >= 10_000 else "")
    return text.replace("-", _MINUS)


def _scientific(value: float, fine: int) -> str:
    power = math.floor(math.log10(abs(value)) + 1e-12)
    digits = min(max(power - fine, 0), 12)
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    mantissa = mantissa.replace("-", _MINUS)
    raised = _power_of_ten(int(exponent))
    return raised if mantissa == "1" else f"{_MINUS}{raised}" if mantissa == f"{_MINUS}1" else f"{mantissa}×{raised}"
