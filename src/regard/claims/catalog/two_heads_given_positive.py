"""If the key points in the right direction, a larger scale makes its head ever steadier."""

from dataclasses import replace

from regard.analysis.closed_forms.random_keys import given_positive_bound, given_positive_slope
from regard.analysis.engines import Estimate, Variance, weight
from regard.analysis.scenarios import GAMMA_POSITIVE, one_head, two_heads
from regard.claims import _random_keys as course
from regard.claims._evidence import Evidence, in_balls, one_case
from regard.claims._figures import around, guide_at
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial
from regard.render.figures import Axis, Chart, Series

_PRINTED = {20.0: "0.0167939", 100.0: "0.00320575", 1000.0: "0.000316434"}


def _question(trial: Trial) -> Variance:
    return Variance(of=weight("a"), given=GAMMA_POSITIVE if trial.form.is_conditional else None)


def _bound_part(trial: Trial, setting: course.CourseSetting, found: Estimate) -> Evidence:
    """Whether the variance is within the bound at one scale."""
    bound = in_balls(trial.form.bound, setting.beta, setting.n, setting.sigma)
    error = max(found.upper - found.value, found.value - found.lower)
    # The bound is computed in balls and rounded once.
    agrees, shown = found.lower <= bound * (1 + 1e-12), f"{setting}: Var w_a is at least {found.lower:.9g}"
    part = one_case(shown, agrees=agrees, said=f"at most {bound:.9g}", value=found.value)
    return replace(part, bound=error)


def _by_enclosure(trial: Trial) -> list[Evidence]:
    """The bound at the given scale and at a huge one, β times the variance at the huge one, and the printed values."""
    form, question = trial.form, _question(trial)
    here, far = course.CourseSetting.of(trial.at), course.CourseSetting.of(trial.at, beta=course.FAR)
    near, distant = (setting.certified(form.design, [question])[0] for setting in (here, far))
    slope = in_balls(form.slope, far.n, far.sigma)
    slack = far.relative_step_error * slope
    parts = [
        _bound_part(trial, here, near),
        _bound_part(trial, far, distant),
        course.compared("β·Var w_a", claimed=slope, found=course.FAR * distant, slack=slack, at=far),
    ]
    for beta, digits in form.printed.items():
        setting = course.CourseSetting(n=10, beta=beta, sigma2=0.5)
        half_unit = 0.5 * 10.0 ** -len(digits.partition(".")[2])
        found = near if setting == here else setting.certified(form.design, [question])[0]
        parts.append(course.compared("Var w_a", claimed=float(digits), found=found, slack=half_unit, at=setting))
    return parts


def _by_sampling(trial: Trial) -> list[Evidence]:
    settings = (course.CourseSetting.of(trial.at), course.CourseSetting.of(trial.at, beta=course.FAR))
    return [
        _bound_part(trial, each, each.sampled(trial.form.design, [_question(trial)], seed=trial.seed)[0])
        for each in settings
    ]


def _figure(at: Settings) -> Chart:
    scales, setting = around(at.beta, 2.0, 1000.0, course.NUM_POINTS // 2), course.CourseSetting.of(at)
    questions = (Variance(of=weight("a"), given=GAMMA_POSITIVE), Variance(of=weight("a")))
    given, plain = course.certified_curves(at, scales, two_heads, questions)
    bound = given_positive_bound(scales, float(at.n), setting.sigma)
    return Chart(
        title="Steady if the key points forward",
        caption=f"The variance of head 1's w_a, n = {at.n:g}, σ² = {at.sigma2:g}. Given γ > 0 it falls like 1/β, "
        "below the bound; without the condition it stays at Φ(1/σ)Φ(−1/σ).",
        x=course.SCALE_AXIS,
        y=Axis(label="variance of w_a", is_log=True),
        series=(
            course.smooth_series("given γ > 0", scales, given),
            course.smooth_series("without the condition", scales, plain),
            Series(label="the bound", x=scales, y=bound, style="dashed"),
        ),
        guides=guide_at(at.beta, f"β = {at.beta:g}", scales),
    )


CLAIM = Claim(
    id="two-heads-given-positive",
    section="3 two heads",
    statement="given γ > 0, head 1's variance of w_a is at most (log n − 1 + 1/n)/(βσ√(2π)Φ(1/σ)) → 0 as β→∞ "
    "(n = 10, σ² = ½: 0.0167939 at β = 20, 0.00320575 at 100, 0.000316434 at 1000); "
    "β times it tends to e^{−1/(2σ²)} times β times the bound",
    latex=r"\mathrm{Var}(w_a\mid\gamma>0)\le\frac{\log n-1+1/n}{\beta\,\sigma\sqrt{2\pi}\,\Phi(1/\sigma)}"
    r"\xrightarrow{\beta\to\infty}0",
    expected="holds",
    parameters=course.PARAMETERS,
    conditions=course.CONDITIONS,
    # A bound on Var(w_a | γ > 0) that vanishes as β → ∞, the limit of β times the variance, and printed values.
    # `printed` is by β, at n = 10 and σ² = ½.
    form=Form(
        bound=given_positive_bound, slope=given_positive_slope, printed=_PRINTED, is_conditional=True, design=two_heads
    ),
    near_misses=(
        NearMiss("also without the condition", {"is_conditional": False, "printed": {}}),
        NearMiss("also under one head", {"design": one_head, "printed": {}}),
        NearMiss("it falls like 1/β²", {"bound": lambda beta, n, sigma: given_positive_bound(beta * beta, n, sigma)}),
        NearMiss(
            "β times it tends to β times the bound itself",
            {"slope": lambda n, sigma: given_positive_bound(1 + 0 * sigma, n, sigma)},
        ),
    ),
    methods={"certified": _by_enclosure, "monte carlo": _by_sampling},
    derivation="Var w_a ≤ E(1−w_a)². With x = βγ − log(n−1) and s the sigmoid, ∫(1−s(x))² dx from x = −log(n−1) up is "
    "log n − (n−1)/n, and γ's density given γ > 0 is at most 1/(σ√(2π)Φ(1/σ)). As β→∞ only the density at γ = 0 "
    "matters, which is e^{−1/(2σ²)} times that. The variance falls like 1/β because γ is within 1/β of 0 with "
    "probability ∝ 1/β.",
    source="CS224N assignment 4, question 1(d)",
    figure=_figure,
    demonstration="swing?beta=50&isPositive=1",
)
