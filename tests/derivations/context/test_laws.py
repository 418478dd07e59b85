"""Statements about laws, without a problem: true ones hold, false ones are refuted, and doubtful ones stay open."""

import pytest

from regard.derivations.context.formulas import read_formulas
from regard.derivations.context.questions import infer_problem
from regard.derivations.reading.files import read_text
from regard.derivations.verify import judge_document

NORMAL = r"Let $X \sim \mathcal N(\mu, \sigma^2)$."
TWO = r"Let $p = \mathcal N(\mu_1, \sigma_1^2)$ and $q = \mathcal N(\mu_2, \sigma_2^2)$."
DENSITIES = r"Let $q(z) = \mathcal N(z; m, s^2)$ and $p(z) = \mathcal N(z \mid 0, 1)$."
WORDS = r"Let $q$ be Gaussian with mean $m$ and variance $s^2$."
VECTOR = (
    r"Let $x \in \mathbb{R}^d$, $\Sigma \in \mathbb{R}^{d\times d}$, $m \in \mathbb{R}^d$, "
    r"$A \in \mathbb{R}^{d\times d}$ and $x \sim \mathcal N(m, \Sigma)$."
)
NAMED_AFTER = (
    r"Let $x \sim \mathcal N(m, \Sigma)$ with $m \in \mathbb{R}^d$ and $\Sigma \in \mathbb{R}^{d\times d}$, "
    r"and let $A \in \mathbb{R}^{d\times d}$ be symmetric."
)
COUNT = r"Let $N \sim \mathrm{Poisson}(\lambda)$."
COIN = r"Let $B \sim \mathrm{Bernoulli}(p)$."
WAIT = r"Let $T \sim \mathrm{Exp}(\lambda)$, and let $s$, $t$ be positive numbers."
GAMMA = r"Let $G \sim \mathrm{Gamma}(\alpha, \beta)$."
UNIFORM = r"Let $U \sim \mathcal U(0, 1)$."
CHANCES = r"Let $p, q \in \mathbb{R}^n$ be probability vectors."
PAIR = r"Let $X \sim \mathcal N(0, 1)$ and $Y \sim \mathcal N(a X, \sigma^2)$."

