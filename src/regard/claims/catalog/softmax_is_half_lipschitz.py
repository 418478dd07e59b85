"""Softmax moves at most half as far as its logits do, and in the worst case just that far."""

from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms.retrieval import average_weight
from regard.analysis.closed_forms.stability import softmax_lipschitz
from regard.analysis.engines.symbolic import Field, identity, nonnegative
from regard.attention import masked_softmax
from regard.claims._comparisons import Measured, agreement, all_parts, of_smaller_case
from regard.claims._retrieval import counted, rounding, thinned
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.figures import softmax
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

# Logits this far below the others weigh nothing in float64.
_FAR_BELOW = -800.0


def _by_algebra(trial: Trial) -> Evidence:
    """hᵀJh = Var_a(h) for the Jacobian J = diag(a) − aaᵀ: symmetric, so its norm is the largest of hᵀJh/‖h‖².

    Let h lie in [m, M] with mean μ under a: E(M−h)(h−m) = s ≥ 0, and ‖h‖² = m² + M² + r with r ≥ 0.
    Half of ‖h‖² exceeds the variance by squares, s and r/2. Two equal logits reach it: h = (1, −1, 0, …) has
    hᵀJh/‖h‖² = a_1 = e^β/(2e^β + n−2), where β is how far they are above the n−2 others.
    """
    field, rng = Field("M", "m", "mu", "s", "r", counts=("n", "n-2"), exponentials=("beta",)), trial.rng("algebra")
    high, low, mean, slack, rest = (field[name] for name in ("M", "m", "mu", "s", "r"))
    half = field.constant(Fraction(1, 2))
    constant = field.constant(0) + trial.form(field["n-2"] + 2)
    variance = (high + low) * mean - high * low - slack - mean**2
    squares = ((high + low) * half - mean) ** 2 + ((high + low) * half) ** 2
    reached = average_weight(field["beta"], field["n"]).limit("e^beta")
    return all_parts(
        "algebra",
        [
            identity(
                half * (high**2 + low**2 + rest) - variance,
                squares + slack + half * rest,
                rng=rng,
                what="½‖h‖² − Var_a(h) is a sum of squares and slacks",
            ),
            nonnegative(constant - half, rng=rng, what="the constant is at least ½"),
            identity(reached, constant, rng=rng, what="the largest slope, at two equal logits far above the others"),
        ],
    )


def _by_brute_force(trial: Trial) -> Evidence:
    """Random pairs of logits near and far, and the Jacobian's norm where two equal logits are above the others."""
    n, rng = thinned(trial.at.n), trial.rng("logits")
    scales = 10.0 ** rng.uniform(-3, 1, size=(2, 200, 1))
    start = scales[0] * rng.normal(size=(200, n))
    step = scales[1] * rng.normal(size=(200, n))
    moved = np.linalg.norm(masked_softmax(start + step) - masked_softmax(start), axis=1)
    ratio = moved / np.linalg.norm(step, axis=1)
    logits = np.full((1, n), _FAR_BELOW)
    logits[0, :2] = 0.0
    top = masked_softmax(logits)[0]
    norm = float(np.linalg.norm(np.diag(top) - np.outer(top, top), ord=2))
    claimed, at = float(trial.form(n)), counted(trial.at.n)
    parts = [
        agreement(
            "largest slope",
            claimed=claimed,
            route="brute force",
            measured=Measured(value=norm, tolerance=rounding(n, 0.0)),
            at=f"{at}, logits (0, 0, {_FAR_BELOW:g}, …)",
        )
    ]
    worst = float(ratio.max())
    if not worst <= claimed + 1e-9:
        row = int(ratio.argmax())
        parts.append(
            Evidence(
                route="brute force",
                status="refuted",
                detail="a pair moves farther",
                value=worst,
                counterexample=f"{at}, seed {trial.seed}, pair {row}: softmax moves {worst:.6g} times as "
                f"far as the logits, the statement says at most {claimed:g}",
            )
        )
    else:
        parts.append(
            Evidence(
                route="brute force",
                status="holds",
                detail=f"200 random pairs, {at}: softmax moves at most {worst:.4g} times as far",
            )
        )
    return of_smaller_case(all_parts("brute force", parts), tried=n, asked=trial.at.n)


CLAIM = Claim(
    id="softmax-is-half-lipschitz",
    section="7 softmax",
    statement="‖softmax(x) − softmax(y)‖₂ ≤ ½‖x − y‖₂ for all n ≥ 2 logits x and y, and no smaller constant will do",
    latex=r"\|\mathrm{softmax}(x)-\mathrm{softmax}(y)\|_2\le\tfrac12\|x-y\|_2,\qquad"
    r"\sup_x\|\mathrm{diag}(a)-aa^\top\|_2=\tfrac12",
    expected="proved",
    parameters=(Parameter(name="n", default=10, lower=2, is_integer=True),),
    conditions=("finite logits",),
    assumes=(
        "a differentiable map is L-Lipschitz if and only if its Jacobian's norm is nowhere above L",
        "the norm of a symmetric matrix J ≥ 0 is the largest hᵀJh/‖h‖²",
    ),
    form=softmax_lipschitz,
    rivals=(
        Rival(statement="the constant is 1: softmax is 1-Lipschitz and no better", form=lambda n: 0 * n + Fraction(1)),
        Rival(statement="the constant is ¼, the largest ∂a_i/∂z_i = a_i(1−a_i)", form=lambda n: 0 * n + Fraction(1, 4)),
        Rival(statement="the constant is 1/n, the Jacobian's norm at equal logits", form=lambda n: 1 / n),
    ),
    routes=(_by_brute_force, _by_algebra),
    figure=softmax.half_slope,
    derivation="J = diag(a) − aaᵀ has hᵀJh = Var_a(h). A variance over [m, M] is at most (M−m)²/4 ≤ (M²+m²)/2 ≤ "
    "‖h‖²/2, with equality for h = (1, −1, 0, …) and a = (½, ½, 0, …): two equal logits far above the others. At n "
    "equal logits the norm is 1/n only. The entry a_i(1−a_i) ≤ ¼ is one logit's own effect; two logits that move "
    "apart add up.",
    source="Gao and Pavel 2017, On the properties of the softmax function with application in game theory and "
    "reinforcement learning (constant 1); Nair 2025, Softmax is 1/2-Lipschitz",
)
