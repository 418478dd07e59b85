"""Softmax moves at most half as far as its logits do, and in the worst case exactly that far."""

from fractions import Fraction

import numpy as np

from regard.analysis.closed_forms.softmax import average_weight, copy_weight, softmax_lipschitz
from regard.analysis.engines.symbolic import identity, nonnegative
from regard.attention import masked_softmax
from regard.claims._evidence import Evidence, agreement, one_case, smaller_case
from regard.claims._retrieval import few_keys, rounding
from regard.claims.claim import Claim, NearMiss, Settings, Trial, integer
from regard.core.axes import Float
from regard.render.figures import Axis, Chart, Guide, Series

# Logits this far below the others have weight 0 in float64.
_FAR_BELOW = -800.0


def _by_algebra(trial: Trial) -> list[Evidence]:
    """hᵀJh = Var_a(h) for the Jacobian J = diag(a) − aaᵀ: it is symmetric, so its norm is the largest hᵀJh/‖h‖².

    Let h lie in [m, M] with mean μ under a: E(M−h)(h−m) = s ≥ 0, and ‖h‖² = m² + M² + r with r ≥ 0.
    Half of ‖h‖² exceeds the variance by squares, s and r/2. Two equal logits reach it: h = (1, −1, 0, …) has
    hᵀJh/‖h‖² = a_1 = e^β/(2e^β + n−2), where β is their lead over the n−2 others.
    """
    names = {"counts": ("n", "n-2"), "exponentials": ("beta",)}
    high, low, mean, slack, rest, n, m, beta = trial.field("M", "m", "mu", "s", "r", **names)
    half, constant = Fraction(1, 2), trial.form(m + 2) + 0 * m
    variance = (high + low) * mean - high * low - slack - mean**2
    squares = ((high + low) * half - mean) ** 2 + ((high + low) * half) ** 2
    reached = average_weight(beta, n).limit("e^beta")
    excess, what = half * (high**2 + low**2 + rest) - variance, "½‖h‖² − Var_a(h) is a sum of squares and slacks"
    return [
        identity(excess, squares + slack + half * rest, what),
        nonnegative(constant - half, "the constant is at least ½"),
        identity(reached, constant, "the largest slope, at two equal logits far above the others"),
    ]


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """Random pairs of logits near and far, and the Jacobian's norm where two equal logits lead the others."""
    (n, at), rng = few_keys(trial.at.n), trial.rng("logits")
    scales = 10.0 ** rng.uniform(-3, 1, size=(2, 200, 1))
    start = scales[0] * rng.normal(size=(200, n))
    step = scales[1] * rng.normal(size=(200, n))
    moved = np.linalg.norm(masked_softmax(start + step) - masked_softmax(start), axis=1)
    ratio = moved / np.linalg.norm(step, axis=1)
    logits = np.full((1, n), _FAR_BELOW)
    logits[0, :2] = 0.0
    top = masked_softmax(logits)[0]
    norm = float(np.linalg.norm(np.diag(top) - np.outer(top, top), ord=2))
    claimed = float(trial.form(n))
    there, worst = f"{at}, logits (0, 0, {_FAR_BELOW:g}, …)", float(ratio.max())
    slope = agreement("largest slope", claimed=claimed, found=norm, tolerance=rounding(n, 0.0), at=there)
    shown = f"200 random pairs, {at}, seed {trial.seed}: softmax moves up to {worst:.6g} times as far as the logits"
    moves = one_case(shown, agrees=worst <= claimed + 1e-9, said=f"at most {claimed:g}")
    return smaller_case([slope, moves], tried=n, asked=trial.at.n)


def _figure(at: Settings) -> Chart:
    leads = np.linspace(-10.0, 10.0, 121)
    sizes = sorted({2, 4, int(min(max(at.n, 2), 100))})
    return Chart(
        title="Never steeper than ½",
        caption="The largest factor by which softmax stretches a small step, where one logit leads n−1 equal ones by "
        "z. It is ½ where two weights are ½ each, and never more.",
        x=Axis(label="lead z of one logit"),
        y=Axis(label="largest slope", lower=0.0, upper=0.6),
        series=[Series(label=f"n = {n}", x=leads, y=_slopes(leads, n)) for n in sizes],
        guides=(Guide(at=0.5, label="½"),),
    )


def _slopes(leads: Float[np.ndarray, " point"], n: int) -> Float[np.ndarray, " point"]:
    """Largest eigenvalue of diag(a) − aaᵀ for weights a = (p, r, …, r): npr, or r if two of the others move apart."""
    own = copy_weight(leads, float(n))
    rest = (1 - own) / (n - 1)
    return np.maximum(n * own * rest, rest if n > 2 else 0.0)


CLAIM = Claim(
    id="softmax-is-half-lipschitz",
    section="7 softmax",
    statement="‖softmax(x) − softmax(y)‖₂ ≤ ½‖x − y‖₂ for all n ≥ 2 logits x and y, and no smaller constant works",
    latex=r"\|\mathrm{softmax}(x)-\mathrm{softmax}(y)\|_2\le\tfrac12\|x-y\|_2,\qquad"
    r"\sup_x\|\mathrm{diag}(a)-aa^\top\|_2=\tfrac12",
    expected="proved",
    parameters=(integer("n", 10, lower=2),),
    conditions=("finite logits",),
    assumes=(
        "a differentiable map is L-Lipschitz if and only if its Jacobian's norm is nowhere above L",
        "the norm of a symmetric matrix J ≥ 0 is the largest hᵀJh/‖h‖²",
    ),
    form=softmax_lipschitz,
    near_misses=(
        NearMiss("the constant is 1: softmax is 1-Lipschitz and not better", lambda n: 0 * n + Fraction(1)),
        NearMiss("the constant is ¼, the largest ∂a_i/∂z_i = a_i(1−a_i)", lambda n: 0 * n + Fraction(1, 4)),
        NearMiss("the constant is 1/n, the Jacobian's norm at equal logits", lambda n: 1 / n),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="J = diag(a) − aaᵀ has hᵀJh = Var_a(h). A variance over [m, M] is at most (M−m)²/4 ≤ (M²+m²)/2 ≤ "
    "‖h‖²/2, with equality for h = (1, −1, 0, …) and a = (½, ½, 0, …): two equal logits far above the others. At n "
    "equal logits the norm is only 1/n. The entry a_i(1−a_i) ≤ ¼ is the effect of one logit on its own weight; two "
    "logits that move apart add up.",
    source="Gao and Pavel 2017, On the properties of the softmax function with application in game theory and "
    "reinforcement learning (constant 1); Nair 2025, Softmax is 1/2-Lipschitz",
    figure=_figure,
)
