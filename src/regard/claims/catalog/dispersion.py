"""Logits of bounded spread disperse: no key keeps its weight as keys are added."""

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.retrieval import dispersed_weight
from regard.analysis.engines.symbolic import Field, identity, nonnegative
from regard.attention import masked_softmax
from regard.claims._comparisons import Measured, agreement, all_parts, in_balls, of_smaller_case
from regard.claims._retrieval import counted, rounding, tempered, thinned
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence


def _by_algebra(trial: Trial) -> Evidence:
    """1/a_i = 1 + Σ_{j≠i} e^{z_j−z_i}, n−1 terms of at least e^{−R} each: a slack above that is ≥ 0."""
    field = Field("e^R-1", "slack", counts=("n", "n-2"), exponentials=("R",))
    m, r, s = (field[name] for name in ("n-2", "e^R-1", "slack"))
    bound, rng = trial.form(field["R"], field["n"]), trial.rng("algebra")
    weight = 1 / (1 + (m + 1) / (1 + r) + s)
    return all_parts(
        "algebra",
        [
            nonnegative(bound.substitute(n=m + 2, e_R=1 + r) - weight, rng=rng, what="a_i ≤ bound"),
            identity(bound.limit("n"), field.constant(0), rng=rng, what="the bound's limit as n → ∞"),
        ],
    )


def _by_brute_force(trial: Trial) -> Evidence:
    """Random logits within the spread, the most favoured key among them; and the bound where n is 10⁶·e^R."""
    n, spread, rng = thinned(trial.at.n), tempered(trial.at.spread), trial.rng("logits")
    logits = spread * rng.random(size=(50, n))
    logits[0], logits[0, 0] = 0.0, spread
    heaviest, bound = masked_softmax(logits).max(axis=-1), in_balls(trial.form, spread, n)
    with ctx.workprec(128):
        far = float(arb(trial.form(arb(spread), 1 + 10**6 * arb(spread).exp())))
    vanishing = agreement(
        "bound for 1 + 10⁶·e^R keys",
        claimed=0.0,
        measured=Measured(value=far, tolerance=1e-5),
        at=f"R = {spread:g}",
        route="brute force",
    )
    if not heaviest.max() <= bound * (1 + rounding(n, spread)):
        worst = float(heaviest.max())
        return Evidence(
            route="brute force",
            status="refuted",
            detail="a key outweighs the bound",
            value=worst,
            is_of_smaller_case=n < trial.at.n,
            counterexample=f"n = {n}, one logit {spread:g} and the others "
            f"{'0' if heaviest.argmax() == 0 else f'random in [0, {spread:g}]'}: "
            f"a_i = {worst:.12g} exceeds the claimed bound {bound:.12g}",
        )
    kept = Evidence(
        route="brute force",
        status="holds",
        value=float(np.max(heaviest)),
        bound=rounding(n, spread),
        detail=f"50 draws of logits with spread ≤ {spread:g}, {counted(trial.at.n)}, stay under the bound",
    )
    outcome = all_parts("brute force", [kept, vanishing])
    return of_smaller_case(outcome, tried=n, asked=trial.at.n)


CLAIM = Claim(
    id="dispersion",
    section="1 retrieval",
    statement="if max z − min z ≤ R for every n, then a_i ≤ 1/(1+(n−1)e^{−R}) → 0 as n → ∞",
    latex=r"\max z-\min z\le R\;\Rightarrow\;a_i\le\frac1{1+(n-1)e^{-R}}\xrightarrow{n\to\infty}0",
    expected="proved",
    parameters=(
        Parameter(name="n", default=10, lower=2, is_integer=True),
        Parameter(name="spread", default=2.0, lower=0),
    ),
    form=dispersed_weight,
    rivals=(
        Rival(statement="a_i ≤ 1/n", form=lambda spread, n: 1 / n + 0 * spread),
        Rival(statement="a_i ≤ 1/(1+n·e^{−R})", form=lambda spread, n: 1 / (1 + n * exp(-spread))),
        Rival(statement="a_i ≤ 1/(1+(n−1)e^R)", form=lambda spread, n: 1 / (1 + (n - 1) * exp(spread))),
        Rival(statement="a_i ≤ 1/(1+e^{−R}) → 0", form=lambda spread, n: 1 / (1 + exp(-spread)) + 0 * n),
    ),
    routes=(_by_brute_force, _by_algebra),
    derivation="1/a_i = 1 + Σ_{j≠i} e^{z_j−z_i} ≥ 1 + (n−1)e^{−R}. With R fixed the right side grows with n, so every "
    "weight vanishes: sharp attention over more keys needs larger logits. R = 2: 0.451 at n = 10, 0.00734 at n = 1000.",
    source="Veličković et al. 2024, softmax is not enough (for sharp out-of-distribution)",
    figure=retrieval.dispersing,
)
