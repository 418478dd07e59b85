"""ALiBi over keys with equal content: the weights follow a geometric distribution over distance."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from flint import arb

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.position_codes import alibi_covered, alibi_mean, alibi_weight
from regard.analysis.engines.symbolic import identity, limit_identity
from regard.attention import masked_softmax
from regard.claims._evidence import Evidence, agreement, conjunction, in_balls
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, real
from regard.render.figures import Axis, Chart, Series

# The number of past keys that are tried out; the rest of an infinite past is accounted for in closed form.
_MOST_KEYS = 4096
_SMALLEST_SLOPE, _LARGEST_SLOPE = 1e-6, 1e6


def _by_algebra(trial: Trial) -> list[Evidence]:
    """The nearest K keys' weight grows from 0 to 1 by that of key K, and each key weighs e^{−m} times the one before.

    The mean is Σ_{k≥1} P(distance ≥ k), a geometric series of ratio e^{−m} whose first term is the weight beyond key 0.
    """
    m, mk = trial.field(exponentials=("m", "mk"))
    form, weight, beyond = trial.form, trial.form.weight(m, mk), 1 - trial.form.covered(mk)
    return [
        identity(form.weight(m, mk + m), weight * exp(-m), "each key weighs e^{−m} times the one before"),
        identity(form.covered(mk + m) - form.covered(mk), weight, "one more key adds its weight"),
        identity(form.covered(0 * m), 0, "zero keys weigh 0"),
        limit_identity(form.covered(mk), "e^mk", 1, "all keys together weigh 1"),
        identity(1 - form.covered(mk + m), beyond * exp(-m), "P(distance ≥ k) falls by a factor e^{−m} per key"),
        identity(form.mean(m) * (1 - exp(-m)), 1 - form.covered(m), "mean = Σ_{k≥1} P(distance ≥ k)"),
    ]


def _by_brute_force(trial: Trial) -> Evidence:
    """Softmax of −mk over the nearest keys, compared with the claimed distribution cut off after them."""
    m = min(max(trial.at.m, _SMALLEST_SLOPE), _LARGEST_SLOPE)
    num_keys, form, at = _MOST_KEYS, trial.form, f"m = {m:g}, the nearest {_MOST_KEYS} keys, flat content"
    weights = masked_softmax(-m * np.arange(num_keys, dtype=float)[None, :])[0]
    half = int(np.searchsorted(np.cumsum(weights), 0.95)) + 1

    def cut(value: Callable[..., Any]) -> Callable[[arb], arb]:
        return lambda slope: value(slope) / form.covered(num_keys * slope)

    def mean(slope: arb) -> arb:
        tail = 1 - form.covered(num_keys * slope)
        return (form.mean(slope) - tail * (num_keys + form.mean(slope))) / form.covered(num_keys * slope)

    known = (
        ("weight at distance 0", cut(lambda slope: form.weight(slope, 0 * slope)), weights[0]),
        ("weight at distance 3", cut(lambda slope: form.weight(slope, 3 * slope)), weights[3]),
        ("mean distance", mean, np.arange(num_keys) @ weights),
        (f"weight of the nearest {half}", cut(lambda slope: form.covered(half * slope)), weights[:half].sum()),
    )
    parts = [
        agreement(name, claimed=in_balls(claim, m, precision=256), found=x, tolerance=1e-10 * (x + 1e-3), at=at)
        for name, claim, x in known
    ]
    far = in_balls(form.mean, m)
    mean_part = Evidence(status="holds", detail=f"mean distance {far:.6g} at m = {m:g}", value=far)
    return replace(conjunction(mean_part, *parts), is_of_smaller_case=m != trial.at.m)


def _figure(at: Settings) -> Chart:
    distances = np.arange(0, 65)
    steepest = min(at.m, 50.0)
    weights = {slope: alibi_weight(slope, slope * distances) for slope in (steepest, steepest / 4, steepest / 16)}
    return Chart(
        title="Each slope has its own horizon",
        caption="The weight at distance k under ALiBi when all keys have equal content. On this scale every slope "
        "gives a straight line, however long the context: steep heads see a few keys, flat ones hundreds.",
        x=Axis(label="distance k"),
        y=Axis(label="weight", is_log=True, lower=1e-8, upper=1.0),
        series=[
            Series(label=f"m = {slope:.3g}", x=distances, y=np.where(row > 1e-9, row, np.nan))
            for slope, row in weights.items()
        ],
    )


CLAIM = Claim(
    id="alibi-looks-this-far",
    section="9 distance biases",
    statement="ALiBi with slope m, equal content and an endless past: logits −mk at distance k = 0, 1, 2, … give the "
    "weight (1−e^{−m})e^{−mk}, so the K nearest keys get 1−e^{−mK}, and the mean distance is 1/(e^m−1)",
    latex=r"a_k=(1-e^{-m})e^{-mk},\quad\sum_{k<K}a_k=1-e^{-mK},\quad\sum_k k\,a_k=\frac1{e^m-1}",
    expected="proved",
    parameters=(real("m", 0.5, lower=0, is_open=True),),
    conditions=("equal content logits", "an endless past"),
    assumes=("a geometric series of ratio x < 1 sums to its first term over 1−x", "E k = Σ_{k≥1} P(distance ≥ k)"),
    # Weight at distance k (given m and mk), the mean distance (given m), the weight of the nearest K (given mK).
    form=Form(weight=alibi_weight, mean=alibi_mean, covered=alibi_covered),
    near_misses=(
        NearMiss("the mean distance is 1/m", {"mean": lambda m: 1 / m}),
        NearMiss("the mean distance is 1/(1−e^{−m})", {"mean": lambda m: 1 / (1 - exp(-m))}),
        NearMiss("the weight is m·e^{−mk}", {"weight": lambda m, mk: m * exp(-mk)}),
        NearMiss(
            "the weight is (1−e^{−m})e^{−m(k+1)}: as if the token itself were at distance 1",
            {"weight": lambda m, mk: (1 - exp(-m)) * exp(-mk - m)},
        ),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="e^{−mk} falls by a factor e^{−m} per key and sums to 1/(1−e^{−m}); the weight of the nearest K keys "
    "telescopes. Steep heads are short-sighted however long the context is: m = ½, the steepest of 8 heads, has mean "
    "distance 1.54149 and 95 % of its attention on 6 keys; m = 1/256, the flattest, has 255.5, and 95 % on 767.",
    source="Press, Smith and Lewis 2022, Train short, test long: attention with linear biases enables input length "
    "extrapolation (the code); geometric series",
    figure=_figure,
)
