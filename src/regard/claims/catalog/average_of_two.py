"""q = β(k_a + k_b) averages two values as β grows."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.retrieval import average_weight, other_weight
from regard.analysis.engines.symbolic import Field, identity
from regard.claims._comparisons import Measured, agreement, all_parts, in_balls, of_smaller_case
from regard.claims._retrieval import counted, hot_weight, orthonormal_keys, rounding, tempered, thinned, weights
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

# At this scale the n−2 other keys together weigh less than 10⁻¹⁷·n: in float64 the limit is reached.
NEARLY_INFINITE = 40.0


@dataclass(frozen=True, kw_only=True)
class Averaging:
    """The weight on each of the two keys and on each other one, and the coefficient of v_a and v_b in the limit."""

    pair: Callable[[Any, Any], Any] = average_weight
    other: Callable[[Any, Any], Any] = other_weight
    limit: Fraction = Fraction(1, 2)


def _by_algebra(trial: Trial) -> Evidence:
    """Softmax of the logits (β, β, 0, …, 0), and its limit as e^β → ∞ with n fixed."""
    field = Field(counts=("n",), exponentials=("beta",))
    beta, n, form, rng = field["beta"], field["n"], trial.form, trial.rng("algebra")
    pair = hot_weight(beta, n, 2)
    other = pair / beta.exp()
    return all_parts(
        "algebra",
        [
            identity(form.pair(beta, n), pair, rng=rng, what="a_a = a_b"),
            identity(form.other(beta, n), other, rng=rng, what="each other weight"),
            identity(pair.limit("e^beta"), field.constant(form.limit), rng=rng, what="the limit of a_a and a_b"),
            identity(((n - 2) * other).limit("e^beta"), field.constant(0), rng=rng, what="all other weights vanish"),
        ],
    )


def _by_brute_force(trial: Trial) -> Evidence:
    """Attention over random orthonormal keys, at the given scale and at one where the limit is reached."""
    n, beta, form = thinned(trial.at.n), tempered(trial.at.beta), trial.form
    keys = orthonormal_keys(n, trial.rng("keys"))
    direction = keys[0] + keys[1]
    found, at = weights(beta * direction, keys), f"{counted(trial.at.n)}, β = {beta:g}, random orthonormal keys"
    limit, far = weights(NEARLY_INFINITE * direction, keys), f"{counted(trial.at.n)}, β = {NEARLY_INFINITE:g}"
    pair, other = in_balls(form.pair, beta, n), in_balls(form.other, beta, n)
    outcome = all_parts(
        "brute force",
        [
            agreement(
                name,
                claimed=claimed,
                measured=Measured(value=float(measured), tolerance=rounding(n, scale)),
                at=place,
                route="brute force",
            )
            for name, claimed, measured, place, scale in (
                ("a_a", pair, found[0], at, beta),
                ("a_b", pair, found[1], at, beta),
                ("a weight elsewhere", other, found[-1], at, beta),
                ("coefficient of v_a in c", float(form.limit), limit[0], far, NEARLY_INFINITE),
                ("coefficient of v_b in c", float(form.limit), limit[1], far, NEARLY_INFINITE),
                ("all other coefficients together", 0.0, limit[2:].sum(), far, NEARLY_INFINITE),
            )
        ],
    )
    return of_smaller_case(outcome, tried=n, asked=trial.at.n)


CLAIM = Claim(
    id="average-of-two",
    section="1 retrieval",
    statement="orthonormal keys, q = β(k_a+k_b): a_a = a_b = e^β/(2e^β+n−2), other weights 1/(2e^β+n−2) each; "
    "so c → ½(v_a+v_b) as β → ∞",
    latex=r"q=\beta(k_a+k_b)\;\Rightarrow\;a_a=a_b=\frac{e^\beta}{2e^\beta+n-2},\quad "
    r"a_i=\frac1{2e^\beta+n-2},\quad c\to\tfrac12(v_a+v_b)",
    expected="proved",
    parameters=(
        Parameter(name="n", default=10, lower=3, is_integer=True),
        Parameter(name="beta", default=5.0, lower=0),
    ),
    conditions=("orthonormal keys",),
    form=Averaging(),
    rivals=(
        Rival(
            statement="the others count n−1 in the denominator",
            form=Averaging(pair=lambda beta, n: exp(beta) / (2 * exp(beta) + n - 1)),
        ),
        Rival(
            statement="only one e^β in the denominator",
            form=Averaging(pair=lambda beta, n: exp(beta) / (exp(beta) + n - 2)),
        ),
        Rival(statement="the other keys get weight 0", form=Averaging(other=lambda beta, n: 0 * beta * n)),
        Rival(statement="c → v_a+v_b", form=Averaging(limit=Fraction(1))),
    ),
    routes=(_by_brute_force, _by_algebra),
    derivation="k_aᵀq = k_bᵀq = β and k_iᵀq = 0 for the n−2 others, so the softmax's denominator is 2e^β + (n−2). "
    "Dividing by e^β gives 1/(2 + (n−2)e^{−β}) → ½, and the n−2 other weights vanish together.",
    source="CS224N assignment 4, question 1(b)",
    figure=retrieval.averaging,
)
