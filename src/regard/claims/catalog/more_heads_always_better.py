"""Misconception: two heads always come closer to the average than one."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from regard.analysis.closed_forms.random_keys import one_head_weight, two_head_weight
from regard.analysis.engines import Estimate, SquaredError, certified_root
from regard.analysis.engines.symbolic import Field, RationalFunction, identity, positive
from regard.analysis.scenarios import one_head, two_heads
from regard.claims import _random_keys as course
from regard.claims._evidence import Evidence, conjunction
from regard.claims._figures import around
from regard.claims.claim import Claim, NearMiss, Settings, Trial
from regard.render.figures import Axis, Chart, Guide

_ERROR = SquaredError(target={"a": 0.5, "b": 0.5})
# The scale β from which two heads are closer, by n, at σ² = ½, correct to the digits given.
CROSSOVERS = {3: 1.04204619194, 10: 2.17373685971, 100: 3.82389795, 1000: 5.19806217}
_BESIDE = 1e-8
_DRAWS = 30_000

Pair = tuple[Estimate, Estimate]
_KEYS, _BETA, _SIGMA2 = course.PARAMETERS


def _errors(field: Field) -> tuple[RationalFunction, RationalFunction]:
    """‖c − ½(v_a+v_b)‖² under one head and under two, for a's logit y and b's logit z, all other logits 0."""
    n, y, z = field
    half, count = Fraction(1, 2), n - 2
    a, b = one_head_weight(y, z, n), one_head_weight(z, y, n)
    other = (1 - a - b) / count
    one = (a - half) ** 2 + (b - half) ** 2 + count * other**2
    first, second = two_head_weight(y, n), two_head_weight(z, n)
    left, right = (1 - first) / (n - 1), (1 - second) / (n - 1)
    a, b, other = half * (first + right), half * (left + second), half * (left + right)
    return one, (a - half) ** 2 + (b - half) ** 2 + count * other**2


def _by_algebra(trial: Trial) -> Evidence:
    """At β = 0 the designs agree; there dy/dβ = γ has mean 1 and dz/dβ = 1, so E d/dβ is the sum of both slopes."""
    field = trial.field(counts=("n",), exponentials=("y", "z"))
    flat = {"e_y": 1, "e_z": 1}
    one, two = _errors(field)
    slopes = [error.derivative("y") + error.derivative("z") for error in (one, two)]
    slow = [slope.substitute(**flat) for slope in slopes]
    n = field["n"]
    parts = [
        identity(one.substitute(**flat), two.substitute(**flat), "the errors agree at β = 0"),
        positive((slow[1] - slow[0]).substitute(n=n + 2), "one head's error falls faster"),
        identity(slow[0], -2 * (n - 2) / n**2, "its slope is −2(n−2)/n²"),
        identity(slow[1], -(n - 2) / n**2, "that of two heads is half of it"),
    ]
    if trial.form(trial.at.n) <= 0 and all(part.status == "proved" for part in parts):
        n = float(trial.at.n)
        sides = f"the error of one head has slope {-2 * (n - 2) / n / n:.6g}, that of two heads {-(n - 2) / n / n:.6g}"
        against = f"n = {n:.12g}, any σ², β → 0: {sides}; the statement says that two heads are closer"
        return Evidence(status="refuted", detail="one head is closer at every small enough β", counterexample=against)
    found = conjunction(*parts)
    # That one head is closer near β = 0 supports a crossover, but does not locate it.
    return Evidence(status="holds" if found.status == "proved" else found.status, detail=found.detail)


def _judged(trial: Trial, scales: list[float], errors: Callable[[course.CourseSetting], Pair]) -> list[Evidence]:
    """Whether the design that is claimed to be closer at each scale is; inconclusive scales are dropped."""
    parts = []
    for beta in dict.fromkeys(scales):
        setting = course.CourseSetting.of(trial.at, beta=beta)
        one, two = errors(setting)
        is_two_closer = beta > trial.form(trial.at.n)
        smaller, larger = (two, one) if is_two_closer else (one, two)
        sides = "two heads < under one" if is_two_closer else "one head < under two"
        parts.append(course.ordered(f"E‖c−½(v_a+v_b)‖² under {sides}", smaller=smaller, larger=larger, at=setting))
    return [part for part in parts if part.status != "undecided"] or parts[:1]


def _certified_errors(setting: course.CourseSetting) -> Pair:
    return setting.certified(one_head, [_ERROR])[0], setting.certified(two_heads, [_ERROR])[0]


def _by_enclosure(trial: Trial) -> list[Evidence]:
    """Scales on either side: the given one, soft ones for any n and σ², and two beside the crossover."""
    crossover, noise = trial.form(trial.at.n), 1 + course.CourseSetting.of(trial.at).sigma2
    beside = [crossover * (1 - _BESIDE), crossover * (1 + _BESIDE)] if crossover > 0 else []
    scales = [trial.at.beta, 0.1 / noise, math.log(trial.at.n) / (2 + noise), *beside]
    return _judged(trial, scales, _certified_errors)


def _by_sampling(trial: Trial) -> list[Evidence]:
    def errors(setting: course.CourseSetting) -> Pair:
        sampled = partial(setting.sampled, questions=[_ERROR], seed=trial.seed, draws=_DRAWS)
        return sampled(one_head)[0], sampled(two_heads)[0]

    return _judged(trial, [trial.at.beta, 2.0], errors)


def _figure(at: Settings) -> Chart:
    scales = around(at.beta, 0.1, 60.0, course.NUM_POINTS)
    [one], [two] = (course.certified_curves(at, scales, design, (_ERROR,)) for design in (one_head, two_heads))
    crossing = _crossing(at, scales, one - two)
    guides = [Guide(at=scale, label=f"they cross at β = {scale:.4g}", is_vertical=True) for scale in crossing]
    return Chart(
        title="Two heads win, but only from some scale on",
        caption=f"E‖c − ½(v_a+v_b)‖², n = {at.n:g}, σ² = {at.sigma2:g}. At soft scales one head is closer, because "
        "each of two heads contributes only half the output; at sharp scales it swings and two heads do not.",
        x=course.SCALE_AXIS,
        y=Axis(label="mean squared error", lower=0.0),
        series=(course.smooth_series("one head", scales, one), course.smooth_series("two heads", scales, two)),
        guides=guides,
    )


def _crossing(at: Settings, scales: np.ndarray, lead: np.ndarray) -> list[float]:
    """The scale from which two heads are closer, if it is in view."""
    places = np.flatnonzero((lead[:-1] < 0) & (lead[1:] > 0))
    if not len(places):
        return []

    def leads(beta: float) -> Estimate:
        one, two = _certified_errors(course.CourseSetting.of(at, beta=beta))
        return one - two

    return [certified_root(leads, float(scales[places[-1]]), float(scales[places[-1] + 1])).value]


CLAIM = Claim(
    id="more-heads-always-better",
    section="3 two heads",
    statement="two heads q_1 = βμ_a, q_2 = βμ_b always beat one: E‖c−½(v_a+v_b)‖² is smaller at every β > 0",
    latex=r"\mathbb E\,\|c-\tfrac12(v_a+v_b)\|^2\ (\text{two heads})<\mathbb E\,\|c-\tfrac12(v_a+v_b)\|^2\ "
    r"(\text{one head})\quad\text{for all }\beta>0",
    expected="refuted",
    parameters=(_KEYS, replace(_BETA, default=2.0), _SIGMA2),
    conditions=(*course.CONDITIONS, "orthonormal values"),
    assumes=("E‖c−½(v_a+v_b)‖² may be differentiated in β under the expectation",),
    form=lambda _n: 0.0,
    near_misses=(
        NearMiss(
            "two heads are closer from β* = 2.17373685971 on, and one below (n = 10, σ² = ½)",
            CROSSOVERS.__getitem__,
            becomes="holds",
        ),
    ),
    methods={"certified": _by_enclosure, "monte carlo": _by_sampling, "algebra": _by_algebra},
    derivation="Each of two heads contributes only half the output, which at soft scales is half the effect. At "
    "β = 0 both errors are ½ − 1/n, and their slopes are −2(n−2)/n² and −(n−2)/n². n = 10, σ² = ½: 0.14769010591 (one) "
    "against 0.16420803635 (two) at β = 2, and 0.44403724852 against 0.025851721784 at β = 20. They cross at "
    "β* = 2.17373685971 (n = 3: 1.04204619194; n = 100: 3.82389795; n = 1000: 5.19806217). With n = 2 keys the slopes "
    "vanish, and two heads won at every β tried.",
    source="CS224N assignment 4, question 1(d)",
    figure=_figure,
    demonstration="swing?beta=2",
)
