"""The scale from which the sum of two keys averages their values to within ε."""

import math
from fractions import Fraction

from regard.analysis.closed_forms.arithmetic import log
from regard.analysis.closed_forms.softmax import average_scale
from regard.analysis.engines.symbolic import identity, nonnegative, positive
from regard.claims._evidence import Evidence, agreement, in_balls, smaller_case
from regard.claims._figures import counts, guide_at
from regard.claims._retrieval import KEYS_AXIS, crossing, few_keys, log_odds, orthonormal_keys, rounding
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Series


def _by_algebra(trial: Trial) -> list[Evidence]:
    """ε = 1/(2+2p) with p > 0, n = 2+m; scales above and below the claimed one differ from it by a factor 1+s in e^β.

    Since e^β is a multiple of n−2, the scale must grow like β = log(n−2) + a number that depends only on ε.
    """
    p, s, m = trial.field("1/(2 epsilon)-1", "e^beta/claimed-1", counts=("n-2",))
    epsilon, half = 1 / (2 + 2 * p), Fraction(1, 2)
    claimed = trial.form(epsilon, 2 + m).exp()
    above, below = claimed * (1 + s), claimed / (1 + s)
    return [
        nonnegative(above / (2 * above + m) - (half - epsilon), "from this scale on a_a ≥ ½−ε"),
        positive((half - epsilon) - below / (2 * below + m), "below it a_a < ½−ε"),
        identity((claimed / m).derivative("n-2"), 0, "e^β grows in proportion to n−2"),
    ]


def _by_bisection(trial: Trial) -> list[Evidence]:
    """The scale at which the other random orthonormal keys together get 2ε."""
    (n, size), epsilon = few_keys(trial.at.n), trial.at.epsilon
    keys = orthonormal_keys(n, trial.rng("keys"))
    logits = keys @ (keys[0] + keys[1])
    wanted = math.log(2 * epsilon) - math.log(1 - 2 * epsilon)
    found = crossing(lambda beta: log_odds(beta * logits, 2) <= wanted)
    at, claimed = f"{size}, ε = {epsilon:g}", in_balls(trial.form, epsilon, n)
    part = agreement("least scale", claimed=claimed, found=found, tolerance=rounding(n, found), at=at)
    return smaller_case(part, tried=n, asked=trial.at.n)


def _figure(at: Settings) -> Chart:
    keys = counts(3, 10_000)
    return Chart(
        title="More keys need a larger scale",
        caption="The least β for which both weights are at least ½ − ε. Ten times as many keys need "
        "log 10 = 2.3 more, whatever ε is.",
        x=KEYS_AXIS,
        y=Axis(label="least scale β"),
        series=[
            Series(label=f"ε = {epsilon:g}", x=keys, y=average_scale(epsilon, keys))
            for epsilon in (at.epsilon / 100, at.epsilon / 10, at.epsilon)
        ],
        guides=guide_at(at.n, f"n = {at.n:g}", keys),
    )


CLAIM = Claim(
    id="average-scale",
    section="1 retrieval",
    statement="orthonormal keys, q = β(k_a+k_b): a_a ≥ ½−ε if and only if β ≥ log((n−2)(1−2ε)/(4ε)), "
    "so the scale must grow like log n",
    latex=r"a_a\ge\tfrac12-\varepsilon\iff\beta\ge\log\frac{(n-2)(1-2\varepsilon)}{4\varepsilon}",
    expected="proved",
    parameters=(integer("n", 10, lower=3), real("epsilon", 0.1, lower=0, upper=0.5, is_open=True)),
    conditions=("orthonormal keys",),
    form=average_scale,
    near_misses=(
        NearMiss("β ≥ log((n−2)(1−2ε)/(2ε))", lambda epsilon, n: log((n - 2) * (1 - 2 * epsilon) / (2 * epsilon))),
        NearMiss("β ≥ log((n−1)(1−2ε)/(4ε))", lambda epsilon, n: log((n - 1) * (1 - 2 * epsilon) / (4 * epsilon))),
        NearMiss("β ≥ log(2(1−2ε)/ε), whatever n is", lambda epsilon, _n: log(2 * (1 - 2 * epsilon) / epsilon)),
    ),
    methods={"bisection": _by_bisection, "algebra": _by_algebra},
    derivation="a_a = 1/(2+(n−2)e^{−β}) ≥ ½−ε exactly when (n−2)e^{−β} ≤ 4ε/(1−2ε). "
    "n = 10, ε = 0.1: β ≥ log 16 = 2.773; ten times as many keys need about log 10 = 2.303 more.",
    source="CS224N assignment 4, question 1(b)",
    figure=_figure,
    demonstration="copy?goal=average&degrees=45&n=10",
)
