"""Attention weights read off a layer's outputs, and what explains them: scale, softcap, sinks, slopes or rotations.

Pairs of tokens go in. If the output of the second is α v₀ + β v₁, it gives the weights α and β as soon as the values
are known: they are drawn if attention itself can be called, and follow from the projections if only the layer can.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from regard.conformance.law import dtype_of
from regard.conformance.oracle import Oracle
from regard.conformance.subject import Spec, Subject

_SEED = 5
# A mixture of two values leaves nothing over but rounding, which is this share of its square.
_LEFT_OVER = 1e-6
# Smaller weights are lost in the rounding of the outputs.
_LEAST_WEIGHT, _LEAST_WEIGHT_FLOAT64 = 3e-3, 1e-8
_CAPS = np.geomspace(0.5, 500, 121)
# A cap is believed if it explains this many times more than no cap.
_BETTER = 100.0
# In wider heads, only the entries of known pairings are solved for.
_WIDEST_FULL = 32
_EXPLAINED = 3e-4
# A smaller rotation may be rounding.
_LEAST_ROTATION = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class TokenPairs:
    """Queries and outputs of the second token of each pair, by head, and the keys and values of both, by key head."""

    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    outputs: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightReading:
    """Weights α of the first token and β of the second [pair, head], and the key head that each head's value is of."""

    pairs: TokenPairs
    first: np.ndarray
    second: np.ndarray
    value_map: np.ndarray
    left_over: float
    least: float

    @property
    def is_clear(self) -> bool:
        """True if the outputs are mixtures of the two values, and both have weight."""
        return self.left_over < _LEFT_OVER and bool((np.median(self.first, axis=0) > self.least).all())

    def ratios(self) -> np.ndarray:
        """log α/β [pair, head]: the first logit minus the second; NaN where a weight is lost in rounding."""
        seen = (self.first > self.least) & (self.second > self.least)
        return np.log(np.where(seen, self.first, np.nan)) - np.log(np.where(seen, self.second, np.nan))

    def dots(self, key_heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q·k₀ and q·k₁ [pair, head]."""
        queries, keys = self.pairs.queries, self.pairs.keys[:, key_heads]
        return np.sum(queries * keys[:, :, 0], axis=-1), np.sum(queries * keys[:, :, 1], axis=-1)


class WeightReader:
    """Calls a layer on pairs of tokens.

    `has_gaps` is False if the second token always follows the first; `is_placed` says that positions can be given.
    """

    spec: Spec
    has_gaps: bool = True
    is_placed: bool = False

    def draw(self, count: int, *, factor: float = 1.0, is_near: bool = False) -> np.ndarray:
        """Tokens [pair, 2, …] for `read`; near ones have almost equal logits in head 0, however large the factor."""
        raise NotImplementedError

    def call(self, tokens: np.ndarray, gap: int | None) -> TokenPairs:
        """The layer on each pair, at a distance in positions if the layer takes positions."""
        raise NotImplementedError

    def read(self, tokens: np.ndarray, gap: int | None) -> WeightReading:
        """α and β by least squares, with the key head that leaves the least over."""
        pairs = self.call(tokens, gap)
        num_heads, num_shared = pairs.outputs.shape[1], pairs.values.shape[1]
        first, second = np.empty(pairs.outputs.shape[:2]), np.empty(pairs.outputs.shape[:2])
        value_map, worst = np.zeros(num_heads, dtype=int), 0.0
        for head in range(num_heads):
            found = [_mixture(pairs.outputs[:, head], pairs.values[:, shared]) for shared in range(num_shared)]
            best = int(np.argmin([left for _, _, left in found]))
            first[:, head], second[:, head], left = found[best]
            value_map[head], worst = best, max(worst, left)
        least = _LEAST_WEIGHT_FLOAT64 if self.spec.dtype == "float64" else _LEAST_WEIGHT
        return WeightReading(pairs=pairs, first=first, second=second, value_map=value_map, left_over=worst, least=least)


def reader_of(subject: Subject) -> WeightReader | None:
    """The way to read this subject's weights: through its projections, else through its core."""
    spec = subject.spec
    if subject.has("weights") and spec.depth == 1 and spec.head_width > 2:
        parts = subject.projections()
        if np.linalg.matrix_rank(np.asarray(parts.output, dtype=np.float64)) == parts.output.shape[0]:
            return _LayerReader(subject)
    if subject.has("core") and spec.head_width > 2:
        return _CoreReader(subject)
    return None


def _mixture(outputs: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The shares of two values in each output, and the square that they leave over, relative to the output's."""
    a, b = values[:, 0], values[:, 1]
    aa, bb, ab = (np.sum(p * q, axis=-1) for p, q in ((a, a), (b, b), (a, b)))
    ya, yb = np.sum(outputs * a, axis=-1), np.sum(outputs * b, axis=-1)
    area = aa * bb - ab**2
    alpha, beta = (ya * bb - yb * ab) / area, (yb * aa - ya * ab) / area
    rest = outputs - alpha[:, None] * a - beta[:, None] * b
    return alpha, beta, float(np.median(np.sum(rest**2, axis=-1)) / max(np.median(np.sum(outputs**2, axis=-1)), 1e-300))


class _LayerReader(WeightReader):
    """Reads through the projections of a layer."""

    def __init__(self, subject: Subject) -> None:
        parts = subject.projections()
        self.subject = subject
        self.spec = replace(subject.spec, num_kv_heads=max(parts.key.shape[1] // subject.spec.head_width, 1))
        self.oracle = Oracle(spec=self.spec, parts=parts)
        self.has_gaps = self.is_placed = subject.has("positions")
        output = self.oracle.linear("output")
        self.inverse, self.offset = np.linalg.pinv(output.weight), 0.0 if output.bias is None else output.bias
        self.unit = self._unit()

    def draw(self, count: int, *, factor: float = 1.0, is_near: bool = False) -> np.ndarray:
        rng = np.random.default_rng(_SEED)
        tokens = rng.standard_normal((count, 2, self.spec.width)) * self.unit * factor
        if is_near:
            query = self.oracle.heads(tokens, "query")[:, 0, 1]
            normal = query @ np.asarray(self.oracle.linear("key").weight)[:, : self.spec.head_width].T
            tokens[:, 0] = tokens[:, 1] + _beside(tokens[:, 0], normal, rng.standard_normal(count) / self.oracle.scale)
        return tokens

    def call(self, tokens: np.ndarray, gap: int | None) -> TokenPairs:
        places = np.broadcast_to(np.array([0, gap or 0]), tokens.shape[:2])
        options = {} if gap is None else {"positions": places}
        y = self.subject.call(tokens.astype(dtype_of(self.spec.dtype)), **options)[:, 1].astype(np.float64)
        parts = {part: self.oracle.heads(tokens, part) for part in ("query", "key", "value")}
        return TokenPairs(
            queries=parts["query"][:, :, 1],
            keys=parts["key"],
            values=parts["value"],
            outputs=((y - self.offset) @ self.inverse).reshape(len(tokens), self.spec.num_heads, -1),
        )

    def _unit(self) -> float:
        """What embeddings are multiplied by for logits of about one."""
        tokens = np.random.default_rng(_SEED).standard_normal((64, 1, self.spec.width))
        queries, keys = self.oracle.heads(tokens, "query"), self.oracle.heads(tokens, "key")
        size = np.sqrt(np.mean(queries**2) * np.mean(keys**2)) * self.spec.head_width**0.5 * self.oracle.scale
        return float(size**-0.5) if size > 0 else 1.0


class _CoreReader(WeightReader):
    """Reads attention itself, on random queries, keys and values."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.spec, self.is_placed = subject, subject.spec, subject.has("placed")

    def draw(self, count: int, *, factor: float = 1.0, is_near: bool = False) -> np.ndarray:
        """Queries, keys and values side by side [pair, 2, heads, width]."""
        spec, rng = self.spec, np.random.default_rng(_SEED)
        shared = spec.num_kv_heads or 1
        tokens = rng.standard_normal((count, 2, spec.num_heads + 2 * shared, spec.head_width))
        tokens[:, :, : spec.num_heads + shared] *= factor
        if is_near:
            query, key = tokens[:, 1, 0], tokens[:, :, spec.num_heads]
            key[:, 0] = key[:, 1] + _beside(key[:, 0], query, rng.standard_normal(count) * spec.head_width**0.5)
        return tokens

    def call(self, tokens: np.ndarray, gap: int | None) -> TokenPairs:
        """The core on each pair; it takes no positions unless the subject is `placed`."""
        heads, shared = self.spec.num_heads, self.spec.num_kv_heads or 1
        q, k, v = np.split(tokens.swapaxes(1, 2).astype(dtype_of(self.spec.dtype)), [heads, heads + shared], axis=1)
        options = {}
        if self.is_placed:
            options["positions"] = np.broadcast_to(np.array([0, gap or 0]), tokens.shape[:2])
        out = self.subject.core(q, k, v, **options).astype(np.float64)
        q, k, v = (part.astype(np.float64) for part in (q, k, v))
        return TokenPairs(queries=q[:, :, 1], keys=k, values=v, outputs=out[:, :, 1])


def _beside(drawn: np.ndarray, normal: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The drawn vectors with another component along each normal, so that their dot product with it is as wanted."""
    squares = np.sum(normal**2, axis=-1, keepdims=True)
    along = np.sum(drawn * normal, axis=-1, keepdims=True)
    return drawn + (wanted[:, None] - along) / np.where(squares > 0, squares, 1) * normal


@dataclass(frozen=True, kw_only=True)
class LogitFit:
    """z = C tanh(s q·k / C), or s q·k without a cap; `left` is the largest part of the ratios not explained."""

    scale: float
    softcap: float | None
    left: float

    def logits(self, dots: np.ndarray) -> np.ndarray:
        """The logits of these dot products."""
        cap = self.softcap
        return self.scale * dots if cap is None else cap * np.tanh(self.scale * dots / cap)

    def scaled_dots(self, logits: np.ndarray) -> np.ndarray:
        """The s q·k that give these logits."""
        if self.softcap is None:
            return logits
        return self.softcap * np.arctanh(np.clip(logits / self.softcap, -1 + 1e-12, 1 - 1e-12))


def fit_key_heads(reading: WeightReading) -> np.ndarray:
    """The key head whose differences each head's ratios follow best."""
    ratios, pairs = reading.ratios(), reading.pairs
    found = []
    for head in range(ratios.shape[1]):
        known = np.isfinite(ratios[:, head])
        gaps = pairs.keys[:, :, 0] - pairs.keys[:, :, 1]
        each = np.einsum("nd,ngd->gn", pairs.queries[known, head], gaps[known])
        found.append(int(np.argmax([abs(np.corrcoef(row, ratios[known, head])[0, 1]) for row in each])))
    return np.array(found)


def fit_logits(reading: WeightReading, near: WeightReading, key_heads: np.ndarray) -> LogitFit:
    """Scale and cap from head 0: ratios of ordinary pairs, and of large ones that are near each other."""
    data = []
    for each in (reading, near):
        (first, second), ratios = each.dots(key_heads), each.ratios()
        known = np.isfinite(ratios[:, 0])
        data.append((first[known, 0], second[known, 0], ratios[known, 0]))
    a, b, ratio = (np.concatenate(parts) for parts in zip(*data, strict=True))
    plain = _scale_under(a, b, ratio, None)
    caps = [_scale_under(a, b, ratio, float(cap)) for cap in _CAPS]
    best = min(range(len(caps)), key=lambda index: caps[index][1])
    low, high = _CAPS[max(best - 1, 0)], _CAPS[min(best + 1, len(_CAPS) - 1)]
    cap = _minimum(lambda size: _scale_under(a, b, ratio, size)[1], float(low), float(high))
    capped = _scale_under(a, b, ratio, cap)
    scale, error, softcap = (*plain, None) if plain[1] < _BETTER * capped[1] else (*capped, cap)
    return LogitFit(scale=scale, softcap=softcap, left=float(np.sqrt(error) / max(float(np.std(ratio)), 1e-300)))


def _scale_under(a: np.ndarray, b: np.ndarray, ratio: np.ndarray, cap: float | None) -> tuple[float, float]:
    """The scale that fits best under a cap, by Gauss-Newton from small dots, and the mean square left."""
    small = np.abs(a) + np.abs(b) <= np.median(np.abs(a) + np.abs(b))
    gaps = a - b
    scale = float(np.sum((gaps * ratio)[small]) / np.sum((gaps**2)[small]))
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


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """The place of a minimum between two numbers, by golden sections."""
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


def fit_sinks(reading: WeightReading, fit: LogitFit, key_heads: np.ndarray) -> np.ndarray | None:
    """The logit of a key without a value in each head, None if the weights sum to one."""
    rest = 1 - reading.first - reading.second
    if not (np.median(rest, axis=0) > 1e-4).any():
        return None
    second = fit.logits(reading.dots(key_heads)[1])
    return np.median(np.log(np.maximum(rest, 1e-300) / reading.second) + second, axis=0)


def fit_slopes(reading: WeightReading, fit: LogitFit, key_heads: np.ndarray) -> tuple[np.ndarray, float]:
    """What each head's logits lose over a distance of one, and the largest part of the change that is no such loss."""
    first, second = (fit.logits(each) for each in reading.dots(key_heads))
    losses = -(reading.ratios() - first + second)
    return np.nanmedian(losses, axis=0), float(np.nanmax(np.nanstd(losses, axis=0)))


def fit_scale_and_slopes(reading: WeightReading, key_heads: np.ndarray) -> tuple[float, np.ndarray, float]:
    """From neighbours alone: one scale, a loss of each head's first logits, and the part that stays unexplained."""
    (first, second), ratios = reading.dots(key_heads), reading.ratios()
    scales, losses, left = [], [], 0.0
    for head in range(ratios.shape[1]):
        known = np.isfinite(ratios[:, head])
        design = np.stack([(first - second)[known, head], np.ones(int(known.sum()))], axis=1)
        solved = np.linalg.lstsq(design, ratios[known, head], rcond=None)[0]
        rest = ratios[known, head] - design @ solved
        left = max(left, float(np.std(rest) / max(float(np.std(ratios[known, head])), 1e-300)))
        scales.append(float(solved[0]))
        losses.append(-float(solved[1]))
    return float(np.median(scales)), np.array(losses), left


@dataclass(frozen=True, kw_only=True, eq=False)
class RotaryFit:
    """How one head rotates: which coordinates form pairs, and the angle of each pair per position."""

    layout: str
    width: int
    frequencies: np.ndarray
    base: float | None
    is_backward: bool


def fit_rotation(readings: dict[int, WeightReading], fit: LogitFit, key_heads: np.ndarray) -> RotaryFit | None:
    """The rotation that explains head 0 at several gaps; None if no pairing does.

    At each gap it is B of q·Bk = (first logit) / s.
    """
    gaps = sorted(readings)
    own, products, width = _first_head(readings[gaps[0]], key_heads)
    wanted = [fit.scaled_dots(readings[gap].ratios()[:, 0] + fit.logits(own)) / fit.scale for gap in gaps]
    solved = _solved(products, np.stack(wanted, axis=1))
    return None if solved is None else _rotary_fit(solved.T, width, gaps)


def fit_scale_and_rotation(reading: WeightReading, key_heads: np.ndarray) -> tuple[float, RotaryFit | None] | None:
    """Scale and rotation from neighbours alone: log α/β = q·Ak₀ − s q·k₁ in head 0, without a cap."""
    own, products, width = _first_head(reading, key_heads)
    solved = _solved(np.concatenate([products, -own[:, None]], axis=1), reading.ratios()[:, :1])
    if solved is None:
        return None
    scale = float(solved[-1, 0])
    return scale, _rotary_fit(solved[:-1].T / scale, width, [1])


def _first_head(reading: WeightReading, key_heads: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """In head 0: q·k₁ of each pair, the products of the entries of q and k₀ that a form may combine, and the width."""
    queries, keys = reading.pairs.queries[:, 0], reading.pairs.keys[:, int(key_heads[0])]
    rows, columns = _entries(queries.shape[1])
    own = np.sum(queries * keys[:, 1], axis=-1)
    return own, queries[:, rows] * keys[:, 0][:, columns], queries.shape[1]


def pairs_needed(width: int) -> int:
    """How many pairs of tokens determine a rotation."""
    return 2 * len(_entries(width)[0]) + 40


def _entries(width: int) -> tuple[np.ndarray, np.ndarray]:
    """The entries of a form to solve for: all, or in wide heads those of pairings by parts of the width."""
    rows, columns = (each.ravel() for each in np.indices((width, width)))
    if width <= _WIDEST_FULL:
        return rows, columns
    offsets = [0, 1, *{width // 2, width // 4, width // 8, 3 * width // 8, width // 16}]
    chosen = np.isin(np.abs(rows - columns), offsets)
    return rows[chosen], columns[chosen]


def _solved(design: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """The linear map that gives what is wanted, None if there is none.

    Products of random numbers are well conditioned, so the normal equations, which are fast, lose nothing.
    """
    known = np.isfinite(wanted).all(axis=1)
    if known.sum() < design.shape[1]:
        return None
    solved = np.linalg.solve(design[known].T @ design[known], design[known].T @ wanted[known])
    left = np.std(design[known] @ solved - wanted[known]) / max(float(np.std(wanted[known])), 1e-300)
    return solved if left < _EXPLAINED else None


def _rotary_fit(entries: np.ndarray, width: int, gaps: list[int]) -> RotaryFit | None:
    """The pairing and frequencies of forms with these entries [gap, entry], None if they are no rotation of pairs."""
    forms = np.zeros((len(gaps), width, width))
    forms[(slice(None), *_entries(width))] = entries
    cross = (forms[0] - forms[0].T) / 2
    partner = int(np.argmax(np.abs(cross[0])))
    pairs = (
        [(i, i + 1) for i in range(0, width - 1, 2)]
        if partner == 1
        else [(i, i + partner) for i in range(partner) if i + partner < width]
    )
    rotated = [pair for pair in pairs if any(_angle(form, pair)[1] > _LEAST_ROTATION for form in forms)]
    if rotated == pairs[: len(rotated)]:
        rotated = pairs[: len(rotated) + _num_too_slow(forms, rotated, pairs, gaps)]
    if partner == 0 or rotated != pairs[: len(rotated)] or (partner > 1 and len(rotated) != partner):
        return None
    angles = np.array([_unwrapped([_angle(form, pair)[0] for form in forms], gaps) for pair in rotated])
    return RotaryFit(
        layout="interleaved" if partner == 1 and width > 2 else "half-split",
        width=2 * len(rotated),
        frequencies=np.abs(angles),
        base=_base(np.abs(angles), gaps[-1]),
        is_backward=bool(angles[0] < 0),
    )


def _num_too_slow(
    forms: np.ndarray, rotated: list[tuple[int, int]], pairs: list[tuple[int, int]], gaps: list[int]
) -> int:
    """How many more pairs would rotate too slowly to be seen, if frequencies go on as they begin."""
    if len(rotated) < 2 or len(rotated) == len(pairs):
        return 0
    first, second = (abs(_unwrapped([_angle(form, pair)[0] for form in forms], gaps)) for pair in rotated[:2])
    slow = first * (second / first) ** len(rotated) * gaps[-1]
    return len(pairs) - len(rotated) if slow < 3 * _LEAST_ROTATION else 0


def _angle(form: np.ndarray, pair: tuple[int, int]) -> tuple[float, float]:
    """The angle by which a pair is rotated, and how far that is from no rotation."""
    i, j = pair
    cos, sin = (form[i, i] + form[j, j]) / 2, (form[i, j] - form[j, i]) / 2
    return float(np.arctan2(sin, cos)), float(np.hypot(cos - 1, sin))


def _unwrapped(angles: list[float], gaps: list[int]) -> float:
    """The angle per position, from angles over growing gaps that are known up to whole turns."""
    found = angles[0] / gaps[0]
    for angle, gap in zip(angles[1:], gaps[1:], strict=True):
        found = (angle + 2 * np.pi * np.round((found * gap - angle) / (2 * np.pi))) / gap
    return float(found)


def _base(frequencies: np.ndarray, largest_gap: int) -> float | None:
    """B of θ_i = B^{−2i/d}; None if there is only one pair or the frequencies follow no such rule."""
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
