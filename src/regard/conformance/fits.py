"""What explains the weights that were read: a scale, a softcap, a sink, or slopes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from regard.conformance.readings import WeightReading

_CAPS = np.geomspace(0.5, 500, 121)
# A cap is believed if it explains this many times more than none does.
_BETTER = 100.0


@dataclass(frozen=True, kw_only=True)
class Logits:
    """z = C tanh(s q·k / C), or s q·k without a cap; `left` is the largest part of the ratios not explained."""

    scale: float
    softcap: float | None
    left: float

    def of(self, dots: np.ndarray) -> np.ndarray:
        """Logits of these dot products."""
        cap = self.softcap
        return self.scale * dots if cap is None else cap * np.tanh(self.scale * dots / cap)

    def dots(self, logits: np.ndarray) -> np.ndarray:
        """s q·k behind these logits."""
        if self.softcap is None:
            return logits
        return self.softcap * np.arctanh(np.clip(logits / self.softcap, -1 + 1e-12, 1 - 1e-12))


def dots(reading: WeightReading, heads_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q·k₀ and q·k₁ [pair, head]."""
    queries, keys = reading.pairs.queries, reading.pairs.keys[:, heads_of]
    return np.sum(queries * keys[:, :, 0], axis=-1), np.sum(queries * keys[:, :, 1], axis=-1)


def key_map(reading: WeightReading) -> np.ndarray:
    """The key head whose differences each head's ratios follow best."""
    ratios, pairs = reading.ratios(), reading.pairs
    found = []
    for head in range(ratios.shape[1]):
        known = np.isfinite(ratios[:, head])
        gaps = pairs.keys[:, :, 0] - pairs.keys[:, :, 1]
        each = np.einsum("nd,ngd->gn", pairs.queries[known, head], gaps[known])
        found.append(int(np.argmax([abs(np.corrcoef(row, ratios[known, head])[0, 1]) for row in each])))
    return np.array(found)


def fitted_logits(reading: WeightReading, near: WeightReading, heads_of: np.ndarray) -> Logits:
    """Scale and cap from head 0: ratios of ordinary pairs, and of loud ones that are near each other."""
    data = []
    for each in (reading, near):
        (first, second), ratios = dots(each, heads_of), each.ratios()
        known = np.isfinite(ratios[:, 0])
        data.append((first[known, 0], second[known, 0], ratios[known, 0]))
    a, b, ratio = (np.concatenate(parts) for parts in zip(*data, strict=True))
    plain = _scale_under(a, b, ratio, None)
    caps = [_scale_under(a, b, ratio, float(cap)) for cap in _CAPS]
    best = min(range(len(caps)), key=lambda index: caps[index][1])
    low, high = _CAPS[max(best - 1, 0)], _CAPS[min(best + 1, len(_CAPS) - 1)]
    cap = _golden(lambda size: _scale_under(a, b, ratio, size)[1], float(low), float(high))
    capped = _scale_under(a, b, ratio, cap)
    scale, error, softcap = (*plain, None) if plain[1] < _BETTER * capped[1] else (*capped, cap)
    return Logits(scale=scale, softcap=softcap, left=float(np.sqrt(error) / max(float(np.std(ratio)), 1e-300)))


def _scale_under(a: np.ndarray, b: np.ndarray, ratio: np.ndarray, cap: float | None) -> tuple[float, float]:
    """The scale that fits best under a cap, by Gauss-Newton from small dots, and the mean square left."""
    quiet = np.abs(a) + np.abs(b) <= np.median(np.abs(a) + np.abs(b))
    gaps = a - b
    scale = float(np.sum((gaps * ratio)[quiet]) / np.sum((gaps**2)[quiet]))
    for _ in range(12):
        model, slope = _model(a, b, scale, cap)
        step = float(np.sum(slope * (ratio - model)) / max(float(np.sum(slope**2)), 1e-300))
        scale += step
        if abs(step) < 1e-12 * abs(scale):
            break
    return scale, float(np.mean((ratio - _model(a, b, scale, cap)[0]) ** 2))


def _model(a: np.ndarray, b: np.ndarray, scale: float, cap: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Ratios under a scale and a cap, and their derivative by the scale."""
    if cap is None:
        return scale * (a - b), a - b
    top, bottom = np.tanh(scale * a / cap), np.tanh(scale * b / cap)
    return cap * (top - bottom), a * (1 - top**2) - b * (1 - bottom**2)


def _golden(function: Callable[[float], float], low: float, high: float) -> float:
    """The place of a minimum between two numbers."""
    ratio = (5**0.5 - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    for _ in range(60):
        if function(left) < function(right):
            high, right = right, left
            left = high - ratio * (high - low)
        else:
            low, left = left, right
            right = low + ratio * (high - low)
    return (low + high) / 2


def sink_logits(reading: WeightReading, logits: Logits, heads_of: np.ndarray) -> np.ndarray | None:
    """The logit of a key without a value in each head, None if the weights sum to one."""
    rest = 1 - reading.first - reading.second
    if not (np.median(rest, axis=0) > 1e-4).any():
        return None
    second = logits.of(dots(reading, heads_of)[1])
    return np.median(np.log(np.maximum(rest, 1e-300) / reading.second) + second, axis=0)


def fitted_slopes(there: WeightReading, logits: Logits, heads_of: np.ndarray, gap: int) -> tuple[np.ndarray, float]:
    """What each head's logits lose with each position of distance, and the largest part that is no such loss."""
    first, second = (logits.of(each) for each in dots(there, heads_of))
    losses = -(there.ratios() - first + second)
    return np.nanmedian(losses, axis=0) / gap, float(np.nanmax(np.nanstd(losses, axis=0)))


def scale_and_losses(reading: WeightReading, heads_of: np.ndarray) -> tuple[float, np.ndarray, float]:
    """One scale, a loss of each head's first logits, and the part of the ratios that these leave unexplained."""
    (first, second), ratios = dots(reading, heads_of), reading.ratios()
    rows, losses, left = [], [], 0.0
    for head in range(ratios.shape[1]):
        known = np.isfinite(ratios[:, head])
        design = np.stack([(first - second)[known, head], np.ones(int(known.sum()))], axis=1)
        solved = np.linalg.lstsq(design, ratios[known, head], rcond=None)[0]
        rest = ratios[known, head] - design @ solved
        left = max(left, float(np.std(rest) / max(float(np.std(ratios[known, head])), 1e-300)))
        rows.append(float(solved[0]))
        losses.append(-float(solved[1]))
    return float(np.median(rows)), np.array(losses), left
