"""RotaryFit of pairs of numbers that explain the weights that were read."""

from dataclasses import dataclass

import numpy as np

from regard.conformance.fits import Logits
from regard.conformance.readings import WeightReading

# Above this width only entries that known pairings use are solved for.
_WIDEST_FULL = 32
_EXPLAINED = 3e-4
# An angle below this may be noise.
_SEEN = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class RotaryFit:
    """How one head turns: which numbers pair up, and the angle of each pair from one position to the next."""

    layout: str
    width: int
    frequencies: np.ndarray
    base: float | None
    is_backward: bool


def fitted_turns(readings: dict[int, WeightReading], logits: Logits, heads_of: np.ndarray) -> RotaryFit | None:
    """The turn that explains head 0 at several gaps; None if no pairing does."""
    gaps = sorted(readings)
    forms = _forms([readings[gap] for gap in gaps], logits, int(heads_of[0]))
    return None if forms is None else _turns_of(forms, gaps)


def scale_and_turns(reading: WeightReading, heads_of: np.ndarray) -> tuple[float, RotaryFit | None] | None:
    """Scale and turn together, from neighbours alone: log α/β = q·Ak₀ − s q·k₁ in head 0, without a cap."""
    pairs, key_head = reading.pairs, int(heads_of[0])
    queries, first, second = pairs.queries[:, 0], pairs.keys[:, key_head, 0], pairs.keys[:, key_head, 1]
    rows, columns = _entries(queries.shape[1])
    own = np.sum(queries * second, axis=-1, keepdims=True)
    solved = _solved(np.concatenate([queries[:, rows] * first[:, columns], -own], axis=1), reading.ratios()[:, :1])
    if solved is None:
        return None
    scale, form = float(solved[-1, 0]), np.zeros((1, queries.shape[1], queries.shape[1]))
    form[0, rows, columns] = solved[:-1, 0] / scale
    return scale, _turns_of(form, [1])


def _turns_of(forms: np.ndarray, gaps: list[int]) -> RotaryFit | None:
    cross = (forms[0] - forms[0].T) / 2
    partner = int(np.argmax(np.abs(cross[0])))
    width = forms.shape[1]
    pairs = (
        [(i, i + 1) for i in range(0, width - 1, 2)]
        if partner == 1
        else [(i, i + partner) for i in range(partner) if i + partner < width]
    )
    turned = [pair for pair in pairs if any(_angle(form, pair)[1] > _SEEN for form in forms)]
    turned = pairs[: len(turned) + _unseen(forms, turned, pairs, gaps)] if turned == pairs[: len(turned)] else turned
    if partner == 0 or turned != pairs[: len(turned)] or (partner > 1 and len(turned) != partner):
        return None
    angles = np.array([_unwrapped([_angle(form, pair)[0] for form in forms], gaps) for pair in turned])
    layout = "interleaved" if partner == 1 and width > 2 else "half-split"
    return RotaryFit(
        layout=layout,
        width=2 * len(turned),
        frequencies=np.abs(angles),
        base=_base(np.abs(angles), gaps[-1]),
        is_backward=bool(angles[0] < 0),
    )


def _unseen(forms: np.ndarray, turned: list[tuple[int, int]], pairs: list[tuple[int, int]], gaps: list[int]) -> int:
    """How many pairs more would turn too slowly to be seen, if frequencies go on as they begin."""
    if len(turned) < 2 or len(turned) == len(pairs):
        return 0
    first, second = (abs(_unwrapped([_angle(form, pair)[0] for form in forms], gaps)) for pair in turned[:2])
    slow = first * (second / first) ** len(turned) * gaps[-1]
    return len(pairs) - len(turned) if slow < 3 * _SEEN else 0


def _forms(readings: list[WeightReading], logits: Logits, key_head: int) -> np.ndarray | None:
    """B of q·Bk = (first logit) / s at each gap [gap, width, width]; None if no such form explains the ratios."""
    pairs = readings[0].pairs
    queries, first, second = pairs.queries[:, 0], pairs.keys[:, key_head, 0], pairs.keys[:, key_head, 1]
    rows, columns = _entries(queries.shape[1])
    own = logits.of(np.sum(queries * second, axis=-1))
    wanted = np.stack([logits.dots(each.ratios()[:, 0] + own) / logits.scale for each in readings], axis=1)
    solved = _solved(queries[:, rows] * first[:, columns], wanted)
    if solved is None:
        return None
    forms = np.zeros((len(readings), queries.shape[1], queries.shape[1]))
    forms[:, rows, columns] = solved.T
    return forms


def _solved(design: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """The linear map that gives what is wanted, None if there is none.

    Products of drawn numbers are well conditioned, so the normal equations, which are quick, lose nothing.
    """
    known = np.isfinite(wanted).all(axis=1)
    if known.sum() < design.shape[1]:
        return None
    solved = np.linalg.solve(design[known].T @ design[known], design[known].T @ wanted[known])
    left = np.std(design[known] @ solved - wanted[known]) / max(float(np.std(wanted[known])), 1e-300)
    return solved if left < _EXPLAINED else None


def _entries(width: int) -> tuple[np.ndarray, np.ndarray]:
    """The entries of a form to solve for: all, or in wide heads those of pairings by parts of the width."""
    rows, columns = (each.ravel() for each in np.indices((width, width)))
    if width <= _WIDEST_FULL:
        return rows, columns
    offsets = [0, 1, *{width // 2, width // 4, width // 8, 3 * width // 8, width // 16}]
    chosen = np.isin(np.abs(rows - columns), offsets)
    return rows[chosen], columns[chosen]


def pairs_needed(width: int) -> int:
    """How many pairs of tokens determine a form."""
    return 2 * len(_entries(width)[0]) + 40


def _angle(form: np.ndarray, pair: tuple[int, int]) -> tuple[float, float]:
    """The angle by which a pair is turned, and how far that is from not at all."""
    i, j = pair
    cos, sin = (form[i, i] + form[j, j]) / 2, (form[i, j] - form[j, i]) / 2
    return float(np.arctan2(sin, cos)), float(np.hypot(cos - 1, sin))


def _unwrapped(angles: list[float], gaps: list[int]) -> float:
    """The angle of one position, from angles over growing gaps of which only the remainder is seen."""
    found = angles[0] / gaps[0]
    for angle, gap in zip(angles[1:], gaps[1:], strict=True):
        found = (angle + 2 * np.pi * np.round((found * gap - angle) / (2 * np.pi))) / gap
    return float(found)


def _base(frequencies: np.ndarray, largest_gap: int) -> float | None:
    """B of θ_i = B^{−2i/d}; None if there is one pair only or the frequencies follow no such rule."""
    count = len(frequencies)
    if count < 2 or not (frequencies > 0).all():
        return None
    index = np.arange(count)
    trust = (index / count * np.minimum(1, frequencies * largest_gap)) ** 2
    logarithm = float(np.sum((trust * -np.log(frequencies) * count / np.maximum(index, 1))[1:]) / np.sum(trust[1:]))
    expected = np.exp(-logarithm * index / count)
    seen = frequencies * largest_gap > 1e-2
    if logarithm <= 0 or not (np.abs(frequencies / expected - 1) < 2e-2)[seen].all():
        return None
    return float(np.exp(logarithm))
