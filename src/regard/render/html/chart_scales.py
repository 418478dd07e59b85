"""Scales of charts: from numbers to places on paper, with ticks at round numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.core.axes import Float
from regard.render.figures import Axis

# Beyond the first, a number is drawn as a gap; beyond the second, an axis would overflow.
_LARGEST, _FARTHEST = 1e290, 1e300
# The ratio of two numbers must be finite where they are drawn by their logarithms.
_LEAST_BY_LOG, _LARGEST_BY_LOG = 1e-140, 1e140
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MINUS, _THIN_SPACE = "\N{MINUS SIGN}", "\N{THIN SPACE}"
_ROOM = 0.05


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Numbers from `lower` to `upper` laid out from `start` to `end`, evenly or by their logarithms.

    >>> float(Scale(lower=1.0, upper=100.0, start=0.0, end=50.0, is_log=True)(10.0))
    25.0
    """

    lower: float
    upper: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, values: float | Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Where each value lies; NaN where it has no place on the scale."""
        numbers, lower, upper = finite(values, is_log=self.is_log), self.lower, self.upper
        if self.is_log:
            numbers, lower, upper = np.log10(numbers), math.log10(lower), math.log10(upper)
        return np.asarray(self.start + (numbers - lower) / (upper - lower) * (self.end - self.start))


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A round number on an axis and how it is written; a minor one has only its line."""

    at: float
    label: str


def finite(values: float | Sequence[float] | np.ndarray, *, is_log: bool) -> Float[np.ndarray, "..."]:
    """The numbers as floats, NaN for each that cannot be drawn."""
    numbers = np.asarray(values, dtype=float)
    least, most = (_LEAST_BY_LOG, _LARGEST_BY_LOG) if is_log else (-_LARGEST, _LARGEST)
    return np.where((numbers >= least) & (numbers <= most), numbers, np.nan)


def scale_of(
    axis: Axis, values: Float[np.ndarray, " value"], *, start: float, end: float, is_padded: bool = False
) -> Scale:
    """A scale that holds all values unless the axis says how far it reaches; `is_padded` leaves room at its ends."""
    known = finite(values, is_log=axis.is_log)
    known = known[~np.isnan(known)]
    lower, upper = (float(known.min()), float(known.max())) if known.size else (1.0, 10.0)
    if not axis.is_log and is_padded:
        lower, upper = _roomy(lower, upper)
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
    if not (lower < upper and abs(lower) <= _FARTHEST and abs(upper) <= _FARTHEST):
        raise ValueError(f"The axis '{axis.label}' reaches from {lower:g} to {upper:g}. Give finite ends in order.")
    if axis.is_log and lower <= 0:
        raise ValueError(f"The axis '{axis.label}' is logarithmic and cannot begin at {lower:g}. Begin above 0.")


def _roomy(lower: float, upper: float) -> tuple[float, float]:
    """A little room at both ends; zero is an end if it is near, and numbers that are all but equal are kept apart."""
    if upper - lower <= 1e-9 * max(abs(lower), abs(upper)) or upper == lower:
        reach = max(abs(upper) / 2, abs(lower) / 2, 1e-3 if upper == 0 else 0.0) or 1.0
        lower, upper = lower - reach, upper + reach
    room = _ROOM * (upper - lower)
    begins_at_zero, ends_at_zero = 0 <= lower <= upper / 2, 0 >= upper >= lower / 2
    return (0.0 if begins_at_zero else lower - room), (0.0 if ends_at_zero else upper + room)


def _apart_by_factor(lower: float, upper: float, *, is_padded: bool) -> tuple[float, float]:
    are_equal = upper / lower < 1 + 1e-9
    room = 3.0 if are_equal else (upper / lower) ** (_ROOM if is_padded else 0.0)
    return max(lower / room, _LEAST_BY_LOG), min(upper * room, _LARGEST_BY_LOG)


def ticks(scale: Scale, most: int = 6) -> list[Tick]:
    """Round numbers on the scale in growing order, at most about so many: 1-2-5 steps, or powers of ten.

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
        return [Tick(at=lower, label=spoken(lower, abs(lower) or 1.0))]
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.ceil(lower / step - 1e-9), math.floor(upper / step + 1e-9)
    if last - first > 4 * most:
        # The numbers are so large that steps between them are lost to rounding.
        return [Tick(at=end, label=spoken(end, abs(end))) for end in (lower, upper)]
    places = [min(max(index * step, lower), upper) for index in range(first, last + 1)]
    largest = max((abs(place) for place in places), default=0.0)
    return [
        Tick(at=place, label=spoken(index * step, step, largest=largest))
        for index, place in zip(range(first, last + 1), places, strict=True)
    ]


def _decades(scale: Scale, most: int) -> list[Tick]:
    first, last = math.log10(scale.lower), math.log10(scale.upper)
    powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    if len(powers) >= 3:
        stride = next(s for s in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if len(powers) <= s * most)
        kept = [power for power in powers if power % stride == 0]
        is_plain = all(-3 <= power <= 4 for power in kept)
        return [Tick(at=_held(10.0**p, scale), label=_grouped(10.0**p) if is_plain else _power_of_ten(p)) for p in kept]
    places = [factor * 10.0**power for power in range(math.floor(first), math.floor(last) + 1) for factor in (1, 2, 5)]
    inside = [place for place in places if scale.lower * (1 - 1e-9) <= place <= scale.upper * (1 + 1e-9)]
    return [Tick(at=_held(place, scale), label=spoken(place, place)) for place in inside]


def _held(place: float, scale: Scale) -> float:
    return min(max(place, scale.lower), scale.upper)


def _grouped(value: float) -> str:
    return f"{value:,.12g}".replace(",", _THIN_SPACE if value >= 10_000 else "")


def _power_of_ten(power: int) -> str:
    return f"10{str(power).translate(_SUPERSCRIPTS)}"


def spoken(value: float, step: float, *, largest: float | None = None) -> str:
    """The number with as many digits as steps of this size need.

    >>> spoken(-0.25, 0.05), spoken(12000.0, 1000.0), spoken(3e8, 1e8)
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
