"""Misconception: to average any two of n values, a head must be n wide."""

from fractions import Fraction
from itertools import combinations

import numpy as np

from regard.analysis.closed_forms.low_rank import moment_keys, pair_query
from regard.analysis.closed_forms.order import softmax
from regard.analysis.closed_forms.softmax import average_scale
from regard.analysis.engines.symbolic import identity, nonnegative
from regard.attention import AttentionRule, attention_weights
from regard.claims._evidence import Evidence, conjunction, in_balls, smaller_case
from regard.claims._retrieval import LeastWidth, least_width_proved, least_width_tried
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, HeatMap

_MOST_KEYS, _SPACE_QUERIES = 12, 500


def _known(trial: Trial, n: int) -> LeastWidth:
    scale = in_balls(trial.form.enough, trial.at.epsilon, n)
    return LeastWidth(
        width=4,
        can=f"width 4, n = {n:.12g} keys (t, t², t³, t⁴), t whole, ε = {trial.at.epsilon:g}; for any pair i, j: "
        f"q = β(2ij(i+j), −(i²+4ij+j²), 2(i+j), −1) with β = {scale:.6g}",
        cannot="width 3, any 5 of the keys: the convex hull of one or two of them, i and j, meets that of others "
        "(Radon), so no query raises both i and j above all others, and the smaller of a_i and a_j is at most ⅓",
    )


def _by_algebra(trial: Trial) -> list[Evidence]:
    """The query's polynomial peaks only at i and j; in width 3 the hulls of two keys and of three meet."""
    known = _known(trial, trial.at.n)
    return least_width_proved(trial, can=_curve_is_enough(trial), cannot=_space_is_not(trial), known=known)


def _curve_is_enough(trial: Trial) -> Evidence:
    """z_t = β(i²j² − (t−i)²(t−j)²): at least β below the pair at every other whole t; n = m+2, ε = 1/(2(1+p))."""
    t, i, j, p, slack, m = trial.field("t", "i", "j", "(1-2epsilon)/2epsilon", "slack", counts=("n-2",))
    logit = sum(c * t ** (power + 1) for power, c in enumerate(pair_query(i, j)))
    epsilon = 1 / (2 * (1 + p))
    claimed = trial.form.enough(epsilon, m + 2).exp()
    weight = 1 / (2 + m / claimed / (1 + slack))
    peaks = "kᵀq/β = i²j² − (t−i)²(t−j)², which at whole t ≠ i, j is at least 1 below its value at i and j"
    return conjunction(
        identity(logit, i * i * j * j - (t - i) ** 2 * (t - j) ** 2, peaks),
        nonnegative(weight - (Fraction(1, 2) - epsilon), "a_i = a_j ≥ ½−ε on the moment curve"),
    )


def _space_is_not(trial: Trial) -> Evidence:
    """Some key k of the other hull has a logit of at least z_i ≤ z_j, because the two hulls share a point.

    If a single key i lies in the hull of others, take as j one of those whose coefficient is at most half: if
    z_j = z_i + δ is above z_i, the rest have a key at or above z_i − δ.
    """
    names = ("(1-lambda)/lambda", "z_j-z_i", "e^(z_j-z_i)-1", "e^(z_k-z_i)-1", "rest")
    u, apart, second, other, rest = trial.field(*names)
    share, third = 1 / (1 + u), Fraction(1, 3)
    outside, inside = 1 / (1 + (1 + second) + (1 + other) + rest), 1 / (1 + (1 + second) + 1 / (1 + second) + rest)
    return conjunction(
        nonnegative((1 - share) * apart, "λz_i + (1−λ)z_j ≥ z_i, the smaller of the two"),
        nonnegative(third - outside, "width 3: so the smaller of a_i, a_j is at most ⅓"),
        nonnegative(third - inside, "and likewise for a key within the hull of others"),
    )


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """The reference layer on the moment curve, for every pair of keys; and five random keys of width 3."""
    n, rule = min(trial.at.n, _MOST_KEYS), AttentionRule(scale=1.0)
    keys, pairs = moment_keys(n), list(combinations(range(n), 2))
    scale = in_balls(trial.form.enough, trial.at.epsilon, n)
    queries = scale * np.array([pair_query(keys[i, 0], keys[j, 0]) for i, j in pairs])
    found = attention_weights(queries, keys, rule=rule)
    weight = float(min(found[row, list(pair)].min() for row, pair in enumerate(pairs)))
    # Logits are sums of four products of size βt⁴.
    slack = 64 * float(np.finfo(float).eps) * (1 + abs(scale)) * float(keys.max()) * 4
    wanted, known = 0.5 - trial.at.epsilon - slack, _known(trial, n)
    smaller = _in_space(trial.rng("space"), rule)
    detail = f"of 5 random keys of width 3 some pair gets at most {smaller:.6g} from {_SPACE_QUERIES} queries"
    status = "holds" if smaller <= 1 / 3 + 1e-12 and trial.form.least(n) >= 4 else "undecided"
    curve = least_width_tried(trial, n=n, weight=weight, wanted=wanted, known=known)
    return smaller_case([curve, Evidence(status=status, detail=detail)], tried=n, asked=trial.at.n)


