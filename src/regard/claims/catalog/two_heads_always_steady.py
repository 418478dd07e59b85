"""Misconception: with two heads, the first always locks on to its value."""

from flint import arb, ctx

from regard.analysis.closed_forms.random_keys import backwards_chance, two_head_weight
from regard.analysis.engines import Estimate, Probability, weight
from regard.analysis.engines.symbolic import identity, nonnegative
from regard.analysis.scenarios import GAMMA_POSITIVE, two_heads
from regard.claims import _random_keys as course
from regard.claims._evidence import Evidence, in_balls
from regard.claims.claim import Claim, Form, NearMiss, Trial

_LOCKED = 0.9


def _by_algebra(trial: Trial) -> list[Evidence]:
    """If γ < 0, a gets at most 1/n at every scale; if γ > 0, it gets everything in the limit."""
    growth, m, z = trial.field("e^(beta |gamma|)-1", counts=("n-1",), exponentials=("z",))
    share = two_head_weight(z, m + 1)
    return [
        nonnegative(1 / (m + 1) - share.substitute(e_z=1 / (1 + growth)), "w_a ≤ 1/n where γ ≤ 0"),
        identity(share.limit("e^z"), 1, "w_a → 1 as β → ∞ where γ > 0"),
        _chance_part(trial),
    ]


def _chance_part(trial: Trial) -> Evidence:
    """So the probability of a miss tends to P(γ < 0) = Φ(−1/σ), or to 0 given γ > 0."""
    setting = course.CourseSetting.of(trial.at)
    with ctx.workprec(128):
        sigma = arb(setting.sigma)
        truth = arb(0) if trial.form.is_given_positive else backwards_chance(sigma)
        claimed = arb(trial.form.misses(sigma))
        chance = truth.str(12, radius=False)
        shown = f"σ² = {setting.sigma2:g}, any n and β: P(w_a ≤ 1/n) = P(γ < 0) = Φ(−1/σ) = {chance}"
        if claimed < truth or claimed > truth:
            beta = min(setting.beta, 1e3)
            backwards = float(two_head_weight(-0.1 * beta, setting.n))
            case = f"γ = −0.1 with n = {setting.n:.12g} and β = {beta:g} gives w_a = {backwards:.3g}"
            against = f"{shown}, the statement says {float(claimed):g}; {case}"
            return Evidence(status="refuted", detail=shown, value=float(truth), counterexample=against)
        if claimed.overlaps(truth):
            return Evidence(status="holds", detail="the probability of a miss tends to P(γ < 0 | condition)")
    return Evidence(status="undecided", detail="the claimed limit is not a number")


def _compared(trial: Trial, far: course.CourseSetting, found: tuple[Estimate, ...]) -> list[Evidence]:
    claimed = in_balls(trial.form.misses, far.sigma)
    return [course.compared(f"P(w_a ≤ {_LOCKED:g})", claimed=claimed, found=found[0], slack=far.step_error, at=far)]


def _questions(trial: Trial) -> list[Probability]:
    given = GAMMA_POSITIVE if trial.form.is_given_positive else None
    return [Probability(of=weight("a"), at_most=_LOCKED, given=given)]


CLAIM = Claim(
    id="two-heads-always-steady",
    section="3 two heads",
    statement="with q_1 = βμ_a and β large enough, head 1 always locks on to v_a: P(w_a ≥ 0.9) → 1",
    latex=r"q_1=\beta\mu_a:\quad P(w_a\ge0.9)\xrightarrow{\beta\to\infty}1",
    expected="refuted",
    parameters=course.PARAMETERS,
    conditions=course.CONDITIONS,
    assumes=("P(w_a < 0.9) converges where w_a does for almost every γ",),
    # The limit of P(w_a < 0.9) as β → ∞, as a function of σ; possibly given γ > 0.
    form=Form(misses=lambda sigma: 0 * sigma, is_given_positive=False),
    near_misses=(
        NearMiss("P(w_a ≥ 0.9) → Φ(1/σ)", {"misses": backwards_chance}, becomes="holds"),
        NearMiss("given γ > 0 it always does", {"is_given_positive": True}, becomes="holds"),
    ),
    methods={**course.engine_methods(two_heads, _questions, _compared, scales=(course.FAR,)), "algebra": _by_algebra},
    derivation="Head 1's w_a = e^{βγ}/(e^{βγ}+n−1). If γ < 0 a larger β makes it smaller: it is below 1/n at every "
    "β, and head 1 attends to everything but a. That happens with probability Φ(−1/σ), 0.0786496035251 at σ² = ½.",
    source="CS224N assignment 4, question 1(d)",
    figure=lambda at: course.reliability_chart(at, epsilon=0.1, ns=(at.n,)),
    demonstration="swing?beta=20",
)