TRUE = {
    NORMAL: (
        r"\mathbb{E}[X^4] = \mu^4 + 6\mu^2\sigma^2 + 3\sigma^4",
        r"\mathbb{E}[e^X] = e^{\mu + \sigma^2/2}",
        r"H(X) = \frac12 \log(2\pi e \sigma^2)",
        r"P(X > \mu) = \frac12",
        r"\mathbb{E}[|X - \mu|^2] = \mathrm{Var}(X)",
        r"\mathbb{E}_X[X] = \mu",
    ),
    TWO: (
        r"D_{KL}(p\|q) = \log\frac{\sigma_2}{\sigma_1} + \frac{\sigma_1^2 + (\mu_1-\mu_2)^2}{2\sigma_2^2} - \frac12",
        r"\mathrm{KL}(p \,\|\, q) = H(p, q) - H(p)",
        r"\mathbb{E}_{p}[\log q] = -H(p, q)",
        r"\mathbb{E}_{x\sim p}[\log p(x) - \log q(x)] = D_{\mathrm{KL}}(p||q)",
        r"KL(p||p) = 0",
    ),
    DENSITIES: (
        r"\mathrm{KL}(q(z)\|p(z)) = \frac12(m^2 + s^2 - 1 - \log s^2)",
        r"\mathbb{E}_{q(z)}[\log p(z)] = -\frac12\log(2\pi) - \frac12(m^2 + s^2)",
        r"q(z) = \frac{1}{\sqrt{2\pi s^2}} e^{-(z - m)^2/(2s^2)}",
    ),
    WORDS: (r"H(q) = \frac12\log(2\pi e s^2)",),
    VECTOR: (
        r"\mathbb E[x^\top A x] = \mathrm{tr}(A\Sigma) + m^\top A m",
        r"\mathbb E[x x^\top] = \Sigma + m m^\top",
        r"KL(\mathcal N(m, \Sigma)\|\mathcal N(0, I)) = \frac12(\mathrm{tr}(\Sigma) + m^\top m - d - \log\det\Sigma)",
    ),
    NAMED_AFTER: (r"\mathbb E[x^\top A x] = \mathrm{tr}(A\Sigma) + m^\top A m",),
    COUNT: (r"\mathbb E[N^2] = \lambda^2 + \lambda", r"P(N = 0) = e^{-\lambda}", r"P(N \ge 1) = 1 - e^{-\lambda}"),
    COIN: (r"\mathrm{Var}(B) = p(1 - p)", r"H(B) = -p\log p - (1-p)\log(1-p)", r"\mathbb E[B^2] = p"),
    WAIT: (
        r"\mathbb E[T] = \frac{1}{\lambda}",
        r"P(T > s + t \mid T > s) = P(T > t)",
        r"\mathbb E[T \mid T > s] = s + \frac{1}{\lambda}",
        r"H(T) = 1 - \log\lambda",
    ),
    GAMMA: (r"\mathbb E[G] = \frac{\alpha}{\beta}", r"\mathrm{Var}(G) = \frac{\alpha}{\beta^2}"),
    UNIFORM: (r"\mathrm{Var}(U) = \frac{1}{12}", r"H(U) = 0", r"P(U < \frac14) = \frac14"),
    CHANCES: (
        r"\mathrm{KL}(p\|q) = \sum_{i=1}^n p_i \log\frac{p_i}{q_i}",
        r"H(p) = -\sum_{i=1}^n p_i\log p_i",
        r"H(p) \le \log n",
    ),
    PAIR: (r"\mathbb E[Y \mid X] = a X", r"\mathbb E[\mathbb E[Y \mid X]] = 0"),
}
FALSE = {
    NORMAL: (r"\mathbb{E}[X^2] = \mu^2 - \sigma^2", r"H(X) = \log(2\pi e \sigma^2)"),
    WAIT: (r"\mathbb E[T \mid T > s] = \frac{1}{\lambda}",),
    TWO: (
        r"D_{KL}(p\|q) = \log\frac{\sigma_1}{\sigma_2} + \frac{\sigma_1^2 + (\mu_1-\mu_2)^2}{2\sigma_2^2} - \frac12",
        r"\mathrm{KL}(p \,\|\, q) = H(p) - H(p, q)",
    ),
    DENSITIES: (r"\mathrm{KL}(q(z)\|p(z)) = \frac12(m^2 + s^2 + 1 - \log s^2)",),
    VECTOR: (r"\mathbb E[x^\top A x] = \mathrm{tr}(A\Sigma) - m^\top A m",),
    NAMED_AFTER: (r"\mathbb E[x^\top A x] = \mathrm{tr}(A\Sigma) - m^\top A m",),
    COIN: (r"\mathrm{Var}(B) = p(1 + p)",),
    CHANCES: (r"H(p) \ge \log n", r"\mathrm{KL}(p\|q) \ge \log n"),
}
# Another way to write the parameters, dependent symbols or other meanings could make these true.
OPEN = {
    NORMAL: (r"\mathbb{E}[e^X] = e^{\mu + \sigma^2}",),
    COUNT: (r"\mathbb E[N^2] = \lambda^2",),
    GAMMA: (r"\mathbb E[G] = \alpha\beta",),
    r"Let $X \sim \mathcal N(0, \tau)$ and let $\tau$ be a positive number.": (r"\mathrm{Var}(X) = \tau^2",),
    r"Let $X \sim \mathcal N(0, 1)$, $Y \sim \mathcal N(0, 1)$, and let $\rho$ be a number.": (
        r"\mathrm{Var}(X + Y) = 2 + 2\rho",
    ),
    PAIR: (r"\mathbb E[Y] = a",),
    r"Nothing is said of $f$.": (r"\int_0^1 f(x)\,dx = 1", r"\int_0^1 f(x)\,dx = f(x)"),
}
_CASES = [
    (intro, formula) for table in (TRUE, FALSE, OPEN) for intro, formulas in table.items() for formula in formulas
]


@pytest.mark.parametrize(("intro", "formula"), _CASES)
def test_statements_about_laws(intro, formula):
    expected = (
        "holds" if formula in TRUE.get(intro, ()) else "refuted" if formula in FALSE.get(intro, ()) else "undecided"
    )
    document = read_text(f"{intro} Then\n$$\n{formula}\n$$\n")
    judged = judge_document(document, infer_problem(read_formulas(document)))
    found = [verdict for verdict in judged.verdicts if (verdict.source or "").strip() == formula]
    assert [verdict.status for verdict in found] == [expected], [verdict.reason for verdict in found]
