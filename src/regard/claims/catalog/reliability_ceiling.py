"""However large the scale, a head finds its key no more often than the key points in the right direction."""

from typing import Any

from regard.analysis.closed_forms.arithmetic import log, normal_tail
from regard.analysis.closed_forms.random_keys import ceiling_score, reliability_score, two_head_weight
from regard.analysis.closed_forms.softmax import copy_margin
from regard.analysis.engines import Estimate, Probability, weight
from regard.analysis.engines.symbolic import identity, limit_identity, nonnegative, positive
from regard.analysis.scenarios import two_heads
from regard.claims._evidence import Evidence, in_balls
from regard.claims._random_keys import (
    CONDITIONS,
    PARAMETERS,
    CourseSetting,
    compared,
    engine_methods,
    reliability_chart,
)
from regard.claims.claim import Claim, Form, NearMiss, Trial, real

# Closer to 0 or 1, the threshold 1−ε would lose its digits in a double.
_SMALLEST_EPSILON = 1e-6


def _by_algebra(trial: Trial) -> list[Evidence]:
    """a_a grows with its logit and is 1−ε at L; L > 0 if ε = (1−1/n)/(1+p), and L ≤ 0 if 1−ε = (1/n)/(1+p)."""
    epsilon, growth, p, n, m, z = trial.field(
        "epsilon", "logit growth", "p", counts=("n", "n-1"), exponentials=("z",), stream="threshold"
    )
    odds, own = trial.form.threshold(epsilon, n).exp(), z.exp()
    lower, higher = own / (own + m), own * (1 + growth) / (own * (1 + growth) + m)
    share = two_head_weight(z, n).substitute(e_z=odds)
    small, large = m / (m + 1) / (1 + p), 1 - 1 / ((m + 1) * (1 + p))
    return [
        identity(share, 1 - epsilon, "a_a = 1−ε where βγ = L"),
        positive(higher - lower, "a_a grows with βγ"),
        positive(trial.form.threshold(small, m + 1).exp() - 1, "L > 0 if ε < 1−1/n"),
        nonnegative(1 - trial.form.threshold(large, m + 1).exp(), "L ≤ 0 if ε ≥ 1−1/n"),
        *_score_parts(trial),
    ]


def _score_parts(trial: Trial) -> list[Evidence]:
    """γ = 1 + σZ, so βγ ≥ L where Z ≥ −score; Φ grows, so a score below 1/σ is a probability below Φ(1/σ)."""
    beta, threshold, sigma = trial.field("beta", "L", "sigma", stream="score")
    score, ceiling = trial.form.score(beta, threshold, sigma), trial.form.ceiling(sigma)
    return [
        identity(beta * (1 - sigma * score), threshold, "P(βγ ≥ L) = Φ((β−L)/(βσ))"),
        positive(ceiling - score, "the score stays below the ceiling for L > 0"),
        nonnegative(trial.form.score(beta, -threshold, sigma) - ceiling, "and not below it for L ≤ 0"),
        limit_identity(score, "beta", ceiling, "score → ceiling as β → ∞"),
    ]


def _question(trial: Trial) -> Probability:
    epsilon = min(max(trial.at.epsilon, _SMALLEST_EPSILON), 1 - _SMALLEST_EPSILON)
    return Probability(of=weight("a"), at_least=1 - epsilon)


def _compared(trial: Trial, setting: CourseSetting, found: tuple[Estimate, ...]) -> list[Evidence]:
    """P(a_a ≥ 1−ε) against the closed form, at exactly the threshold that the double 1−ε represents."""
    form, enough = trial.form, _question(trial).at_least

    def chance(beta: Any, level: Any, n: Any, sigma: Any) -> Any:
        return normal_tail(-form.score(beta, form.threshold(1 - level, n), sigma))

    claimed = in_balls(chance, setting.beta, enough, setting.n, setting.sigma)
    return [compared(f"P(a_a ≥ {enough:g})", claimed=claimed, found=found[0], at=setting, slack=1e-12)]


CLAIM = Claim(
    id="reliability-ceiling",
    section="3 two heads",
    statement="head 1, q_1 = βμ_a, L = log((n−1)(1−ε)/ε): P(a_a ≥ 1−ε) = Φ((β−L)/(βσ)), which for ε < 1−1/n is "
    "below Φ(1/σ) at every β, and tends to it as β→∞",
    latex=r"P(a_a\ge1-\varepsilon)=\Phi\!\left(\frac{\beta-L}{\beta\sigma}\right)<\Phi(1/\sigma),"
    r"\quad L=\log\frac{(n-1)(1-\varepsilon)}{\varepsilon}>0",
    expected="proved",
    parameters=(*PARAMETERS, real("epsilon", 0.1, lower=0, upper=1, is_open=True)),
    conditions=CONDITIONS,
    assumes=("Φ is continuous and increases",),
    # L with {a_a ≥ 1−ε} = {βγ ≥ L}, z with P(βγ ≥ L) = Φ(z), and the z that no scale reaches.
    form=Form(threshold=copy_margin, score=reliability_score, ceiling=ceiling_score),
    near_misses=(
        NearMiss(
            "L = log((1−ε)/ε), whatever n is", {"threshold": lambda epsilon, n: log((1 - epsilon) / epsilon + 0 * n)}
        ),
        NearMiss("P = Φ((β−L)/σ)", {"score": lambda beta, limit, sigma: (beta - limit) / sigma}),
        NearMiss("the ceiling is Φ(1/σ²)", {"ceiling": lambda sigma: 1 / sigma**2}),
        NearMiss(
            "P = Φ((β−L)²/(βσ))", {"score": lambda beta, limit, sigma: (beta - limit) * (beta - limit) / (beta * sigma)}
        ),
    ),
    methods={**engine_methods(two_heads, lambda trial: [_question(trial)], _compared), "algebra": _by_algebra},
    derivation="a_a = e^{βγ}/(e^{βγ}+n−1) grows with γ and is 1−ε at γ = L/β, so P(a_a ≥ 1−ε) = P(γ ≥ L/β) = "
    "Φ((1−L/β)/σ). A larger β lowers the threshold L/β, but never below 0. σ² = ½: the ceiling is Φ(√2) = 0.92135; "
    "with n = 10 and ε = 0.1 P is 0.567996 at β = 5 and 0.865090 at β = 20. For ε ≥ 1−1/n the threshold is at or "
    "below 0: asking for no more than 1/n succeeds more often than that.",
    source="CS224N assignment 4, question 1(d)",
    figure=lambda at: reliability_chart(at, epsilon=at.epsilon, ns=(at.n, 10 * at.n, 100 * at.n)),
    demonstration="swing?beta=50",
)