def _in_space(rng: np.random.Generator, rule: AttentionRule) -> float:
    """The largest weight that random queries give both keys on the smaller side of Radon's partition."""
    keys = rng.normal(size=(5, 3))
    balance = np.linalg.svd(np.column_stack([keys, np.ones(5)]).T)[2][-1]
    side = balance > 0 if (balance > 0).sum() <= 2 else balance < 0
    # If that side is a single key, the second is the one with the smallest coefficient in the hull around it.
    pair = np.lexsort([np.abs(balance), ~side])[:2]
    towards = keys[pair].sum(axis=0) * rng.uniform(0, 20, size=(_SPACE_QUERIES, 1))
    queries = towards + 5 * rng.normal(size=(_SPACE_QUERIES, 3))
    return float(attention_weights(queries, keys, rule=rule)[:, pair].min(axis=1).max())


def _figure(at: Settings) -> HeatMap:
    n = int(min(max(at.n, 3), 16))
    places = np.arange(n) - n // 2
    chosen = [(int(places[i]), int(places[j])) for i, j in ((0, n - 1), (0, 1), (n // 2, n - 1), (1, n // 2))]
    logits = np.array([pair_query(*pair) for pair in chosen], dtype=float) @ moment_keys(n).T
    margin = np.log((n - 2) * (1 - 2 * at.epsilon) / (4 * at.epsilon))
    return HeatMap(
        title="Any two of them, with width 4",
        caption=f"Weights of n = {n} keys (t, t², t³, t⁴) under queries for four pairs: each query "
        "splits its attention between just its two keys, although keys have width 4.",
        x=Axis(label="key t", lower=float(places[0]), upper=float(places[-1])),
        y=Axis(label="query", lower=1.0),
        values=softmax(margin * logits),
        lower=0.0,
        upper=0.5,
    )


CLAIM = Claim(
    id="averaging-pairs-needs-width-n",
    section="1 retrieval",
    statement="averaging any chosen pair of n values needs a head of width n: keys for which every pair i, j has a "
    "query with a_i, a_j ≥ ½−ε exist only if the width of keys and queries is at least n",
    latex=r"\exists\,k_1..k_n\in\mathbb R^d\ \forall i<j\ \exists q:\ a_i,a_j\ge\tfrac12-\varepsilon"
    r"\;\Longrightarrow\;d\ge n",
    expected="refuted",
    parameters=(integer("n", 10, lower=5), real("epsilon", 0.01, lower=0, upper=1 / 6, is_open=True)),
    conditions=("a = softmax(Kq)",),
    assumes=("Radon's theorem: d+2 points of ℝ^d split into two sets whose convex hulls meet",),
    # The least head width that does the task for n keys, and the scale that is enough for it.
    form=Form(least=lambda n: n, enough=average_scale),
    near_misses=(
        NearMiss("width 4 is enough for every n ≥ 5, and width 3 is not", {"least": lambda _n: 4}),
        NearMiss(
            "on the moment curve the scale log((n−2)(1−2ε)/(4ε)) is enough, as for orthonormal keys",
            {"least": lambda _n: 4, "enough": average_scale},
        ),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="Put key t at (t, t², t³, t⁴). A query is then a polynomial of degree 4 without constant term, and "
    "−(t−i)²(t−j)² is one up to the constant i²j², which softmax ignores: it is largest exactly at i and j, and at "
    "least 1 lower at every other whole t. Scaled by β it gives each of the pair at least 1/(2+(n−2)e^{−β}), as with "
    "orthonormal keys: β = 5.278 gives 0.49 at n = 10. In width 3, five points always have a pair whose segment meets "
    "the hull of others.",
    source="Gale 1963, Neighborly and cyclic polytopes",
    figure=_figure,
)
