"""The myth that a head must be as wide as there are keys to average any two of their values."""

from itertools import combinations

import numpy as np

from regard.analysis.closed_forms.narrow_heads import moment_keys, pair_query
from regard.analysis.closed_forms.retrieval import average_scale
from regard.analysis.engines.symbolic import Field, identity, nonnegative
from regard.attention import Rule, attention_weights
from regard.claims._comparisons import all_parts, in_balls, of_smaller_case
from regard.claims._narrow import Shown, Width, tried_out, weighed
from regard.claims._retrieval import thinned
from regard.claims.claim import Claim, Rival, Trial
from regard.claims.parameters import Parameter
from regard.core.verdict import Evidence

_MOST_KEYS, _SPACE_QUERIES = 12, 500


def _shown(trial: Trial, n: int) -> Shown:
    scale = in_balls(trial.form.enough or average_scale, trial.at.epsilon, n)
    return Shown(
        width=4,
        can=f"width 4, n = {n:.12g} keys (t, t², t³, t⁴), t whole, ε = {trial.at.epsilon:g}, for any pair i, j "
        f"q = β(2ij(i+j), −(i²+4ij+j²), 2(i+j), −1) with β = {scale:.6g}",
        cannot="width 3, any 5 of the keys: the hull of one or two of them, i and j, meets that of others (Radon), "
        "so no query lifts i and j alike above all others, and the lesser of a_i and a_j is at most ⅓",
    )


def _by_algebra(trial: Trial) -> Evidence:
    """The query's polynomial peaks at i and j alone; in width 3 the hulls of two keys and of three meet."""
    rng = trial.rng("algebra")
    can, cannot = _curve_is_enough(trial, rng), _space_is_not(rng)
    return all_parts("algebra", weighed(trial, can=can, cannot=cannot, shown=_shown(trial, trial.at.n)))


def _curve_is_enough(trial: Trial, rng: np.random.Generator) -> Evidence:
    """z_t = β(i²j² − (t−i)²(t−j)²): at most −β below the pair at whole t; n = m+2, ε = 1/(2(1+p))."""
    field = Field("t", "i", "j", "(1-2epsilon)/2epsilon", "slack", counts=("n-2",))
    t, i, j, p, slack, m = (field[name] for name in field.symbols)
    logit = sum((c * t ** (power + 1) for power, c in enumerate(pair_query(i, j))), field.constant(0))
    epsilon = 1 / (2 * (1 + p))
    claimed = (trial.form.enough or average_scale)(epsilon, m + 2).exp()
    weight = 1 / (2 + m / claimed / (1 + slack))
    return all_parts(
        "algebra",
        [
            identity(
                logit,
                i * i * j * j - (t - i) ** 2 * (t - j) ** 2,
                rng=rng,
                what="kᵀq/β = i²j² − (t−i)²(t−j)², which at whole t ≠ i, j is at least 1 below its value at i and j",
            ),
            nonnegative(
                weight - (field.constant(1) / 2 - epsilon), rng=rng, what="a_i = a_j ≥ ½−ε on the moment curve"
            ),
        ],
    )


def _space_is_not(rng: np.random.Generator) -> Evidence:
    """Some key k of the other hull has a logit of at least z_i ≤ z_j, because both hulls have a point in common.

    If a single key i lies in the hull of others, take as j one of those that counts at most half: if z_j = z_i + δ
    is above z_i, the rest have a key at or above z_i − δ.
    """
    field = Field("(1-lambda)/lambda", "z_j-z_i", "e^(z_j-z_i)-1", "e^(z_k-z_i)-1", "rest")
    u, apart, second, other, rest = (field[name] for name in field.symbols)
    share, third = 1 / (1 + u), field.constant(1) / 3
    return all_parts(
        "algebra",
        [
            nonnegative((1 - share) * apart, rng=rng, what="λz_i + (1−λ)z_j ≥ z_i, the lesser of the two"),
            nonnegative(
                third - 1 / (1 + (1 + second) + (1 + other) + rest),
                rng=rng,
                what="width 3: so the lesser of a_i, a_j is at most ⅓",
            ),
            nonnegative(
                third - 1 / (1 + (1 + second) + 1 / (1 + second) + rest),
                rng=rng,
                what="as it is for a key within the hull of others",
            ),
        ],
    )


