"""Two heads with one query each steady an output that swings under one head."""

import math
from dataclasses import replace

import numpy as np

from regard.analysis.closed_forms import random_keys as theory
from regard.analysis.closed_forms.arithmetic import normal_cdf
from regard.analysis.closed_forms.softmax import copy_margin
from regard.analysis.engines import Estimate, TotalVariance, Variance, coefficient
from regard.analysis.scenarios import one_head, two_heads
from regard.claims._evidence import Evidence, in_balls
from regard.claims._random_keys import CONDITIONS, FAR, PARAMETERS, CourseSetting, compared, ordered
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial
from regard.render.figures import Axis, Chart, Guide, Series

_QUESTIONS = (Variance(of=coefficient("a")), TotalVariance())
_NAMES = ("Var of v_a's coefficient", "tr Cov(c)")
_MOST_DILUTED_KEYS = 10**6
_SOFT = 1e-6
_COURSE = CourseSetting(n=10, beta=20.0, sigma2=0.5)


Pair = tuple[tuple[Estimate, ...], tuple[Estimate, ...]]


def _both(setting: CourseSetting, *, seed: int | None = None) -> Pair:
    """The answers under one head and under two: certified, or from draws if there is a seed."""
    if seed is None:
        return setting.certified(one_head, _QUESTIONS), setting.certified(two_heads, _QUESTIONS)
    return setting.sampled(one_head, _QUESTIONS, seed=seed), setting.sampled(two_heads, _QUESTIONS, seed=seed)


def _least_parts(trial: Trial, setting: CourseSetting, pair: Pair) -> list[Evidence]:
    """Whether the ratio is more than `least` at one scale; the value is the ratio."""
    least, parts = trial.form.least, []
    for name, once, twice in zip(_NAMES, *pair, strict=True):
        what = f"{least:g} × {name}, two heads < one head"
        part = ordered(what, smaller=least * twice, larger=once, at=setting)
        parts.append(replace(part, value=(once / twice).value) if twice.lower > 0 else part)
    return parts


def _limit_parts(trial: Trial, setting: CourseSetting, pair: Pair) -> list[Evidence]:
    """The inverse ratios at a huge scale, which stay finite when γ is nearly constant."""
    claims = (
        in_balls(lambda sigma: 1 / trial.form.limit(sigma), setting.sigma),
        in_balls(lambda sigma, n: 1 / trial.form.trace_limit(sigma, n), setting.sigma, setting.n),
    )
    relative = setting.relative_step_error
    return [
        compared(f"{name}, two heads over one", claimed=claim, found=twice / once, slack=relative * claim, at=setting)
        for name, claim, once, twice in zip(_NAMES, claims, *pair, strict=True)
    ]


def _dilution_parts(trial: Trial) -> list[Evidence]:
    """The ratios at a very soft scale, for at most a million keys."""
    at = Settings(n=min(trial.at.n, _MOST_DILUTED_KEYS), sigma2=trial.at.sigma2)
    setting = CourseSetting.of(at, beta=_SOFT / (1 + CourseSetting.of(at, beta=1.0).sigma2))
    ratio = trial.form.dilution
    return [
        compared(f"{name}, one head over two", claimed=ratio, found=once / twice, slack=100 * _SOFT, at=setting)
        for name, once, twice in zip(_NAMES, *_both(setting), strict=True)
    ]


def _printed_parts(trial: Trial, pair: Pair) -> list[Evidence]:
    """The printed ratios, to their last digit."""
    parts = []
    for name, claimed, once, twice in zip(_NAMES, trial.form.printed, *pair, strict=True):
        what, half_unit = f"{name}, one head over two", 0.5 * 10.0 ** -len(f"{claimed!r}".partition(".")[2])
        parts.append(compared(what, claimed=claimed, found=once / twice, slack=half_unit, at=_COURSE))
    return parts


def _by_enclosure(trial: Trial) -> list[Evidence]:
    """Every part by integrals in ball arithmetic: at the given scale, at β = 1, at a huge and at a very soft scale."""
    here, soft, far = (CourseSetting.of(trial.at, beta=beta) for beta in (None, 1.0, FAR))
    known = {setting: _both(setting) for setting in {here, soft, far, _COURSE}}
    return [
        *_least_parts(trial, here, known[here]),
        *_least_parts(trial, soft, known[soft]),
        *_limit_parts(trial, far, known[far]),
        *_dilution_parts(trial),
        *_printed_parts(trial, known[_COURSE]),
    ]


