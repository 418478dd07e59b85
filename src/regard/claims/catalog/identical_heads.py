"""Misconception: two heads with the same query give a steadier output than one."""

from collections.abc import Callable
from functools import partial

from regard.analysis.closed_forms.random_keys import averaged_variance_ratio, one_head_weight
from regard.analysis.engines import Estimate, Variance, coefficient
from regard.analysis.engines.symbolic import identity, positive
from regard.analysis.scenarios import identical_heads, one_head, two_heads
from regard.claims import _random_keys as course
from regard.claims._evidence import Evidence
from regard.claims._figures import around
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial
from regard.render.figures import Axis, Chart, Guide, Series

_QUESTION = Variance(of=coefficient("a"))


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Equal logits give equal weights in every draw; since they vary with γ, their correlation exists and is 1."""
    growth, m, logit, beta = trial.field("growth", counts=("n-2",), exponentials=("z", "beta"))
    heads = trial.form
    weights = [one_head_weight(logit, beta, m + 2) for _ in range(heads.num_heads)]
    grown = weights[0].substitute(e_z=(1 + growth) * logit.exp())
    parts = [
        identity(sum(weights) / heads.num_heads, weights[0], "c is one head's output"),
        positive(grown - weights[0], "w_a varies with γ"),
    ]
    if heads.correlation != 1:
        shown = f"{heads.num_heads} heads with q = β(μ_a+μ_b), any keys: c_1 = c_2, so the correlation is 1"
        against = f"{shown} and the variance ratio 1, the statement says {heads.correlation} and {_ratio(trial):g}"
        parts.append(Evidence(status="refuted", detail=shown, counterexample=against))
    return parts


def _compared(trial: Trial, answer: Callable[[course.DesignAtScale, int], tuple[Estimate, ...]]) -> Evidence:
    """The variance under all heads over one head's, against the claimed ratio; `answer` takes a design and a seed.

    The single head has a seed of its own, so that the two cannot agree just by sharing draws.
    """
    design = partial(identical_heads, num_heads=trial.form.num_heads)
    [one], [many] = answer(one_head, trial.seed + 1), answer(design, trial.seed)
    at, claimed = f"{trial.form.num_heads} equal heads, {course.CourseSetting.of(trial.at)}", one / _ratio(trial)
    return course.compared("Var of v_a's coefficient", claimed=claimed.value, found=many, slack=claimed.width, at=at)


def _ratio(trial: Trial) -> float:
    """Variance under one head over that under all of them: H/(1+(H−1)ρ)."""
    return averaged_variance_ratio(trial.form.correlation, trial.form.num_heads)


def _by_enclosure(trial: Trial) -> Evidence:
    setting = course.CourseSetting.of(trial.at)
    return _compared(trial, lambda design, _: setting.certified(design, [_QUESTION]))


def _by_sampling(trial: Trial) -> Evidence:
    setting = course.CourseSetting.of(trial.at)
    return _compared(trial, lambda design, seed: setting.sampled(design, [_QUESTION], seed=seed))


def _figure(at: Settings) -> Chart:
    scales = around(at.beta, 0.5, 200.0, course.NUM_POINTS // 2)
    [one], [same], [two] = (
        course.certified_curves(at, scales, design, [_QUESTION]) for design in (one_head, identical_heads, two_heads)
    )
    return Chart(
        title="The same query twice",
        caption=f"The variance of v_a's coefficient, n = {at.n:g}, σ² = {at.sigma2:g}. Using the same query in "
        "both heads changes nothing; one query per key does.",
        x=course.SCALE_AXIS,
        y=Axis(label="variance of v_a's coefficient", lower=0.0),
        series=(
            course.smooth_series("one head", scales, one),
            Series(label="the same head twice", x=scales, y=same, style="points"),
            course.smooth_series("two heads", scales, two),
        ),
        guides=(Guide(at=0.25, label="¼, a fair coin"),),
    )


CLAIM = Claim(
    id="identical-heads",
    section="3 two heads",
    statement="two heads with q_1 = q_2 = β(μ_a+μ_b) steady the output as well: their fluctuations cancel and the "
    "variance is halved",
    latex=r"q_1=q_2=\beta(\mu_a+\mu_b):\quad\mathrm{Var}\,\tfrac12(w_a^1+w_a^2)=\tfrac12\mathrm{Var}\,w_a^1",
    expected="refuted",
    parameters=course.PARAMETERS,
    conditions=course.CONDITIONS,
    # The number of heads with the same query, and the claimed correlation of their weights.
    form=Form(num_heads=2, correlation=0),
    near_misses=(
        NearMiss("the heads have correlation 1 and the variance ratio is exactly 1", {"correlation": 1}),
        NearMiss("the same holds for eight equal heads", {"correlation": 1, "num_heads": 8}),
    ),
    methods={"certified": _by_enclosure, "monte carlo": _by_sampling, "algebra": _by_algebra},
    derivation="Both heads see the same keys, so equal queries give equal logits, weights and outputs: c = ½(c_1+c_1) "
    "= c_1. H heads with correlation ρ have Var·(1+(H−1)ρ)/H, which is Var at ρ = 1. Only randomness that differs from "
    "head to head averages out.",
    source="CS224N assignment 4, question 1(d)",
    figure=_figure,
    demonstration="swing?beta=20&other=identical",
)
