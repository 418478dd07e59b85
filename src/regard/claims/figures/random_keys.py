"""Figures of random keys: how one head swings, what two heads make of it, and where they cross."""

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from regard.analysis.closed_forms.arithmetic import normal_cdf
from regard.analysis.closed_forms.random_keys import (
    ceiling_score,
    given_positive_bound,
    normalised_limit,
    normalised_variance,
    one_head_density,
    reliability_score,
    reliability_threshold,
    swing_offset,
    swing_score,
)
from regard.analysis.engines import Question, SquaredError, Variance, coefficient, weight
from regard.analysis.scenarios import GAMMA_POSITIVE, QueryDesign, identical_heads, one_head, two_heads
from regard.claims._random_keys import Setting
from regard.claims.figures._ranges import around, smoothed
from regard.render.figures import Axis, Chart, Rule, Series

Design = Callable[[float], QueryDesign]

_SCALE = Axis(label="scale β", is_log=True)
_ERROR = SquaredError(target={"a": 0.5, "b": 0.5})
# Each point is an enclosure that costs milliseconds.
_NUM_POINTS, _NUM_BINS, _NUM_REFINED = 14, 20, 4


def swing_density(at: SimpleNamespace) -> Chart:
    """The density of one head's weight at several scales."""
    sigma, n = Setting.of(at).sigma, float(at.n)
    shares = np.concatenate([np.geomspace(5e-4, 0.05, 60), np.linspace(0.05, 0.95, 120)[1:-1]])
    shares = np.concatenate([shares, 1 - np.geomspace(0.05, 5e-4, 60)])
    return Chart(
        title="A coin rather than a mean",
        caption=f"The density of w_a under one head, n = {at.n:g}, σ² = {at.sigma2:g}. At soft scales it is a hump; "
        "as β grows all of it moves to the ends, and the output is v_a or v_b, almost never their mean.",
        x=Axis(label="weight w_a on a", lower=0.0, upper=1.0),
        y=Axis(label="density", lower=0.0, upper=4.0),
        series=[
            Series(
                label=f"β = {beta:g}",
                x=shares,
                y=one_head_density(shares, beta, n, sigma),
                style="area" if place == 0 else "line",
            )
            for place, beta in enumerate((20.0, 5.0, 2.5))
        ],
    )


def steadiness(at: SimpleNamespace) -> Chart:
    """How the coefficient of v_a is distributed under one head and under two, in bins."""
    setting = Setting.of(at)
    edges = np.linspace(0.0, 1.0, _NUM_BINS + 1)
    other = 1 / (math.exp(min(setting.beta, 700.0)) + setting.n - 1)
    one, two = _below_one_head(edges, setting), _below_two_heads(2 * edges - other, setting)
    return Chart(
        title="One head swings, two heads stay",
        caption=f"How often v_a's coefficient in c falls in each twentieth, at {setting}. One head tosses a coin "
        "between 0 and 1; under two heads it is near ½, but for the keys that point backwards.",
        x=Axis(label="coefficient of v_a in c", lower=0.0, upper=1.0),
        y=Axis(label="probability", lower=0.0, upper=1.0),
        series=(
            Series(label="one head", x=edges, y=np.diff(one), style="bars"),
            Series(label="two heads", x=edges, y=np.diff(two), style="bars"),
        ),
        rules=(Rule(at=0.5, label="the mean", is_vertical=True),),
    )


def _below_one_head(levels: np.ndarray, setting: Setting) -> np.ndarray:
    """P(w_a ≤ level) under one head, 0 and 1 at the ends."""
    offset = swing_offset(setting.beta, float(setting.n))
    score = swing_score(_margins(levels), offset, setting.beta, setting.sigma)
    return 1 - normal_cdf(score)


def _below_two_heads(levels: np.ndarray, setting: Setting) -> np.ndarray:
    """P(w_a ≤ level) for head 1."""
    threshold = _margins(levels) + reliability_threshold(0.5, float(setting.n))
    return 1 - normal_cdf(reliability_score(setting.beta, threshold, setting.sigma))


