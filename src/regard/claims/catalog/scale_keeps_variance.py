"""Dividing scores by √d keeps their variance at 1, whatever the width."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.analysis.closed_forms.scores import score_variance
from regard.analysis.engines.symbolic import Field, identity
from regard.claims._comparisons import Measured, agreement, all_parts
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter
from regard.core.axes import Float
from regard.core.verdict import Evidence

# In units of its standard error the sample variance is close to normal, so ten of them make a false alarm rarer than
# one run in a billion; half or double the variance is still told apart.
STANDARD_ERRORS = 10.0
MOST_NUMBERS, MOST_WIDTH = 1_000_000, 256


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Var(kᵀq) as a function of d, the square of the divisor that makes it 1, and what is assumed of k and q."""

    variance: Callable[[Any], Any] = score_variance
    divisor_squared: Callable[[Any], Any] = lambda d: d
    mean: int = 0
    is_query_the_key: bool = False


def _by_algebra(trial: Trial) -> Evidence:
    """Var Σ_i k_i q_i = d·Var(k_1 q_1) + d(d−1)·Cov(k_1 q_1, k_2 q_2), from moments alone.

    Entries have mean μ and second moment μ²+1; if q = k the fourth moment counts, and Gaussians have μ⁴+6μ²+3.
    """
    field, rng, form = Field(counts=("d",)), trial.rng("algebra"), trial.form
    d, mean = field["d"], form.mean
    second, fourth = mean**2 + 1, mean**4 + 6 * mean**2 + 3
    if form.is_query_the_key:
        product, square, cross = second, fourth, second**2
    else:
        product, square, cross = mean * mean, second * second, (mean * mean) ** 2
    variance = d * (square - product**2) + d * (d - 1) * (cross - product**2)
    return all_parts(
        "algebra",
        [
            identity(form.variance(d), variance, rng=rng, what="Var(kᵀq)"),
            identity(variance / form.divisor_squared(d), field.constant(1), rng=rng, what="Var(kᵀq/√d)"),
        ],
    )


def _by_sampling(trial: Trial) -> Evidence:
    """Sample variances for Gaussian entries, for signs, and for lopsided coins, each with its standard error."""
    form, d, parts = trial.form, min(trial.at.d, MOST_WIDTH), []
    num_draws = min(MOST_NUMBERS // d, 20_000)
    for law in ("Gaussian", "signs", "coins"):
        rng = trial.rng(law)
        keys = _entries(law, (num_draws, d), rng) + form.mean
        queries = keys if form.is_query_the_key else _entries(law, (num_draws, d), rng) + form.mean
        if form.is_query_the_key and law != "Gaussian":
            continue
        measured, error = _sample_variance((keys * queries).sum(axis=1))
        divisor, at = float(form.divisor_squared(d)), f"d = {d}, {num_draws} draws, entries: {law}"
        parts += [
            agreement(
                "Var(kᵀq)",
                claimed=float(form.variance(d)),
                at=at,
                route="sampling",
                measured=Measured(value=measured, tolerance=STANDARD_ERRORS * error),
            ),
            agreement(
                "Var(kᵀq/√d)",
                claimed=1.0,
                at=at,
                route="sampling",
                measured=Measured(value=measured / divisor, tolerance=STANDARD_ERRORS * error / divisor),
            ),
        ]
    return all_parts("sampling", parts)


def _entries(law: str, shape: tuple[int, int], rng: np.random.Generator) -> Float[np.ndarray, "batch width"]:
    """Entries of mean 0 and variance 1."""
    if law == "Gaussian":
        return rng.normal(size=shape)
    chance = 0.5 if law == "signs" else 0.2
    return ((rng.random(size=shape) < chance) - chance) / math.sqrt(chance * (1 - chance))


def _sample_variance(scores: Float[np.ndarray, " batch"]) -> tuple[float, float]:
    """The sample variance s² and its standard error √((m₄−s⁴)/N + 2s⁴/(N(N−1))), m₄ the sample's fourth moment."""
    count, centred = len(scores), scores - scores.mean()
    variance = float(np.sum(centred**2) / (count - 1))
    excess = max(float(np.mean(centred**4)) - variance**2, 0.0)
    return variance, math.sqrt(excess / count + 2 * variance**2 / (count * (count - 1)))


CLAIM = Claim(
    id="scale-keeps-variance",
    section="1 retrieval",
    statement="q independent of k, iid entries of mean 0 and variance 1: Var(kᵀq) = d and Var(kᵀq/√d) = 1",
    latex=r"\mathrm{Var}(k^\top q)=d,\qquad\mathrm{Var}\!\left(k^\top q/\sqrt d\right)=1",
    expected="proved",
    parameters=(Parameter(name="d", default=64, lower=1, is_integer=True),),
    conditions=("q independent of k", "iid entries of mean 0 and variance 1"),
    form=Scaling(),
    rivals=(
        Rival(statement="entries of mean 1 will do as well (they give 3d)", form=Scaling(mean=1)),
        Rival(statement="q = k Gaussian will do as well (it gives 2d)", form=Scaling(is_query_the_key=True)),
        Rival(statement="dividing by d makes the variance 1", form=Scaling(divisor_squared=lambda d: d * d)),
        Rival(statement="Var(kᵀq) = d²", form=Scaling(variance=lambda d: d * d)),
    ),
    routes=(_by_sampling, _by_algebra),
    derivation="Each product k_i q_i has mean 0 and variance E k_i² E q_i² = 1, and products of different entries are "
    "uncorrelated, so d of them have variance d; dividing by √d divides the variance by d. "
    "With means 1 a product has variance 2·2 − 1 = 3; with q = k Gaussian it is k_i², of variance 3 − 1 = 2.",
    source="Vaswani et al. 2017, Attention is all you need, footnote 4",
    figure=retrieval.score_spread,
)
