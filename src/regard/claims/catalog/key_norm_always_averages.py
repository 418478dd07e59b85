"""Misconception: with normalized keys one head always averages."""

from regard.analysis.closed_forms.arithmetic import normal_tail
from regard.analysis.closed_forms.random_keys import backwards_chance, ceiling_score, one_head_weight
from regard.analysis.closed_forms.softmax import average_weight
from regard.analysis.engines import Estimate, Probability, weight
from regard.analysis.engines.symbolic import identity
from regard.analysis.scenarios import GAMMA_POSITIVE, one_head
from regard.claims._evidence import Evidence, in_balls
from regard.claims._random_keys import CONDITIONS, PARAMETERS, CourseSetting, compared
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial
from regard.render.figures import Axis, Chart, Guide, Series

# Each atom is looked for within this fraction of the way to the other; the engines compute weights to about 1e-15.
_NEAR = 1e-3


def _by_algebra(trial: Trial) -> list[Evidence]:
    """k_a/‖k_a‖ = ±μ_a, so a's logit is β or −β, b's is β and the n−2 others' are 0."""
    n, beta = trial.field(counts=("n",), exponentials=("beta",))
    form = trial.form
    forward, backward = (own / (own + beta.exp() + n - 2) for own in (beta.exp(), (-beta).exp()))
    return [
        identity(form.forward(beta, n), forward, "w_a where γ > 0"),
        identity(form.backward(beta, n), backward, "w_a where γ < 0"),
        _sign_part(trial),
    ]


def _sign_part(trial: Trial) -> Evidence:
    """γ = 1 + σZ is negative exactly where Z < −1/σ, which happens unless γ > 0 is given."""
    if trial.form.is_given_positive:
        return Evidence(status="proved" if trial.form.score is None else "undecided", detail="γ > 0 is given")
    if trial.form.score is not None:
        [sigma] = trial.field("sigma", stream="sign")
        return identity(1 + sigma * trial.form.score(sigma), 0, "P(γ < 0) = Φ(−1/σ)")
    setting = CourseSetting.of(trial.at)
    weight_there = in_balls(one_head_weight, -setting.beta, setting.beta, setting.n)
    chance = in_balls(backwards_chance, setting.sigma)
    shown = f"{setting}: γ = −0.1 makes the key −μ_a and w_a = {weight_there:.6g}; P(γ < 0) = Φ(−1/σ) = {chance:.6g}"
    return Evidence(status="refuted", detail="γ < 0 has a positive probability, Φ(−1/σ)", counterexample=shown)


def _questions(trial: Trial, setting: CourseSetting) -> tuple[Probability, Probability]:
    """P(w_a at the upper point) and P(w_a at the lower one)."""
    lower, upper = (in_balls(point, setting.beta, setting.n) for point in (trial.form.backward, trial.form.forward))
    step, given = _NEAR * (upper - lower), GAMMA_POSITIVE if trial.form.is_given_positive else None
    return (
        Probability(of=weight("a"), at_least=upper - step, at_most=upper + step, given=given),
        Probability(of=weight("a"), at_least=lower - step, at_most=lower + step, given=given),
    )


def _compared(trial: Trial, setting: CourseSetting, found: tuple[Estimate, ...]) -> list[Evidence]:
    score = trial.form.score
    chance = 0.0 if score is None else in_balls(lambda sigma: normal_tail(-score(sigma)), setting.sigma)
    points = [in_balls(point, setting.beta, setting.n) for point in (trial.form.forward, trial.form.backward)]
    return [
        compared(f"P(w_a = {point:.6g})", claimed=claimed, found=estimate, slack=1e-13, at=setting)
        for point, claimed, estimate in zip(points, (1 - chance, chance), found, strict=True)
    ]


def _by_enclosure(trial: Trial) -> list[Evidence]:
    setting = CourseSetting.of(trial.at)
    found = setting.certified(one_head, _questions(trial, setting), is_normalized=True)
    return _compared(trial, setting, found)


def _by_direct_sampling(trial: Trial) -> list[Evidence]:
    """Whole keys, drawn and divided by their norms."""
    setting, seed = CourseSetting.of(trial.at).with_few_keys, trial.seed
    found = setting.sampled_directly(one_head, _questions(trial, setting), seed=seed, is_normalized=True)
    return _compared(trial, setting, found)


def _figure(at: Settings) -> Chart:
    setting = CourseSetting.of(at)
    backwards = float(backwards_chance(setting.sigma))
    ends = [in_balls(one_head_weight, sign * setting.beta, setting.beta, at.n) for sign in (-1.0, 1.0)]
    edges = [ends[0] - 0.01, ends[0] + 0.01, ends[1] - 0.01, ends[1] + 0.01]
    return Chart(
        title="Half, or nothing",
        caption=f"The values of w_a with normalized keys, n = {at.n:g}, β = {at.beta:g}, σ² = {at.sigma2:g}: near ½ if "
        f"γ > 0, and nearly 0 if γ < 0, which has probability {backwards:.3g}.",
        x=Axis(label="weight w_a", lower=-0.1, upper=1.0),
        y=Axis(label="probability", lower=0.0, upper=1.05),
        series=(Series(label="probability", x=edges, y=[backwards, 0.0, 1 - backwards], style="bars"),),
        guides=(Guide(at=0.5, label="½", is_vertical=True),),
    )


CLAIM = Claim(
    id="key-norm-always-averages",
    section="3 two heads",
    statement="normalizing keys (k/‖k‖) makes one head, q = β(μ_a+μ_b), always average: "
    "P(w_a = e^β/(2e^β+n−2)) = 1, which is ½ in the limit of large β",
    latex=r"k/\|k\|,\ q=\beta(\mu_a+\mu_b):\quad P\Big(w_a=\frac{e^\beta}{2e^\beta+n-2}\Big)=1",
    expected="refuted",
    parameters=PARAMETERS,
    conditions=CONDITIONS,
    # The weight on a for γ > 0 and for γ < 0 as functions of β and n, and z with P(γ < 0) = Φ(z); None if never.
    form=Form(
        score=None,
        forward=average_weight,
        backward=lambda beta, n: one_head_weight(-beta, beta, n),
        is_given_positive=False,
    ),
    near_misses=(
        NearMiss(
            "with probability Φ(−1/σ) the key points backwards, and then w_a = e^{−β}/(e^{−β}+e^β+n−2)",
            {"score": lambda sigma: -ceiling_score(sigma)},
        ),
        NearMiss("given γ > 0 it always averages", {"is_given_positive": True}),
    ),
    methods={"certified": _by_enclosure, "direct": _by_direct_sampling, "algebra": _by_algebra},
    derivation="k_a/‖k_a‖ = sign(γ)μ_a: the length is gone, the sign is not. If γ < 0 the key is −μ_a with logit "
    "−β, and nearly all the weight goes to b. So w_a takes just two values, w₊ with probability Φ(1/σ) and w₋ with "
    "Φ(−1/σ), which is 0.0786496 at σ² = ½; n = 10, β = 20: w₊ = 0.5 and w₋ = 4e-18. At any large β one output in "
    "thirteen is v_b rather than the mean. See `key-norm-cures` for what normalizing does achieve.",
    source="CS224N assignment 4, question 1(d); Henry et al. 2020, Query-key normalization for Transformers",
    figure=_figure,
    demonstration="swing?beta=20&isNormalized=1",
)