def _margins(levels: np.ndarray) -> np.ndarray:
    """log(x/(1−x)), held where doubles can carry it."""
    inside = np.clip(levels, 1e-300, 1 - 1e-16)
    return np.where(levels <= 0, -1e300, np.where(levels >= 1, 1e300, np.log(inside) - np.log1p(-inside)))


def reliability(at: SimpleNamespace) -> Chart:
    """P(a_a ≥ 1−ε) against the scale, for several numbers of keys."""
    return _chances(at, epsilon=at.epsilon, ns=(at.n, 10 * at.n, 100 * at.n))


def locked(at: SimpleNamespace) -> Chart:
    """P(w_a ≥ 0.9) against the scale."""
    return _chances(at, epsilon=0.1, ns=(at.n,))


def _chances(at: SimpleNamespace, *, epsilon: float, ns: Sequence[int]) -> Chart:
    scales, sigma = around(at.beta, 2.0, 2000.0, 140), Setting.of(at).sigma
    ceiling = float(normal_cdf(ceiling_score(sigma)))

    def chance(n: int) -> np.ndarray:
        return normal_cdf(reliability_score(scales, reliability_threshold(epsilon, float(n)), sigma))

    return Chart(
        title="A ceiling that no scale breaks",
        caption=f"How often head 1 gives a at least {1 - epsilon:g}, σ² = {at.sigma2:g}. A larger scale helps, up to "
        f"the chance that the key points along its mean at all, Φ(1/σ) = {ceiling:.4f}.",
        x=_SCALE,
        y=Axis(label=f"P(w_a ≥ {1 - epsilon:g})", lower=0.0, upper=1.05),
        series=[Series(label=f"n = {n:g}", x=scales, y=chance(n)) for n in ns],
        rules=(Rule(at=ceiling, label=f"Φ(1/σ) = {ceiling:.3f}"), *_here(at.beta)),
    )


