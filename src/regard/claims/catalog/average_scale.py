"""The scale from which the sum of two keys averages their values to within ε."""

import math

from regard.analysis.closed_forms.arithmetic import log
from regard.analysis.closed_forms.retrieval import average_scale
from regard.analysis.engines.symbolic import Field, identity, nonnegative, positive
from regard.claims._comparisons import Measured, agreement, all_parts, in_balls, of_smaller_case
from regard.claims._retrieval import counted, crossing, log_odds, orthonormal_keys, rounding, thinned
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence


def _by_algebra(trial: Trial) -> Evidence:
    """ε = 1/(2+2p) with p > 0, n = 2+m; scales above and below the claimed one differ from it by a factor 1+s in e^β.

    That e^β is a multiple of n−2 says how the scale must grow: β = log(n−2) + a number that depends on ε only.
    """
    field = Field("1/(2 epsilon)-1", "e^beta/claimed-1", counts=("n-2",))
    p, s, m = (field[name] for name in field.symbols)
    epsilon, half, rng = 1 / (2 + 2 * p), field.constant(1) / 2, trial.rng("algebra")
    claimed = trial.form(epsilon, 2 + m).exp()
    above, below = claimed * (1 + s), claimed / (1 + s)
    return all_parts(
        "algebra",
        [
            nonnegative(above / (2 * above + m) - (half - epsilon), rng=rng, what="from this scale on a_a ≥ ½−ε"),
            positive((half - epsilon) - below / (2 * below + m), rng=rng, what="below it a_a < ½−ε"),
            identity(
                (claimed / m).derivative("n-2"), field.constant(0), rng=rng, what="e^β grows in proportion to n−2"
            ),
        ],
    )


def _by_bisection(trial: Trial) -> Evidence:
    """The scale at which random orthonormal keys leave 2ε for all the others together."""
    n, epsilon = thinned(trial.at.n), trial.at.epsilon
    keys = orthonormal_keys(n, trial.rng("keys"))
    logits = keys @ (keys[0] + keys[1])
    wanted = math.log(2 * epsilon) - math.log(1 - 2 * epsilon)
    found = crossing(lambda beta: log_odds(beta * logits, 2) <= wanted)
    measured = Measured(value=found, tolerance=rounding(n, found))
    outcome = agreement(
        "least scale",
        claimed=in_balls(trial.form, epsilon, n),
        measured=measured,
        at=f"{counted(trial.at.n)}, ε = {epsilon:g}",
        route="bisection",
    )
    return of_smaller_case(outcome, tried=n, asked=trial.at.n)


CLAIM = Claim(
    id="average-scale",
    section="1 retrieval",
    statement="orthonormal keys, q = β(k_a+k_b): a_a ≥ ½−ε if and only if β ≥ log((n−2)(1−2ε)/(4ε)), "
    "so the scale must grow like log n",
    latex=r"a_a\ge\tfrac12-\varepsilon\iff\beta\ge\log\frac{(n-2)(1-2\varepsilon)}{4\varepsilon}",
    expected="proved",
    parameters=(
        Parameter(name="n", default=10, lower=3, is_integer=True),
        Parameter(name="epsilon", default=0.1, lower=0, upper=0.5, is_open=True),
    ),
    conditions=("orthonormal keys",),
    form=average_scale,
    rivals=(
        Rival(
            statement="β ≥ log((n−2)(1−2ε)/(2ε))",
            form=lambda epsilon, n: log((n - 2) * (1 - 2 * epsilon) / (2 * epsilon)),
        ),
        Rival(
            statement="β ≥ log((n−1)(1−2ε)/(4ε))",
            form=lambda epsilon, n: log((n - 1) * (1 - 2 * epsilon) / (4 * epsilon)),
        ),
        Rival(
            statement="β ≥ log(2(1−2ε)/ε), whatever n", form=lambda epsilon, _n: log(2 * (1 - 2 * epsilon) / epsilon)
        ),
    ),
    routes=(_by_bisection, _by_algebra),
    derivation="a_a = 1/(2+(n−2)e^{−β}) ≥ ½−ε exactly when (n−2)e^{−β} ≤ 4ε/(1−2ε). "
    "n = 10, ε = 0.1: β ≥ log 16 = 2.773; ten times as many keys cost about log 10 = 2.303 more.",
    source="CS224N assignment 4, question 1(b)",
    figure=retrieval.least_scale,
)
