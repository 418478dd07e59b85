"""The margin from which a weight of 1−ε is guaranteed."""

import math

import numpy as np

from regard.analysis.closed_forms.arithmetic import log
from regard.analysis.closed_forms.softmax import copy_margin
from regard.analysis.engines.symbolic import nonnegative, positive
from regard.claims._evidence import Evidence, agreement, in_balls, smaller_case
from regard.claims._figures import counts, guide_at
from regard.claims._retrieval import KEYS_AXIS, crossing, few_keys, log_odds, rounding
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Series


def _by_algebra(trial: Trial) -> list[Evidence]:
    """ε = 1/(1+p) with p > 0, n = 1+m; margins above and below the claimed one differ from it by a factor 1+s in e^Δ.

    Enough: Σ_{i≠j} e^{z_i−z_j} = m·e^{−Δ}/(1+t) for some t ≥ 0. Too little: the other logits may be equal (t = 0).
    """
    p, s, t, m = trial.field("(1-epsilon)/epsilon", "e^Delta/claimed-1", "slack", counts=("n-1",))
    epsilon = 1 / (1 + p)
    claimed = trial.form(epsilon, 1 + m).exp()
    above, below = m / (claimed * (1 + s)) / (1 + t), m / (claimed / (1 + s))
    return [
        nonnegative(1 / (1 + above) - (1 - epsilon), "a margin at or above it gives a_j ≥ 1−ε"),
        positive((1 - epsilon) - 1 / (1 + below), "a margin below it can give a_j < 1−ε"),
    ]


def _by_bisection(trial: Trial) -> list[Evidence]:
    """The margin at which n−1 equal competitors leave a_j = 1−ε, and random competitors at that margin."""
    (n, size), epsilon, rng = few_keys(trial.at.n), trial.at.epsilon, trial.rng("competitors")
    wanted = math.log(epsilon) - math.log(1 - epsilon)
    found = crossing(lambda margin: log_odds(np.append(0.0, np.full(n - 1, -margin)), 1) <= wanted)
    claimed, tolerance = in_balls(trial.form, epsilon, n), rounding(n, found)
    at = f"{size}, ε = {epsilon:g}"
    parts = [agreement("least margin", claimed=claimed, found=found, tolerance=tolerance, at=at)]
    for _ in range(20):
        gaps = rng.exponential(size=n - 1)
        odds = log_odds(np.append(0.0, gaps.min() - claimed - gaps), 1)
        if not odds <= wanted + tolerance:
            shown = f"{at}, Δ = {claimed:.12g}: log((1−a_j)/a_j) = {odds:.12g} is above {wanted:.12g}"
            parts.append(Evidence(status="refuted", detail="the margin is not enough", counterexample=shown))
    return smaller_case(parts, tried=n, asked=trial.at.n)


def _figure(at: Settings) -> Chart:
    keys = counts(2, 10_000)
    return Chart(
        title="The margin that is enough",
        caption="The least margin that guarantees a weight of 1 − ε. It grows like the logarithm of the number "
        "of keys and of 1/ε.",
        x=KEYS_AXIS,
        y=Axis(label="least margin Δ"),
        series=[
            Series(label=f"ε = {epsilon:g}", x=keys, y=copy_margin(epsilon, keys))
            for epsilon in (at.epsilon / 100, at.epsilon / 10, at.epsilon)
        ],
        guides=guide_at(at.n, f"n = {at.n:g}", keys),
    )


CLAIM = Claim(
    id="copy-margin",
    section="1 retrieval",
    statement="a_j ≥ 1−ε is guaranteed if and only if the margin is at least log((n−1)(1−ε)/ε)",
    latex=r"a_j\ge1-\varepsilon\text{ guaranteed}\iff\Delta\ge\log\frac{(n-1)(1-\varepsilon)}{\varepsilon}",
    expected="proved",
    parameters=(integer("n", 10, lower=2), real("epsilon", 0.1, lower=0, upper=1, is_open=True)),
    conditions=("finite logits",),
    form=copy_margin,
    near_misses=(
        NearMiss("Δ ≥ log((n−1)/ε)", lambda epsilon, n: log((n - 1) / epsilon)),
        NearMiss("Δ ≥ log(n(1−ε)/ε)", lambda epsilon, n: log(n * (1 - epsilon) / epsilon)),
        NearMiss("Δ ≥ log((1−ε)/ε), whatever n is", lambda epsilon, _n: log((1 - epsilon) / epsilon)),
    ),
    methods={"bisection": _by_bisection, "algebra": _by_algebra},
    derivation="The least weight at margin Δ is 1/(1+(n−1)e^{−Δ}), reached when the other logits are equal (see "
    "`copy`). It is ≥ 1−ε exactly when (n−1)e^{−Δ} ≤ ε/(1−ε). n = 10, ε = 0.1: Δ ≥ log 81 = 4.394.",
    source="CS224N assignment 4, question 1(a)",
    figure=_figure,
    demonstration="copy?goal=copy&degrees=0&n=10&epsilon=0.1",
)
