"""What averaging many heads gains, and how many copies of one query it takes to beat two specialized heads."""

from dataclasses import replace

import numpy as np

from regard.analysis.closed_forms.random_keys import averaged_variance_ratio, one_head_weight, two_head_weight
from regard.analysis.engines import Variance, coefficient
from regard.analysis.engines.symbolic import identity
from regard.analysis.scenarios import one_head, two_heads
from regard.claims._evidence import Evidence, agreement
from regard.claims._figures import counts
from regard.claims._random_keys import CourseSetting, ordered
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Guide, Series

_QUESTION = Variance(of=coefficient("a"))
_MOST_HEADS, _DRAWS = 64, 5000
# A sample variance is off by ten standard errors less often than once in a billion runs.
_STANDARD_ERRORS = 10.0
_COURSE = CourseSetting(n=10, beta=20.0, sigma2=0.5)


def _by_enclosure(trial: Trial) -> list[Evidence]:
    """The formula for every H and ρ; Var/H of the one-head query against the two heads' variance, in enclosures."""
    odds, v, heads = trial.field("(1-rho)/rho", "v", counts=("H",))
    rho = 1 / (1 + odds)
    # H variances and H(H−1) covariances.
    variance = (heads * v + heads * (heads - 1) * rho * v) / heads**2
    formula = identity(trial.form.factor(rho, heads) * v, variance, "Var of the mean of H heads")
    # The number of copies is decided at one scale only, so the formula alone does not prove the whole.
    status = "holds" if formula.status == "proved" else formula.status
    copies, at = trial.form.copies, f"{_COURSE}, γ drawn independently for each copy"
    one, two = (_COURSE.certified(design, [_QUESTION])[0] for design in (one_head, two_heads))
    enough = f"Var of v_a's coefficient under {copies} copies < under two heads"
    needed = f"Var of v_a's coefficient under two heads < under {copies - 1} copies"
    return [
        replace(formula, status=status, value=None),
        ordered(enough, smaller=one / copies, larger=two, at=at),
        ordered(needed, smaller=two, larger=one / max(copies - 1, 1), at=at),
    ]


def _by_sampling(trial: Trial) -> list[Evidence]:
    """Means of Gaussians that share a component √ρ; and draws of γ for the copies."""
    heads, rho, rng = min(trial.at.H, _MOST_HEADS), trial.at.rho, trial.rng("heads")
    shared, own = rng.normal(size=(_DRAWS, 1)), rng.normal(size=(_DRAWS, heads))
    means = (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own).mean(axis=1)
    at, claimed = f"H = {heads}, ρ = {rho:g}", float(trial.form.factor(rho, heads))
    averaged = _sampled("Var of the mean of H heads over Var of one", means, claimed=claimed, at=at)
    logits = _COURSE.beta * (1 + _COURSE.sigma * rng.normal(size=(_DRAWS, trial.form.copies)))
    one, two = one_head_weight(logits, _COURSE.beta, _COURSE.n), two_head_weight(logits[:, 0], _COURSE.n) / 2
    what = f"Var under {trial.form.copies} copies (two heads: {np.var(two):.4f})"
    claimed = float(np.var(one)) / trial.form.copies
    return [averaged, _sampled(what, one.mean(axis=1), claimed=claimed, at=str(_COURSE))]


def _sampled(what: str, numbers: np.ndarray, *, claimed: float, at: str) -> Evidence:
    """A sample variance with its standard error, against the claimed one."""
    centred = numbers - numbers.mean()
    variance = float((centred**2).mean())
    error = float(np.sqrt(max(float((centred**4).mean()) - variance**2, 0.0) / len(numbers)))
    tolerance, at = _STANDARD_ERRORS * error + 1e-12, f"{at}, {len(numbers)} draws"
    return agreement(what, claimed=claimed, found=variance, tolerance=tolerance, at=at)


def _figure(at: Settings) -> Chart:
    heads = counts(1, 256).astype(float)
    return Chart(
        title="Correlation sets the floor",
        caption="The variance of the mean of H heads, relative to one head's. Independent heads divide it by H; with "
        "correlation ρ it never falls below ρ, so copies of one query on the same keys gain nothing.",
        x=Axis(label="number of heads H", is_log=True),
        y=Axis(label="variance relative to one head", is_log=True),
        series=[
            Series(label=f"ρ = {rho:g}", x=heads, y=1 / averaged_variance_ratio(rho, heads))
            for rho in sorted({0.0, at.rho, 1.0})
        ],
        guides=(Guide(at=at.rho, label="ρ"),) if at.rho > 0.004 else (),
    )


CLAIM = Claim(
    id="averaging-heads-divides-variance",
    section="3 two heads",
    statement="the mean of H heads whose weights have equal variance and pairwise correlation ρ has (1+(H−1)ρ)/H times "
    "that variance; if each head drew its own γ, 11 copies of q = β(μ_a+μ_b) would be needed to beat the two heads "
    "q_1 = βμ_a, q_2 = βμ_b in the variance of v_a's coefficient (n = 10, β = 20, σ² = ½)",
    latex=r"\mathrm{Var}\,\frac1H\sum_{h}w_h=\frac{1+(H-1)\rho}{H}\,\mathrm{Var}\,w_1;\qquad"
    r"\tfrac1{11}\mathrm{Var}\,w_a^{\text{one}}=0.020184<0.020463=\tfrac14\mathrm{Var}\,w_a^{\text{two}}",
    expected="holds",
    parameters=(integer("H", 8, lower=1), real("rho", 0.25, lower=0, upper=1)),
    conditions=("the count at n = 10, β = 20, σ² = ½, the course's keys (α → 0 first)",),
    # Var of the mean of H heads over that of one, given ρ and H; and how many independent copies beat two heads.
    form=Form(factor=lambda rho, heads: 1 / averaged_variance_ratio(rho, heads), copies=11),
    near_misses=(
        NearMiss("1/H, whatever the correlation is", {"factor": lambda rho, heads: 1 / heads + 0 * rho}),
        NearMiss("(1+ρ)/H", {"factor": lambda rho, heads: (1 + rho) / heads}),
        NearMiss("4 copies are enough: two heads only dilute by 4", {"copies": 4}),
        NearMiss("12 copies are needed", {"copies": 12}),
    ),
    methods={"certified": _by_enclosure, "sampling": _by_sampling},
    derivation="The variance of a mean is (H·Var + H(H−1)·ρVar)/H². ρ = 0 gives Var/H, ρ = 1 no gain at all (see "
    "`identical-heads`): heads that see the same keys share their fluctuations. Even if every copy had a γ of its "
    "own, the one-head query has Var w_a = 0.222019 at n = 10, β = 20: 0.022202 with 10 copies and 0.020184 with 11, "
    "against 0.020463 for two heads that each ask for one key. A better query is worth ten repetitions.",
    source="CS224N assignment 4, question 1(d); variance of a mean of correlated variables",
    figure=_figure,
)
