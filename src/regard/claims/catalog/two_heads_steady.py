"""Two heads, one query each, steady an output that one head lets swing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from regard.analysis.closed_forms.random_keys import backwards_chance, steady_ratio, steady_trace_ratio
from regard.analysis.engines import Estimate, TotalVariance, Variance, coefficient
from regard.analysis.scenarios import one_head, two_heads
from regard.claims._comparisons import all_parts, in_balls
from regard.claims._random_keys import BETA, COURSE, FAR, KEYS, SIGMA2, Setting, compared, ordered
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import random_keys
from regard.core.verdict import Evidence

_QUESTIONS = (Variance(of=coefficient("a")), TotalVariance())
_NAMES = ("Var of v_a's coefficient", "tr Cov(c)")
_MOST_DILUTED_KEYS = 10**6
_SOFT = 1e-6


@dataclass(frozen=True, kw_only=True)
class Steadying:
    """Variance under one head over variance under two: always more than `least`, and its limits at both ends.

    `measured` has n, β, σ² and the two ratios there, of v_a's coefficient and of tr Cov(c).
    """

    least: float = 1.0
    limit: Callable[[Any], Any] = steady_ratio
    trace_limit: Callable[[Any, Any], Any] = steady_trace_ratio
    dilution: float = 4.0
    measured: Mapping[tuple[int, float, float], tuple[float, float]] = field(
        default_factory=lambda: {(10, 20.0, 0.5): (10.84978, 19.5296)}
    )


Pair = tuple[tuple[Estimate, ...], tuple[Estimate, ...]]


def _both(setting: Setting) -> Pair:
    return setting.certified(one_head, _QUESTIONS), setting.certified(two_heads, _QUESTIONS)


def _least_parts(trial: Trial, setting: Setting, pair: Pair) -> list[Evidence]:
    """Whether two heads have more than `least` times less variance at one scale; the value is the ratio."""
    least = trial.form.least
    parts = [
        ordered(f"{least:g} × {name}, two heads < one head", smaller=least * twice, larger=once, at=setting)
        for name, once, twice in zip(_NAMES, *pair, strict=True)
    ]
    return [
        replace(part, value=(once / twice).value) if twice.lower > 0 else part
        for part, once, twice in zip(parts, *pair, strict=True)
    ]


def _limit_parts(trial: Trial, setting: Setting, pair: Pair) -> list[Evidence]:
    """The inverse ratios far out, which stay finite when γ is all but certain."""
    claims = (
        in_balls(lambda sigma: 1 / trial.form.limit(sigma), setting.sigma),
        in_balls(lambda sigma, n: 1 / trial.form.trace_limit(sigma, n), setting.sigma, setting.n),
    )
    # Near γ = 0 the density changes by a factor e within σ², so the step's error is relative to the limit itself.
    relative = setting.step_error * (1 + 1 / setting.sigma)
    return [
        compared(
            f"{name}, two heads over one", claimed=claimed, found=twice / once, slack=relative * claimed, at=setting
        )
        for name, claimed, once, twice in zip(_NAMES, claims, *pair, strict=True)
    ]


def _dilution_parts(trial: Trial) -> list[Evidence]:
    """The ratios at a very soft scale, for at most a million keys."""
    at = SimpleNamespace(n=min(trial.at.n, _MOST_DILUTED_KEYS), sigma2=trial.at.sigma2)
    setting = Setting.of(at, beta=_SOFT / (1 + Setting.of(at, beta=1.0).sigma2))
    return [
        compared(
            f"{name}, one head over two", claimed=trial.form.dilution, found=once / twice, slack=100 * _SOFT, at=setting
        )
        for name, once, twice in zip(_NAMES, *_both(setting), strict=True)
    ]


def _measured_parts(trial: Trial, known: Mapping[Setting, Pair]) -> list[Evidence]:
    """The printed ratios, to their last digit."""
    parts = []
    for (n, beta, sigma2), printed in trial.form.measured.items():
        setting = Setting(n=n, beta=beta, sigma2=sigma2)
        pair = known.get(setting) or _both(setting)
        for name, claimed, once, twice in zip(_NAMES, printed, *pair, strict=True):
            half_unit = 0.5 * 10.0 ** -len(f"{claimed!r}".partition(".")[2])
            parts.append(
                compared(f"{name}, one head over two", claimed=claimed, found=once / twice, slack=half_unit, at=setting)
            )
    return parts


def _by_enclosure(trial: Trial) -> Evidence:
    """Every part, with integrals in ball arithmetic: at the scale that is asked for, at β = 1, far out, very soft."""
    here, soft, far = (Setting.of(trial.at, beta=beta) for beta in (None, 1.0, FAR))
    known = {setting: _both(setting) for setting in (here, soft, far)}
    return all_parts(
        "certified",
        [
            *_least_parts(trial, here, known[here]),
            *_least_parts(trial, soft, known[soft]),
            *_limit_parts(trial, far, known[far]),
            *_dilution_parts(trial),
            *_measured_parts(trial, known),
        ],
    )


def _by_sampling(trial: Trial) -> Evidence:
    """Drawn logits, at the scale that is asked for and far out."""
    here, far = Setting.of(trial.at), Setting.of(trial.at, beta=FAR)

    def both(setting: Setting) -> Pair:
        one, two = (setting.sampled(design, _QUESTIONS, seed=trial.seed) for design in (one_head, two_heads))
        return one, two

    return all_parts("monte carlo", [*_least_parts(trial, here, both(here)), *_limit_parts(trial, far, both(far))])


CLAIM = Claim(
    id="two-heads-steady",
    section="3 two heads",
    statement="q_1 = βμ_a, q_2 = βμ_b give v_a's coefficient in c less variance than one head does: at n = 10, β = 20, "
    "σ² = ½ 10.84978 times less (tr Cov(c): 19.5296 times), as β→∞ 1/(Φ(1/σ)Φ(−1/σ)) times "
    "(tr Cov(c): 2(n−1)/n as many), as β→0 4 times by mere dilution",
    latex=r"\frac{\mathrm{Var}\,c_a\ (\text{one head})}{\mathrm{Var}\,c_a\ (\text{two heads})}"
    r"\xrightarrow{\beta\to\infty}\frac1{\Phi(1/\sigma)\,\Phi(-1/\sigma)}",
    expected="holds",
    parameters=(KEYS, BETA, SIGMA2),
    conditions=(*COURSE, "orthonormal values"),
    form=Steadying(),
    rivals=(
        Rival(statement="never less than by 4, so dilution is the least of it", form=Steadying(least=4.0)),
        Rival(statement="1/Φ(−1/σ) times as β→∞", form=Steadying(limit=lambda sigma: 1 / backwards_chance(sigma))),
        Rival(
            statement="tr Cov(c) by the same factor",
            form=Steadying(trace_limit=lambda sigma, n: steady_ratio(sigma) + 0 * n),
        ),
        Rival(statement="as β→0 twice, as for two independent heads", form=Steadying(dilution=2.0)),
    ),
    routes=(_by_enclosure, _by_sampling),
    derivation="Head 2 is not random, and head 1's w_a = s(βγ − log(n−1)) tends to the indicator of γ > 0; so v_a's "
    "coefficient ½(w_a + …) has variance Φ(1/σ)Φ(−1/σ)/4 in the limit, against ¼ under one head. σ² = ½: "
    "1/(0.92135·0.07865) = 13.79999, and 24.840 for tr Cov(c) at n = 10. Averaging two heads of which one is fixed "
    "divides a variance by 4 in any case; at soft scales the ratio is even a little less (3.4556 at n = 10, β = 1). "
    "Not always steady: γ < 0 has probability 0.0786 at every β.",
    source="CS224N assignment 4, question 1(d)",
    figure=random_keys.steadiness,
)
