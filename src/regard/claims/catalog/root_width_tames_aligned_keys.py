"""Misconception: dividing by √d keeps logits of order one even when query and key are aligned."""

import math

import numpy as np

from regard.analysis.closed_forms.softmax import aligned_mean
from regard.analysis.engines.symbolic import identity
from regard.claims._evidence import Evidence, agreement
from regard.claims._figures import counts
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, Chart, Guide, Series

_MOST_WIDTH, _NUM_DRAWS, _TELLING_WIDTH = 256, 1000, 64
# The mean of 1000 scores is close to normal: ten standard errors make a false alarm rarer than one run in a billion.
_STANDARD_ERRORS = 10.0


def _by_algebra(trial: Trial) -> Evidence:
    """E Σ_i k_i q_i = d·E k_1 q_1 = dρ: for entries of variance 1, correlation is covariance.

    If that is not what is claimed, the exact mean at the given width, or at 64 if that is too narrow to differ.
    """
    root, rho = trial.field("sqrt(d)", "rho")
    proof = identity(trial.form.mean(rho, root), root**2 * rho / trial.form.divisor(root), "mean logit")
    if proof.status == "proved":
        return proof
    d, rho = max(trial.at.d, _TELLING_WIDTH), trial.at.rho
    root = math.sqrt(d)
    exact, claimed = rho * root * (root / float(trial.form.divisor(root))), float(trial.form.mean(rho, root))
    at = f"d = {d:.12g}, ρ = {rho:g}"
    return agreement("mean logit", claimed=claimed, found=exact, tolerance=1e-12 * exact, at=at)


def _by_sampling(trial: Trial) -> list[Evidence]:
    """Pairs of vectors with that correlation, drawn as Gaussians and as signs."""
    d, rho, form = min(trial.at.d, _MOST_WIDTH), trial.at.rho, trial.form
    size = f"d = {d}" if d == trial.at.d else f"d = {d} (reduced from {trial.at.d:g})"
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
        at, claimed = f"{size}, ρ = {rho:g}, {_NUM_DRAWS} draws, entries: {law}", float(form.mean(rho, math.sqrt(d)))
        tolerance = _STANDARD_ERRORS * error
        parts.append(agreement("mean logit", claimed=claimed, found=logits.mean(), tolerance=tolerance, at=at))
    return parts


def _figure(at: Settings) -> Chart:
    widths = counts(1, 4096).astype(float)
    return Chart(
        title="√d does not tame aligned keys",
        caption="E(kᵀq) for entries of variance 1 and correlation ρ, divided by √d or by d. Noise grows like √d, "
        "but the aligned part grows like d, so divided by √d it still grows.",
        x=Axis(label="width d", is_log=True),
        y=Axis(label="mean logit", is_log=True),
        series=(
            Series(label=f"kᵀq/√d, ρ = {at.rho:g}", x=widths, y=at.rho * np.sqrt(widths)),
            Series(label=f"kᵀq/d, ρ = {at.rho:g}", x=widths, y=at.rho * np.ones_like(widths)),
        ),
        guides=(Guide(at=at.rho, label="claimed: ρ at every width"),),
    )


CLAIM = Claim(
    id="root-width-tames-aligned-keys",
    section="7 softmax",
    statement="entries of q and k of mean 0 and variance 1, q_i and k_i with correlation ρ (ρ = 1: k = q): dividing by "
    "√d keeps logits of order one at every width here as well, E(kᵀq/√d) = ρ",
    latex=r"\mathrm{corr}(q_i,k_i)=\rho:\quad\mathbb{E}\,\frac{k^\top q}{\sqrt d}=\rho\quad\text{at every }d",
    expected="refuted",
    parameters=(integer("d", 64, lower=1), real("rho", 1.0, lower=0.001, upper=1)),
    conditions=("entries of mean 0 and variance 1",),
    # The mean logit as a function of the correlation ρ and √d, and the divisor of the scores as a function of √d.
    form=Form(mean=lambda rho, root: rho + 0 * root, divisor=lambda root: root),
    near_misses=(
        NearMiss("the mean logit is ρ√d, and grows with the width", {"mean": aligned_mean}),
        NearMiss("dividing by d does keep it at ρ: E(kᵀq/d) = ρ", {"divisor": lambda root: root**2}),
    ),
    methods={"sampling": _by_sampling, "algebra": _by_algebra},
    derivation="kᵀq is a sum of d products of mean ρ each: dρ in total. √d is the size of the noise in such a sum, not "
    "of its mean, so it suits only independent q and k (see `scale-keeps-variance`). With k = q the mean logit is √d: "
    "8 at d = 64, 11.3 at d = 128. Training aligns queries with keys, which is why the μP "
    "parametrization divides by d instead.",
    source="Yang et al. 2022, Tensor Programs V: tuning large neural networks via zero-shot hyperparameter transfer",
    figure=_figure,
)
