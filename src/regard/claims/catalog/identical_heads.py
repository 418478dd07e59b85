"""The myth that asking the same question twice makes the answer steadier."""

from dataclasses import dataclass

from regard.analysis.closed_forms.random_keys import averaged_variance_ratio, one_head_weight
from regard.analysis.engines import Estimate, Variance, coefficient
from regard.analysis.engines.symbolic import Field, identity, positive
from regard.analysis.scenarios import QueryDesign, one_head
from regard.claims._comparisons import all_parts
from regard.claims._random_keys import BETA, COURSE, KEYS, SIGMA2, Setting, compared
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import random_keys
from regard.core.verdict import Evidence

_QUESTION = Variance(of=coefficient("a"))


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Heads with the same query, and the correlation that their weights are said to have."""

    correlation: int
    num_heads: int = 2

    @property
    def ratio(self) -> float:
        """Variance under one head over that under all of them: H/(1+(H−1)ρ)."""
        return averaged_variance_ratio(self.correlation, self.num_heads)

    def design(self, beta: float) -> QueryDesign:
        """The query β(μ_a + μ_b), as often as there are heads."""
        return QueryDesign(coefficients={"a": (beta,) * self.num_heads, "b": (beta,) * self.num_heads})


def _by_algebra(trial: Trial) -> Evidence:
    """The same logits give the same weights, draw by draw; they vary with γ, so they have a correlation: it is 1."""
    field, rng, heads = Field("growth", counts=("n-2",), exponentials=("z", "beta")), trial.rng("algebra"), trial.form
    growth, m, logit, beta = (field[name] for name in field.symbols)
    weights = [one_head_weight(logit, beta, m + 2) for _ in range(heads.num_heads)]
    grown = weights[0].substitute(e_z=(1 + growth) * logit.exp())
    parts = [
        identity(sum(weights, field.constant(0)) / heads.num_heads, weights[0], rng=rng, what="c is one head's output"),
        positive(grown - weights[0], rng=rng, what="w_a varies with γ"),
    ]
    if heads.correlation != 1:
        shown = f"{heads.num_heads} heads with q = β(μ_a+μ_b), any keys: c_1 = c_2, so the correlation is 1"
        parts.append(
            Evidence(
                route="algebra",
                status="refuted",
                detail=shown,
                counterexample=f"{shown} and the variance ratio 1, the statement says "
                f"{heads.correlation} and {heads.ratio:g}",
            )
        )
    return all_parts("algebra", parts)


def _compared(trial: Trial, setting: Setting, one: Estimate, many: Estimate) -> Evidence:
    """The variance under all heads against one head's, divided by the claimed ratio."""
    ratio = trial.form.ratio
    return compared(
        "Var of v_a's coefficient",
        claimed=one.value / ratio,
        found=many,
        slack=one.width / ratio,
        at=f"{trial.form.num_heads} equal heads, {setting}",
    )


def _by_enclosure(trial: Trial) -> Evidence:
    setting = Setting.of(trial.at)
    one, many = (setting.certified(design, [_QUESTION])[0] for design in (one_head, trial.form.design))
    return _compared(trial, setting, one, many)


def _by_sampling(trial: Trial) -> Evidence:
    """Fresh draws for the single head, so that nothing agrees by sharing them."""
    setting = Setting.of(trial.at)
    one = setting.sampled(one_head, [_QUESTION], seed=trial.seed + 1)[0]
    return _compared(trial, setting, one, setting.sampled(trial.form.design, [_QUESTION], seed=trial.seed)[0])


CLAIM = Claim(
    id="identical-heads",
    section="3 two heads",
    statement="q_1 = q_2 = β(μ_a+μ_b) also steadies: the heads' fluctuations cancel and the variance is halved",
    latex=r"q_1=q_2=\beta(\mu_a+\mu_b):\quad\mathrm{Var}\,\tfrac12(w_a^1+w_a^2)=\tfrac12\mathrm{Var}\,w_a^1",
    expected="refuted",
    parameters=(KEYS, BETA, SIGMA2),
    conditions=COURSE,
    form=Copies(correlation=0),
    rivals=(
        Rival(
            statement="the heads have correlation 1 and the variance ratio is exactly 1",
            form=Copies(correlation=1),
            becomes="proved",
        ),
        Rival(statement="so it is for eight equal heads", form=Copies(correlation=1, num_heads=8), becomes="proved"),
    ),
    routes=(_by_enclosure, _by_sampling, _by_algebra),
    derivation="Both heads see the same keys, so equal queries give equal logits, weights and outputs: c = ½(c_1+c_1) "
    "= c_1. H heads with correlation ρ have Var·(1+(H−1)ρ)/H, which is Var at ρ = 1. Only randomness that differs from "
    "head to head averages out.",
    source="CS224N assignment 4, question 1(d)",
    figure=random_keys.equal_heads,
)
