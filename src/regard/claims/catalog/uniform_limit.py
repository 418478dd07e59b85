"""A query that shrinks to zero returns the plain mean of the values."""

import math

import numpy as np

from regard.analysis.closed_forms.softmax import uniform_weight
from regard.analysis.engines.symbolic import identity, nonnegative
from regard.claims._evidence import Evidence, agreement, smaller_case
from regard.claims._retrieval import WEIGHT_AXIS, few_keys, rounding, weights
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer
from regard.render.figures import Axis, Chart, Guide, Series


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Squeeze: with logits within βR of each other and E = e^{βR}, Σ_{j≠i} e^{z_j−z_i} lies in [(n−1)/E, (n−1)E].

    The slack to either end is ≥ 0. As β → 0, E → 1, where both ends of the weight must be the claimed limit.
    """
    end, rest, slack, n, m = trial.field("E", "rest", "slack", counts=("n", "n-1"))
    least, most, limit = 1 / (1 + m * end), 1 / (1 + m / end), trial.form(n).substitute(n=m + 1)
    return [
        nonnegative(1 / (1 + rest) - least.substitute(E=(rest + slack) / m), "a_i ≥ 1/(1+(n−1)E)"),
        nonnegative(most - 1 / (1 + m / end + slack), "a_i ≤ 1/(1+(n−1)/E)"),
        identity(least.substitute(E=1), limit, "the lower end at β = 0"),
        identity(most.substitute(E=1), limit, "the upper end at β = 0"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Random keys under ever smaller queries: logits within βR of each other leave a_i within (e^{βR}−1)/n of 1/n."""
    (n, size), rng = few_keys(trial.at.n), trial.rng("keys")
    keys, query, claimed = rng.normal(size=(n, 4)), rng.normal(size=4), float(trial.form(n))
    spread, parts = float(np.ptp(keys @ query)), []
    for beta in (1e-7, 1e-5, 1e-3, 1e-1):
        found = weights(beta * query, keys)
        farthest = float(found[np.abs(found - claimed).argmax()])
        tolerance = math.expm1(beta * spread) / n + rounding(n, 0.0)
        at = f"{size}, β = {beta:g}, logits within {beta * spread:.3g}"
        parts.append(agreement("a weight", claimed=claimed, found=farthest, tolerance=tolerance, at=at))
    return smaller_case(parts, tried=n, asked=trial.at.n)


def _figure(at: Settings) -> Chart:
    n, scales = min(at.n, 8), np.geomspace(1e-3, 10.0, 50)
    rng = np.random.default_rng(0)
    keys, direction = rng.normal(size=(n, 4)), rng.normal(size=4)
    found = np.array([weights(scale * direction, keys) for scale in scales])
    order = np.argsort(-found[-1])[[0, 1, -1]]
    return Chart(
        title="A vanishing query asks for nothing",
        caption=f"The weights of n = {n} random keys under q = βq₀. On the left they all meet at 1/n; on the "
        "right one key takes everything.",
        x=Axis(label="scale β", is_log=True),
        y=WEIGHT_AXIS,
        series=[
            Series(label=name, x=scales, y=found[:, key])
            for name, key in zip(("the best key", "the second", "the last"), order, strict=True)
        ],
        guides=(Guide(at=float(uniform_weight(n)), label=f"1/n = {uniform_weight(n):.3g}"),),
    )


CLAIM = Claim(
    id="uniform-limit",
    section="1 retrieval",
    statement="q = βq₀ with β → 0 gives the plain mean of the values: a_i → 1/n",
    latex=r"q=\beta q_0,\ \beta\to0:\quad a_i\to\frac1n,\qquad c\to\frac1n\sum_i v_i",
    expected="proved",
    parameters=(integer("n", 10, lower=2),),
    assumes=("the squeeze theorem",),
    form=uniform_weight,
    near_misses=(
        NearMiss("a_i → 1/(n−1)", lambda n: 1 / (n - 1)),
        NearMiss("c → the sum of the values", lambda n: 1 + 0 * n),
        NearMiss("c → 0, like the query", lambda n: 0 * n),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="If the logits of q₀ lie within R of each other, those of βq₀ lie within βR, so "
    "1/(1+(n−1)e^{βR}) ≤ a_i ≤ 1/(1+(n−1)e^{−βR}); both ends are 1/n at β = 0, and c is linear in the weights.",
    source="CS224N assignment 4, question 1(a)",
    figure=_figure,
    demonstration="copy?beta=0&n=10",
)