def _by_brute_force(trial: Trial) -> Evidence:
    """The reference layer on the moment curve, every pair of the keys; and five random keys of width 3."""
    n, rule = thinned(trial.at.n, _MOST_KEYS), Rule(scale=1.0)
    keys, pairs = moment_keys(n), list(combinations(range(n), 2))
    scale = in_balls(trial.form.enough or average_scale, trial.at.epsilon, n)
    queries = scale * np.array([pair_query(keys[i, 0], keys[j, 0]) for i, j in pairs])
    found = attention_weights(queries, keys, rule=rule)
    weight = float(min(found[row, list(pair)].min() for row, pair in enumerate(pairs)))
    # Logits are sums of four products of size βt⁴.
    slack = 64 * float(np.finfo(float).eps) * (1 + abs(scale)) * float(keys.max()) * 4
    parts = [tried_out(trial, n=n, weight=weight, wanted=0.5 - trial.at.epsilon - slack, shown=_shown(trial, n))]
    lesser = _in_space(trial.rng("space"), rule)
    told = f"of 5 random keys of width 3 some pair gets at most {lesser:.6g} from {_SPACE_QUERIES} queries"
    status = "holds" if lesser <= 1 / 3 + 1e-12 and trial.form.least(n) >= 4 else "undecided"
    parts.append(Evidence(route="brute force", status=status, detail=told))
    return of_smaller_case(all_parts("brute force", parts), tried=n, asked=trial.at.n)


def _in_space(rng: np.random.Generator, rule: Rule) -> float:
    """The most that random queries give the lesser of the two keys on the smaller side of Radon's partition."""
    keys = rng.normal(size=(5, 3))
    balance = np.linalg.svd(np.column_stack([keys, np.ones(5)]).T)[2][-1]
    side = balance > 0 if (balance > 0).sum() <= 2 else balance < 0
    # Beside a single key, the one that counts least in the hull around it.
    pair = np.lexsort([np.abs(balance), ~side])[:2]
    towards = keys[pair].sum(axis=0) * rng.uniform(0, 20, size=(_SPACE_QUERIES, 1))
    queries = towards + 5 * rng.normal(size=(_SPACE_QUERIES, 3))
    return float(attention_weights(queries, keys, rule=rule)[:, pair].min(axis=1).max())


CLAIM = Claim(
    id="averaging-pairs-needs-width-n",
    section="1 retrieval",
    statement="averaging any chosen pair of n values needs a head of width n: keys for which every pair i, j has a "
    "query with a_i, a_j ≥ ½−ε exist only if the width of keys and queries is at least n",
    latex=r"\exists\,k_1..k_n\in\mathbb R^d\ \forall i<j\ \exists q:\ a_i,a_j\ge\tfrac12-\varepsilon"
    r"\;\Longrightarrow\;d\ge n",
    expected="refuted",
    parameters=(
        Parameter(name="n", default=10, lower=5, is_integer=True),
        Parameter(name="epsilon", default=0.01, lower=0, upper=1 / 6, is_open=True),
    ),
    conditions=("a = softmax(Kq)",),
    assumes=("Radon's theorem: d+2 points of ℝ^d split into two sets whose convex hulls meet",),
    form=Width(least=lambda n: n),
    rivals=(
        Rival(
            statement="width 4 does it for every n ≥ 5, and width 3 does not",
            form=Width(least=lambda _n: 4),
            becomes="proved",
        ),
        Rival(
            statement="on the moment curve the scale log((n−2)(1−2ε)/(4ε)) is enough, as for orthonormal keys",
            form=Width(least=lambda _n: 4, enough=average_scale),
            becomes="proved",
        ),
    ),
    routes=(_by_brute_force, _by_algebra),
    derivation="Put key t at (t, t², t³, t⁴). A query then is a polynomial of degree 4 without constant term, and "
    "−(t−i)²(t−j)² is one but for the constant i²j², which softmax ignores: it is largest exactly at i and j, and at "
    "least 1 below at every other whole t. Times β the pair gets 1/(2+(n−2)e^{−β}) each at least, as with orthonormal "
    "keys: β = 5.278 gives 0.49 at n = 10. In width 3 "
    "five points always have a pair whose segment meets the hull of others.",
    source="Gale 1963, Neighborly and cyclic polytopes",
)
