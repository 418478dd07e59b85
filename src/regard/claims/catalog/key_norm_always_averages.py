"""The myth that with normalised keys one head always averages."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from regard.analysis.closed_forms.arithmetic import normal_tail
from regard.analysis.closed_forms.random_keys import backwards_chance, ceiling_score, one_head_weight
from regard.analysis.closed_forms.retrieval import average_weight
from regard.analysis.engines import Estimate, Probability, direct, weight
from regard.analysis.engines.symbolic import Field, identity
from regard.analysis.scenarios import GAMMA_POSITIVE, course_keys, one_head
from regard.claims._comparisons import all_parts, in_balls
from regard.claims._random_keys import BETA, COURSE, KEYS, SIGMA2, Setting, compared
from regard.claims.claim import Claim, Rival, Trial
from regard.core.verdict import Evidence

# Whole keys are drawn, so that their number and width cost; the certified route covers every n.
_MOST_KEYS, _DRAWS, _CONFIDENCE = 10, 5000, 1 - 1e-9
# Each atom is looked for within this part of the way to the other; the engines know weights to some 1e-15.
_NEAR = 1e-3


@dataclass(frozen=True, kw_only=True)
class TwoPoints:
    """The weight on a for γ > 0 and for γ < 0 as functions of β and n, and z with P(γ < 0) = Φ(z); None if never."""

    score: Callable[[Any], Any] | None
    forward: Callable[[Any, Any], Any] = average_weight
    backward: Callable[[Any, Any], Any] = lambda beta, n: one_head_weight(-beta, beta, n)
    is_given_positive: bool = False


def _by_algebra(trial: Trial) -> Evidence:
    """k_a/‖k_a‖ = ±μ_a, so a's logit is β or −β, b's is β and the n−2 others' are 0."""
    field, rng, form = Field(counts=("n",), exponentials=("beta",)), trial.rng("algebra"), trial.form
    beta, n = field["beta"], field["n"]
    forward, backward = (own / (own + beta.exp() + n - 2) for own in (beta.exp(), (-beta).exp()))
    return all_parts(
        "algebra",
        [
            identity(form.forward(beta, n), forward, rng=rng, what="w_a where γ > 0"),
            identity(form.backward(beta, n), backward, rng=rng, what="w_a where γ < 0"),
            _sign_part(trial),
        ],
    )


def _sign_part(trial: Trial) -> Evidence:
    """γ = 1 + σZ is negative exactly where Z < −1/σ, which happens unless γ > 0 is given."""
    if trial.form.is_given_positive:
        status, detail = ("proved", "γ > 0 is given") if trial.form.score is None else ("undecided", "γ > 0 is given")
        return Evidence(route="algebra", status=status, detail=detail)
    field = Field("sigma")
    if trial.form.score is not None:
        return identity(
            1 + field["sigma"] * trial.form.score(field["sigma"]),
            field.constant(0),
            rng=trial.rng("sign"),
            what="P(γ < 0) = Φ(−1/σ)",
        )
    setting = Setting.of(trial.at)
    weight_there = in_balls(one_head_weight, -setting.beta, setting.beta, setting.n)
    chance = in_balls(backwards_chance, setting.sigma)
    return Evidence(
        route="algebra",
        status="refuted",
        detail="γ < 0 has a positive probability, Φ(−1/σ)",
        counterexample=f"{setting}: γ = −0.1 makes the key −μ_a and w_a = {weight_there:.6g}; "
        f"P(γ < 0) = Φ(−1/σ) = {chance:.6g}",
    )


def _chance(trial: Trial, sigma: float) -> float:
    """The claimed P(γ < 0)."""
    score = trial.form.score
    return 0.0 if score is None else in_balls(lambda noise: normal_tail(-score(noise)), sigma)


def _questions(trial: Trial, setting: Setting) -> tuple[Probability, Probability]:
    """P(w_a at the upper point) and P(w_a at the lower one)."""
    lower, upper = (in_balls(point, setting.beta, setting.n) for point in (trial.form.backward, trial.form.forward))
    step, given = _NEAR * (upper - lower), GAMMA_POSITIVE if trial.form.is_given_positive else None
    return (
        Probability(of=weight("a"), at_least=upper - step, at_most=upper + step, given=given),
        Probability(of=weight("a"), at_least=lower - step, at_most=lower + step, given=given),
    )


def _compared(trial: Trial, setting: Setting, found: tuple[Estimate, ...]) -> list[Evidence]:
    form, scale = trial.form, (setting.beta, setting.n)
    chance = _chance(trial, setting.sigma)
    points = [in_balls(point, *scale) for point in (form.forward, form.backward)]
    return [
        compared(f"P(w_a = {point:.6g})", claimed=claimed, found=estimate, slack=1e-13, at=setting)
        for point, claimed, estimate in zip(points, (1 - chance, chance), found, strict=True)
    ]


def _by_enclosure(trial: Trial) -> Evidence:
    setting = Setting.of(trial.at)
    found = setting.certified(one_head, _questions(trial, setting), is_normalised=True)
    return all_parts("certified", _compared(trial, setting, found))


def _by_direct_sampling(trial: Trial) -> Evidence:
    """Whole keys, drawn and divided by their norms."""
    setting = Setting.of(trial.at)
    setting = replace(setting, n=min(setting.n, _MOST_KEYS))
    keys = course_keys(n=setting.n, sigma2=setting.sigma2, is_normalised=True)
    found = direct.answers(
        keys.in_key_space(one_head(setting.beta)),
        _questions(trial, setting),
        draws=_DRAWS,
        seed=trial.seed,
        confidence=_CONFIDENCE,
    )
    return all_parts("direct", _compared(trial, setting, found))


CLAIM = Claim(
    id="key-norm-always-averages",
    section="3 two heads",
    statement="normalising keys (k/‖k‖) makes one head, q = β(μ_a+μ_b), always average: "
    "P(w_a = e^β/(2e^β+n−2)) = 1, which is ½ in the limit of large β",
    latex=r"k/\|k\|,\ q=\beta(\mu_a+\mu_b):\quad P\Big(w_a=\frac{e^\beta}{2e^\beta+n-2}\Big)=1",
    expected="refuted",
    parameters=(KEYS, BETA, SIGMA2),
    conditions=COURSE,
    form=TwoPoints(score=None),
    rivals=(
        Rival(
            statement="with a chance of Φ(−1/σ) the key points backwards, and then w_a = e^{−β}/(e^{−β}+e^β+n−2)",
            form=TwoPoints(score=lambda sigma: -ceiling_score(sigma)),
            becomes="proved",
        ),
        Rival(statement="given γ > 0 it does", form=TwoPoints(score=None, is_given_positive=True), becomes="proved"),
    ),
    routes=(_by_enclosure, _by_direct_sampling, _by_algebra),
    derivation="k_a/‖k_a‖ = sign(γ)μ_a: the length is gone, the sign is not. Where γ < 0 the key is −μ_a, its logit "
    "−β, and all of q's weight goes to b. So w_a has two values only, w₊ with probability Φ(1/σ) and w₋ with Φ(−1/σ), "
    "0.0786496 at σ² = ½; n = 10, β = 20: w₊ = 0.5 and w₋ = 4e-18. At any large β one output in thirteen is v_b "
    "and not the mean. See `key-norm-cures` for what normalising does achieve.",
    source="CS224N assignment 4, question 1(d); Henry et al. 2020, Query-key normalization for Transformers",
)
