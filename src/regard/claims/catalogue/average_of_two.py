"""q = β(k_a + k_b) averages two values as β grows."""

import numpy as np

from regard.claims.claim import Claim, Rival, Trial
from regard.claims.parameters import Parameter
from regard.engines.symbolic import Field, identity
from regard.theory.arithmetic import exp
from regard.theory.retrieval import average_weight
from regard.verdict import Evidence


def _by_algebra(trial: Trial) -> Evidence:
    """Softmax of the logits (β, β, 0, …, 0): two of e^β and n−2 of one in the denominator."""
    field = Field("n", exponentials=("beta",))
    beta, n = field["beta"], field["n"]
    softmax = beta.exp() / (beta.exp() + beta.exp() + (n - 2) * (0 * beta).exp())
    return identity(trial.form(beta, n), softmax, rng=trial.rng("algebra"), what="a_a")


def _by_brute_force(trial: Trial) -> Evidence:
    """Attention over random orthonormal keys, computed key by key."""
    n, beta = trial.at.n, min(trial.at.beta, 500.0)
    keys, _ = np.linalg.qr(trial.rng("keys").normal(size=(n + 3, n)))
    logits = keys.T @ (beta * (keys[:, 0] + keys[:, 1]))
    weights = np.exp(logits - logits.max())
    weights /= weights.sum()
    gap = float(np.abs(weights[:2] - trial.form(beta, n)).max())
    if gap <= 1e-9:
        return Evidence(route="brute force", status="holds", detail=f"random orthonormal keys agree to {gap:.1e}",
                        value=float(weights[0]), bound=1e-9)
    return Evidence(route="brute force", status="refuted", detail="random orthonormal keys disagree", value=float(weights[0]),
                    counterexample=f"n = {n}, β = {beta:g}: a_a = {weights[0]:.12g}, the formula says {trial.form(beta, n):.12g}")


CLAIM = Claim(
    id="average-of-two",
    section="1 retrieval",
    statement="orthonormal keys, q = β(k_a+k_b): a_a = a_b = e^β/(2e^β+n−2), so c → ½(v_a+v_b) as β → ∞",
    latex=r"q=\beta(k_a+k_b)\;\Rightarrow\;\alpha_a=\alpha_b=\frac{e^\beta}{2e^\beta+n-2},\quad c\to\tfrac12(v_a+v_b)",
    expected="proved",
    parameters=(Parameter(name="n", default=10, lower=3, upper=2000, is_integer=True), Parameter(name="beta", default=5.0, lower=0)),
    form=average_weight,
    rivals=(
        Rival(statement="the others weigh n−1", form=lambda beta, n: exp(beta) / (2 * exp(beta) + n - 1)),
        Rival(statement="only one e^β in the denominator", form=lambda beta, n: exp(beta) / (exp(beta) + n - 2)),
    ),
    routes=(_by_algebra, _by_brute_force),
    derivation="k_aᵀq = k_bᵀq = β and k_iᵀq = 0 for the n−2 others, so the softmax's denominator is 2e^β + (n−2). "
    "Dividing by e^β gives 1/(2 + (n−2)e^{−β}) → ½, and the n−2 other weights vanish together.",
    source="CS224N assignment 4, question 1(b)",
)
