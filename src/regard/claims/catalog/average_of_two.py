"""q = β(k_a + k_b) averages two values as β grows."""

import math
from fractions import Fraction

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.softmax import average_weight, other_weight
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, agreement, in_balls, smaller_case
from regard.claims._figures import evenly, guide_at
from regard.claims._retrieval import WEIGHT_AXIS, few_keys, hot_weight, orthonormal_keys, rounding, tempered, weights
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Guide, Series

# At this scale the n−2 other keys together weigh less than 10⁻¹⁷·n: in float64 the limit is reached.
NEARLY_INFINITE = 40.0


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Softmax of the logits (β, β, 0, …, 0), and its limit as e^β → ∞ with n fixed."""
    n, beta = trial.field(counts=("n",), exponentials=("beta",))
    form, pair = trial.form, hot_weight(beta, n, 2)
    other = pair / beta.exp()
    return [
        identity(form.pair(beta, n), pair, "a_a = a_b"),
        identity(form.other(beta, n), other, "each other weight"),
        identity(pair.limit("e^beta"), form.limit, "the limit of a_a and a_b"),
        identity(((n - 2) * other).limit("e^beta"), 0, "all other weights vanish"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Attention over random orthonormal keys, at the given scale and at one so large that the limit is reached."""
    (n, size), beta, form = few_keys(trial.at.n), tempered(trial.at.beta), trial.form
    keys = orthonormal_keys(n, trial.rng("keys"))
    direction = keys[0] + keys[1]
    found, at = weights(beta * direction, keys), f"{size}, β = {beta:g}, random orthonormal keys"
    limit, far = weights(NEARLY_INFINITE * direction, keys), f"{size}, β = {NEARLY_INFINITE:g}"
    pair, other = in_balls(form.pair, beta, n), in_balls(form.other, beta, n)
    parts = [
        agreement(name, claimed=claimed, found=measured, tolerance=rounding(n, scale), at=place)
        for name, claimed, measured, place, scale in (
            ("a_a", pair, found[0], at, beta),
            ("a_b", pair, found[1], at, beta),
            ("another weight", other, found[-1], at, beta),
            ("coefficient of v_a in c", float(form.limit), limit[0], far, NEARLY_INFINITE),
            ("coefficient of v_b in c", float(form.limit), limit[1], far, NEARLY_INFINITE),
            ("all other coefficients together", 0.0, limit[2:].sum(), far, NEARLY_INFINITE),
        )
    ]
    return smaller_case(parts, tried=n, asked=trial.at.n)


def _figure(at: Settings) -> Chart:
    scales, n = evenly(at.beta, 0.0, min(max(12.0, 2 * math.log(at.n)), 300.0), 160), float(at.n)
    return Chart(
        title="Two keys share the weight",
        caption=f"q = β(k_a + k_b) over n = {at.n:g} orthonormal keys: the two weights meet at ½ once β is well "
        "above log n, and nothing is left for the others.",
        x=Axis(label="scale β"),
        y=WEIGHT_AXIS,
        series=(
            Series(label="a_a = a_b", x=scales, y=average_weight(scales, n)),
            Series(label="all others together", x=scales, y=(n - 2) * other_weight(scales, n)),
        ),
        guides=(Guide(at=0.5, label="½"), *guide_at(at.beta, f"β = {at.beta:g}", scales)),
    )


CLAIM = Claim(
    id="average-of-two",
    section="1 retrieval",
    statement="orthonormal keys, q = β(k_a+k_b): a_a = a_b = e^β/(2e^β+n−2), other weights 1/(2e^β+n−2) each; "
    "so c → ½(v_a+v_b) as β → ∞",
    latex=r"q=\beta(k_a+k_b)\;\Rightarrow\;a_a=a_b=\frac{e^\beta}{2e^\beta+n-2},\quad "
    r"a_i=\frac1{2e^\beta+n-2},\quad c\to\tfrac12(v_a+v_b)",
    expected="proved",
    parameters=(integer("n", 10, lower=3), real("beta", 5.0, lower=0)),
    conditions=("orthonormal keys",),
    # The weight on each of the two keys and on each other one, and the coefficient of v_a and v_b in the limit.
    form=Form(pair=average_weight, other=other_weight, limit=Fraction(1, 2)),
    near_misses=(
        NearMiss(
            "n−1 instead of n−2 in the denominator", {"pair": lambda beta, n: exp(beta) / (2 * exp(beta) + n - 1)}
        ),
        NearMiss("only one e^β in the denominator", {"pair": lambda beta, n: exp(beta) / (exp(beta) + n - 2)}),
        NearMiss("the other keys get weight 0", {"other": lambda beta, n: 0 * beta * n}),
        NearMiss("c → v_a+v_b", {"limit": Fraction(1)}),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="k_aᵀq = k_bᵀq = β and k_iᵀq = 0 for the n−2 others, so the denominator of softmax is 2e^β + (n−2). "
    "Dividing by e^β gives 1/(2 + (n−2)e^{−β}) → ½, and the n−2 other weights vanish together.",
    source="CS224N assignment 4, question 1(b)",
    figure=_figure,
    demonstration="copy?goal=average&degrees=45&beta=5&n=10",
)