def given_positive(at: SimpleNamespace) -> Chart:
    """Head 1's variance with and without the condition γ > 0, and the bound."""
    scales, setting = around(at.beta, 2.0, 1000.0, _NUM_POINTS // 2), Setting.of(at)
    questions = (Variance(of=weight("a"), given=GAMMA_POSITIVE), Variance(of=weight("a")))
    given, plain = _answers(at, scales, two_heads, questions)
    return Chart(
        title="Steady wherever the key points forward",
        caption=f"The variance of head 1's w_a, n = {at.n:g}, σ² = {at.sigma2:g}. Given γ > 0 it falls like 1/β, "
        "below the bound; without the condition it stays at Φ(1/σ)Φ(−1/σ).",
        x=_SCALE,
        y=Axis(label="variance of w_a", is_log=True),
        series=(
            _curve("given γ > 0", scales, given),
            _curve("without the condition", scales, plain),
            Series(
                label="the bound", x=scales, y=given_positive_bound(scales, float(at.n), setting.sigma), style="dashed"
            ),
        ),
        rules=_here(at.beta),
    )


def closeness(at: SimpleNamespace) -> Chart:
    """The mean squared error under one head and under two, and the scale at which they cross."""
    scales = around(at.beta, 0.1, 60.0, _NUM_POINTS)
    [one], [two] = (_answers(at, scales, design, (_ERROR,)) for design in (one_head, two_heads))
    crossing = _crossing(at, scales, one - two)
    label = "" if crossing is None else f"they cross at β = {crossing:.4g}"
    rules = () if crossing is None else (Rule(at=crossing, label=label, is_vertical=True),)
    return Chart(
        title="Two heads win, but not at once",
        caption=f"E‖c − ½(v_a+v_b)‖², n = {at.n:g}, σ² = {at.sigma2:g}. At soft scales one head is closer, because "
        "two heads spread each query over half the output; at sharp ones it swings and two heads do not.",
        x=_SCALE,
        y=Axis(label="mean squared error", lower=0.0),
        series=(_curve("one head", scales, one), _curve("two heads", scales, two)),
        rules=rules,
    )


def _crossing(at: SimpleNamespace, scales: np.ndarray, lead: np.ndarray) -> float | None:
    """The scale from which on two heads are closer, by secants between two of the points."""
    places = np.flatnonzero((lead[:-1] < 0) & (lead[1:] > 0))
    if not len(places):
        return None
    low, high = float(scales[places[-1]]), float(scales[places[-1] + 1])
    before, now = (low, float(lead[places[-1]])), (high, float(lead[places[-1] + 1]))
    for _ in range(_NUM_REFINED):
        slope = (now[1] - before[1]) / (now[0] - before[0]) if now[0] != before[0] else 0.0
        scale = min(max(now[0] - now[1] / slope, low), high) if slope else now[0]
        [one], [two] = (_answers(at, np.array([scale]), design, (_ERROR,)) for design in (one_head, two_heads))
        before, now = now, (scale, float(one[0] - two[0]))
    return now[0]


def equal_heads(at: SimpleNamespace) -> Chart:
    """The variance of v_a's coefficient under one head, the same head twice, and two different ones."""
    scales, question = around(at.beta, 0.5, 200.0, _NUM_POINTS // 2), (Variance(of=coefficient("a")),)
    [one], [same], [two] = (_answers(at, scales, design, question) for design in (one_head, identical_heads, two_heads))
    return Chart(
        title="The same question twice",
        caption=f"The variance of v_a's coefficient, n = {at.n:g}, σ² = {at.sigma2:g}. The same query in both heads "
        "changes nothing at all; a query for each key does.",
        x=_SCALE,
        y=Axis(label="variance of v_a's coefficient", lower=0.0),
        series=(
            _curve("one head", scales, one),
            Series(label="the same head twice", x=scales, y=same, style="points"),
            _curve("two heads", scales, two),
        ),
        rules=(Rule(at=0.25, label="¼, a fair coin"),),
    )


def normalised_keys(at: SimpleNamespace) -> Chart:
    """One head's variance with keys as they are and with keys of length one."""
    scales, setting = around(at.beta, 0.2, 200.0, _NUM_POINTS), Setting.of(at)
    [plain] = _answers(at, scales, one_head, (Variance(of=weight("a")),))
    limit, fine = float(normalised_limit(setting.sigma)), np.geomspace(scales[0], scales[-1], 90)
    return Chart(
        title="Length is cured, direction is not",
        caption=f"One head's variance of w_a, n = {at.n:g}, σ² = {at.sigma2:g}, with keys as they are and divided by "
        "their norm. What is left comes from keys that point backwards.",
        x=_SCALE,
        y=Axis(label="variance of w_a", lower=0.0),
        series=(
            _curve("keys as they are", scales, plain),
            Series(
                label="keys divided by their norm",
                x=fine,
                y=normalised_variance(np.minimum(fine, 300.0), float(at.n), setting.sigma),
            ),
        ),
        rules=(Rule(at=limit, label=f"Φ(1/σ)Φ(−1/σ)/4 = {limit:.4f}"),),
    )


def _answers(at: SimpleNamespace, scales: np.ndarray, design: Design, questions: Sequence[Question]) -> np.ndarray:
    """The certified answers, a row for each question and a column for each scale."""
    found = [Setting.of(at, beta=float(scale)).certified(design, questions) for scale in scales]
    return np.array([[answer.value for answer in row] for row in found]).T


def _curve(label: str, scales: np.ndarray, values: np.ndarray) -> Series:
    """A smooth line through certified values."""
    x, y = smoothed(scales, values)
    return Series(label=label, x=x, y=y)


def _here(beta: float) -> tuple[Rule, ...]:
    """A rule where the claim was decided, if that is in view."""
    return (Rule(at=float(beta), label=f"β = {beta:g}", is_vertical=True),) if 0.02 <= beta <= 2e5 else ()
