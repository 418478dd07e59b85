"""The myth that dividing by √d keeps logits of order one when query and key agree."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regard.analysis.closed_forms.scores import aligned_mean
from regard.analysis.engines.symbolic import Field, identity
from regard.claims._comparisons import Measured, agreement, all_parts
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import sums
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

_MOST_WIDTH, _NUM_DRAWS, _TELLING_WIDTH = 256, 1000, 64
# The mean of 1000 scores is close to normal: ten standard errors make a false alarm rarer than one run in a billion.
_STANDARD_ERRORS = 10.0


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """The mean logit as a function of the correlation ρ and of √d, and what scores are divided by, one of √d."""

    mean: Callable[[Any, Any], Any] = aligned_mean
    divisor: Callable[[Any], Any] = lambda root: root


def _by_algebra(trial: Trial) -> Evidence:
    """E Σ_i k_i q_i = d·E k_1 q_1 = dρ: entries of variance 1 have their correlation as covariance."""
    field, form = Field("sqrt(d)", "rho"), trial.form
    root, rho = (field[name] for name in field.symbols)
    exact = root**2 * rho / form.divisor(root)
    proof = identity(form.mean(rho, root), exact, rng=trial.rng("algebra"), what="mean logit")
    return proof if proof.status == "proved" else _at_a_width(trial)


def _at_a_width(trial: Trial) -> Evidence:
    """The exact mean logit at the width that is asked for, or at 64 where that is too narrow to tell."""
    d, form = max(trial.at.d, _TELLING_WIDTH), trial.form
    root = math.sqrt(d)
    exact, claimed = (float(mean(trial.at.rho, root)) for mean in (_dot_mean(form), form.mean))
    return agreement(
        "mean logit",
        claimed=claimed,
        measured=Measured(value=exact, tolerance=1e-12 * exact),
        at=f"d = {d:.12g}, ρ = {trial.at.rho:g}",
        route="algebra",
    )


def _dot_mean(form: Alignment) -> Callable[[float, float], float]:
    return lambda rho, root: rho * root * (root / float(form.divisor(root)))


def _by_sampling(trial: Trial) -> Evidence:
    """Pairs of vectors with that correlation, drawn as Gaussians and as signs."""
    d, rho, form = min(trial.at.d, _MOST_WIDTH), trial.at.rho, trial.form
    told = f"d = {d}" if d == trial.at.d else f"d = {d} (thinned from {trial.at.d:g})"
    parts = []
    for law in ("Gaussian", "signs"):
        rng, shape = trial.rng(law), (_NUM_DRAWS, d)
        if law == "Gaussian":
            query = rng.normal(size=shape)
            key = rho * query + math.sqrt(1 - rho**2) * rng.normal(size=shape)
        else:
            query = rng.choice([-1.0, 1.0], size=shape)
            key = query * rng.choice([-1.0, 1.0], size=shape, p=[(1 - rho) / 2, (1 + rho) / 2])
        logits = (query * key).sum(axis=1) / float(form.divisor(math.sqrt(d)))
        error = float(logits.std(ddof=1)) / math.sqrt(_NUM_DRAWS) + 1e-12
        parts.append(
            agreement(
                "mean logit",
                claimed=float(form.mean(rho, math.sqrt(d))),
                route="sampling",
                measured=Measured(value=float(logits.mean()), tolerance=_STANDARD_ERRORS * error),
                at=f"{told}, ρ = {rho:g}, {_NUM_DRAWS} draws, entries: {law}",
            )
        )
    return all_parts("sampling", parts)


CLAIM = Claim(
    id="root-width-tames-aligned-keys",
    section="7 softmax",
    statement="entries of q and k of mean 0 and variance 1, q_i and k_i with correlation ρ (ρ = 1: k = q): dividing by "
    "√d keeps logits of order one at every width here too, E(kᵀq/√d) = ρ",
    latex=r"\mathrm{corr}(q_i,k_i)=\rho:\quad\mathbb{E}\,\frac{k^\top q}{\sqrt d}=\rho\quad\text{at every }d",
    expected="refuted",
    parameters=(
        Parameter(name="d", default=64, lower=1, is_integer=True),
        Parameter(name="rho", default=1.0, lower=0.001, upper=1),
    ),
    conditions=("entries of mean 0 and variance 1",),
    form=Alignment(mean=lambda rho, root: rho + 0 * root),
    rivals=(
        Rival(statement="the mean logit is ρ√d, and grows with the width", form=Alignment(), becomes="proved"),
        Rival(
            statement="dividing by d does keep it: E(kᵀq/d) = ρ",
            form=Alignment(mean=lambda rho, root: rho + 0 * root, divisor=lambda root: root**2),
            becomes="proved",
        ),
    ),
    routes=(_by_sampling, _by_algebra),
    figure=sums.aligned,
    derivation="kᵀq is a sum of d products of mean ρ each: dρ in all. √d is the size of the noise of such a sum, not "
    "of its mean, so it only suits independent q and k (see `scale-keeps-variance`). With k = q the mean logit is √d: "
    "8 at d = 64, 11.3 at d = 128. Training aligns queries with keys, which is why the μP "
    "parametrisation divides by d instead.",
    source="Yang et al. 2022, Tensor Programs V: tuning large neural networks via zero-shot hyperparameter transfer",
)
