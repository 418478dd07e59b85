"""The margin from which a weight of 1−ε is guaranteed."""

import math

import numpy as np

from regard.analysis.closed_forms.arithmetic import log
from regard.analysis.closed_forms.retrieval import copy_margin
from regard.analysis.engines.symbolic import Field, nonnegative, positive
from regard.claims._comparisons import Measured, agreement, all_parts, in_balls, of_smaller_case
from regard.claims._retrieval import counted, crossing, log_odds, rounding, thinned
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence


def _by_algebra(trial: Trial) -> Evidence:
    """ε = 1/(1+p) with p > 0, n = 1+m; margins above and below the claimed one differ from it by a factor 1+s in e^Δ.

    Enough: Σ_{i≠j} e^{z_i−z_j} = m·e^{−Δ}/(1+t) for some t ≥ 0. Too little: the other logits may be equal (t = 0).
    """
    field = Field("(1-epsilon)/epsilon", "e^Delta/claimed-1", "slack", counts=("n-1",))
    p, s, t, m = (field[name] for name in field.symbols)
    epsilon, rng = 1 / (1 + p), trial.rng("algebra")
    claimed = trial.form(epsilon, 1 + m).exp()
    above, below = m / (claimed * (1 + s)) / (1 + t), m / (claimed / (1 + s))
    return all_parts(
        "algebra",
        [
            nonnegative(1 / (1 + above) - (1 - epsilon), rng=rng, what="a margin at or above it gives a_j ≥ 1−ε"),
            positive((1 - epsilon) - 1 / (1 + below), rng=rng, what="a margin below it can give a_j < 1−ε"),
        ],
    )


def _by_bisection(trial: Trial) -> Evidence:
    """The margin at which n−1 equal rivals leave a_j = 1−ε, and random rivals at that margin."""
    n, epsilon, rng = thinned(trial.at.n), trial.at.epsilon, trial.rng("rivals")
    wanted = math.log(epsilon) - math.log(1 - epsilon)
    found = crossing(lambda margin: log_odds(np.append(0.0, np.full(n - 1, -margin)), 1) <= wanted)
    claimed, tolerance = in_balls(trial.form, epsilon, n), rounding(n, found)
    parts = [
        agreement(
            "least margin",
            claimed=claimed,
            measured=Measured(value=found, tolerance=tolerance),
            at=f"{counted(trial.at.n)}, ε = {epsilon:g}",
            route="bisection",
        )
    ]
    for _ in range(20):
        gaps = rng.exponential(size=n - 1)
        odds = log_odds(np.append(0.0, gaps.min() - claimed - gaps), 1)
        if not odds <= wanted + tolerance:
            parts.append(
                Evidence(
                    route="bisection",
                    status="refuted",
                    detail="the margin does not suffice",
                    counterexample=f"n = {n}, ε = {epsilon:g}, Δ = {claimed:.12g}: "
                    f"log((1−a_j)/a_j) = {odds:.12g} is above {wanted:.12g}",
                )
            )
    outcome = all_parts("bisection", parts)
    return of_smaller_case(outcome, tried=n, asked=trial.at.n)


CLAIM = Claim(
    id="copy-margin",
    section="1 retrieval",
    statement="a_j ≥ 1−ε is guaranteed if and only if the margin is at least log((n−1)(1−ε)/ε)",
    latex=r"a_j\ge1-\varepsilon\text{ guaranteed}\iff\Delta\ge\log\frac{(n-1)(1-\varepsilon)}{\varepsilon}",
    expected="proved",
    parameters=(
        Parameter(name="n", default=10, lower=2, is_integer=True),
        Parameter(name="epsilon", default=0.1, lower=0, upper=1, is_open=True),
    ),
    conditions=("finite logits",),
    form=copy_margin,
    rivals=(
        Rival(statement="Δ ≥ log((n−1)/ε)", form=lambda epsilon, n: log((n - 1) / epsilon)),
        Rival(statement="Δ ≥ log(n(1−ε)/ε)", form=lambda epsilon, n: log(n * (1 - epsilon) / epsilon)),
        Rival(statement="Δ ≥ log((1−ε)/ε), whatever n", form=lambda epsilon, _n: log((1 - epsilon) / epsilon)),
    ),
    routes=(_by_bisection, _by_algebra),
    derivation="The least weight at margin Δ is 1/(1+(n−1)e^{−Δ}), reached when the others are equal (see `copy`). "
    "It is ≥ 1−ε exactly when (n−1)e^{−Δ} ≤ ε/(1−ε). n = 10, ε = 0.1: Δ ≥ log 81 = 4.394.",
    source="CS224N assignment 4, question 1(a)",
    figure=retrieval.least_margin,
)