def _by_sampling(trial: Trial) -> list[Evidence]:
    """Drawn logits, at the given scale and at a huge one."""
    here, far = CourseSetting.of(trial.at), CourseSetting.of(trial.at, beta=FAR)
    near, distant = (_both(setting, seed=trial.seed) for setting in (here, far))
    return [*_least_parts(trial, here, near), *_limit_parts(trial, far, distant)]


def _figure(at: Settings) -> Chart:
    setting = CourseSetting.of(at)
    edges = np.linspace(0.0, 1.0, 21)
    other = 1 / (math.exp(min(setting.beta, 700.0)) + setting.n - 1)
    n, beta, sigma = float(setting.n), setting.beta, setting.sigma
    # P(w_a ≥ level) under one head, and for head 1 of two.
    one = normal_cdf(theory.swing_score(_margins(edges), theory.swing_offset(beta, n), beta, sigma))
    two = normal_cdf(theory.reliability_score(beta, _margins(2 * edges - other) + copy_margin(0.5, n), sigma))
    return Chart(
        title="One head swings, two heads are steady",
        caption=f"How often v_a's coefficient in c falls into each of twenty bins, at {setting}. One head tosses a "
        "coin between 0 and 1; under two heads it is near ½, except for keys that point backwards.",
        x=Axis(label="coefficient of v_a in c", lower=0.0, upper=1.0),
        y=Axis(label="probability", lower=0.0, upper=1.0),
        series=(
            Series(label="one head", x=edges, y=np.diff(1 - one), style="bars"),
            Series(label="two heads", x=edges, y=np.diff(1 - two), style="bars"),
        ),
        guides=(Guide(at=0.5, label="the mean", is_vertical=True),),
    )


def _margins(levels: np.ndarray) -> np.ndarray:
    """log(x/(1−x)), clipped to the range of doubles."""
    inside = np.clip(levels, 1e-300, 1 - 1e-16)
    return np.where(levels <= 0, -1e300, np.where(levels >= 1, 1e300, np.log(inside) - np.log1p(-inside)))


CLAIM = Claim(
    id="two-heads-steady",
    section="3 two heads",
    statement="two heads q_1 = βμ_a, q_2 = βμ_b give v_a's coefficient in c less variance than one head: 10.84978 "
    "times less at n = 10, β = 20, σ² = ½ (tr Cov(c): 19.5296 times), 1/(Φ(1/σ)Φ(−1/σ)) times as β→∞ (tr Cov(c): "
    "2(n−1)/n times that), and 4 times by mere dilution as β→0",
    latex=r"\frac{\mathrm{Var}\,c_a\ (\text{one head})}{\mathrm{Var}\,c_a\ (\text{two heads})}"
    r"\xrightarrow{\beta\to\infty}\frac1{\Phi(1/\sigma)\,\Phi(-1/\sigma)}",
    expected="holds",
    parameters=PARAMETERS,
    conditions=(*CONDITIONS, "orthonormal values"),
    # Variance under one head over variance under two: always more than `least`, with limits at both ends.
    # `printed` are the two ratios at n = 10, β = 20, σ² = ½, of v_a's coefficient and of tr Cov(c).
    form=Form(
        least=1.0,
        limit=theory.steady_ratio,
        trace_limit=theory.steady_trace_ratio,
        dilution=4.0,
        printed=(10.84978, 19.5296),
    ),
    near_misses=(
        NearMiss("at least 4 times at every scale, so dilution is the minimum", {"least": 4.0}),
        NearMiss("1/Φ(−1/σ) times as β→∞", {"limit": lambda sigma: 1 / theory.backwards_chance(sigma)}),
        NearMiss("tr Cov(c) by the same factor", {"trace_limit": lambda sigma, n: theory.steady_ratio(sigma) + 0 * n}),
        NearMiss("as β→0 twice, as for two independent heads", {"dilution": 2.0}),
    ),
    methods={"certified": _by_enclosure, "monte carlo": _by_sampling},
    derivation="Head 2 is not random, and head 1's w_a = s(βγ − log(n−1)) tends to the indicator of γ > 0; so v_a's "
    "coefficient ½(w_a + …) has variance Φ(1/σ)Φ(−1/σ)/4 in the limit, against ¼ under one head. σ² = ½: "
    "1/(0.92135·0.07865) = 13.79999, and 24.840 for tr Cov(c) at n = 10. Averaging two heads of which one is fixed "
    "divides the variance by 4 in any case; at soft scales the ratio can be slightly less (3.4556 at n = 10, β = 1). "
    "Two heads are not always steady: γ < 0 has probability 0.0786 at every β.",
    source="CS224N assignment 4, question 1(d)",
    figure=_figure,
    demonstration="swing?beta=20",
)
