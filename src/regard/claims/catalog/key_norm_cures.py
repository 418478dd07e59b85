"""Dividing keys by their norm leaves only the sign of their length to chance."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from regard.analysis.closed_forms.random_keys import normalised_limit, normalised_variance
from regard.analysis.closed_forms.retrieval import average_weight
from regard.analysis.engines import Estimate, Variance, direct, weight
from regard.analysis.scenarios import GAMMA_POSITIVE, course_keys, one_head
from regard.claims._comparisons import Measured, agreement, all_parts, in_balls
from regard.claims._random_keys import BETA, COURSE, KEYS, SIGMA2, Setting, compared
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import random_keys
from regard.core.verdict import Evidence

_QUESTIONS = (Variance(of=weight("a")), Variance(of=weight("a"), given=GAMMA_POSITIVE))
# Whole keys are drawn, so that their number and width cost; the certified route covers every n.
_MOST_KEYS = 10
_DRAWS = 5000
_CONFIDENCE = 1 - 1e-9


@dataclass(frozen=True, kw_only=True)
class Cure:
    """One head's Var w_a as a function of β, n, σ, its limit as β → ∞, and whether keys are normalised at all."""

    variance: Callable[[Any, Any, Any], Any] = normalised_variance
    limit: Callable[[Any], Any] = normalised_limit
    is_normalised: bool = True


def _compared(trial: Trial, setting: Setting, found: tuple[Estimate, ...]) -> list[Evidence]:
    claimed = in_balls(trial.form.variance, setting.beta, setting.n, setting.sigma)
    return [
        compared("Var w_a", claimed=claimed, found=found[0], slack=1e-13 * claimed, at=setting),
        compared("Var(w_a | γ > 0)", claimed=0.0, found=found[1], at=setting),
    ]


def _limit_part(trial: Trial) -> Evidence:
    """The closed form far out, where e^{−β}n is below every digit, against its limit."""
    far = Setting.of(trial.at, beta=100 + 2 * math.log(trial.at.n))
    value = in_balls(trial.form.variance, far.beta, far.n, far.sigma)
    measured = Measured(value=value, tolerance=1e-13 * value)
    return agreement(
        "limit of Var w_a",
        claimed=in_balls(trial.form.limit, far.sigma),
        measured=measured,
        at=str(far),
        route="certified",
    )


def _by_enclosure(trial: Trial) -> Evidence:
    """Two atoms, γ = 1 and γ = −1, at the scale that is asked for and at β = 1; then the limit."""
    parts = []
    for setting in (Setting.of(trial.at), Setting.of(trial.at, beta=1.0)):
        found = setting.certified(one_head, _QUESTIONS, is_normalised=trial.form.is_normalised)
        parts += _compared(trial, setting, found)
    return all_parts("certified", [*parts, _limit_part(trial)])


def _by_direct_sampling(trial: Trial) -> Evidence:
    """Whole keys, drawn and divided by their norms."""
    setting = Setting.of(trial.at)
    setting = replace(setting, n=min(setting.n, _MOST_KEYS))
    keys = course_keys(n=setting.n, sigma2=setting.sigma2, is_normalised=trial.form.is_normalised)
    lookup = keys.in_key_space(one_head(setting.beta))
    found = direct.answers(lookup, _QUESTIONS, draws=_DRAWS, seed=trial.seed, confidence=_CONFIDENCE)
    return all_parts("direct", _compared(trial, setting, found))


CLAIM = Claim(
    id="key-norm-cures",
    section="3 two heads",
    statement="normalising keys (k/‖k‖, the query as it is) makes γ = ±1: given γ > 0 one head is exactly steady, and "
    "otherwise Var w_a = Φ(1/σ)Φ(−1/σ)(w₊−w₋)² → Φ(1/σ)Φ(−1/σ)/4 as β→∞, the two-head limit",
    latex=r"k/\|k\|:\quad\mathrm{Var}(w_a\mid\gamma>0)=0,\quad\mathrm{Var}\,w_a=\Phi(1/\sigma)\Phi(-1/\sigma)(w_+-w_-)^2"
    r"\xrightarrow{\beta\to\infty}\tfrac14\Phi(1/\sigma)\Phi(-1/\sigma)",
    expected="holds",
    parameters=(KEYS, BETA, SIGMA2),
    conditions=COURSE,
    form=Cure(),
    rivals=(
        Rival(statement="Var w_a → 0 without the condition as well", form=Cure(limit=lambda sigma: 0 * sigma)),
        Rival(
            statement="Var w_a → Φ(1/σ)Φ(−1/σ), that of head 1's own weight",
            form=Cure(limit=lambda sigma: 4 * normalised_limit(sigma)),
        ),
        Rival(
            statement="a key that points backwards gets nothing at any β",
            form=Cure(variance=lambda beta, n, sigma: 4 * normalised_limit(sigma) * average_weight(beta, n) ** 2),
        ),
        Rival(statement="given γ > 0 one head is steady without normalising", form=Cure(is_normalised=False)),
    ),
    routes=(_by_enclosure, _by_direct_sampling),
    derivation="k_a/‖k_a‖ = sign(γ)μ_a. With γ > 0 w_a = w₊ = e^β/(2e^β+n−2) for certain; with γ < 0, a chance of "
    "Φ(−1/σ), w_a = w₋ = e^{−β}/(e^{−β}+e^β+n−2). A two-point law has variance p(1−p)(w₊−w₋)². σ² = ½: 0.0171745122 at "
    "n = 10, β = 5, and Φ(√2)Φ(−√2)/4 = 0.01811596085 in the limit, against 0.222 at β = 20 without normalising. "
    "Length is cured, direction is not.",
    source="CS224N assignment 4, question 1(d); Henry et al. 2020, query-key normalization",
    figure=random_keys.normalised_keys,
)
