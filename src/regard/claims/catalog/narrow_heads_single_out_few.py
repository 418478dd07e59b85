"""Misconception: to single out each of n keys, a head must be n wide."""

from fractions import Fraction

import numpy as np
from flint import arb, ctx

from regard.analysis.closed_forms.low_rank import circle_gap, circle_keys, neighbours_margin
from regard.analysis.closed_forms.order import softmax
from regard.analysis.closed_forms.softmax import copy_margin
from regard.analysis.engines.symbolic import identity, nonnegative, positive
from regard.attention import AttentionRule, attention_weights
from regard.claims._evidence import Evidence, conjunction, in_balls, smaller_case
from regard.claims._retrieval import LeastWidth, few_keys, least_width_proved, least_width_tried, rounding
from regard.claims.claim import Claim, Form, NearMiss, Settings, Trial, integer, real
from regard.render.figures import Axis, HeatMap

_LINE_KEYS, _LINE_QUERIES = 5, 200


def _scale(trial: Trial, n: int | arb) -> arb:
    """β = margin/(1 − cos(2π/n)) at the margin that is claimed to be enough."""
    margin = trial.form.enough(arb(trial.at.epsilon), arb(n))
    return arb(margin) / circle_gap(arb.pi() / n)


def _known(trial: Trial, n: int, note: str) -> LeastWidth:
    with ctx.workprec(128):
        scale = _scale(trial, n).str(6, radius=False)
    return LeastWidth(
        width=2,
        can=f"width 2, {note} keys on the unit circle, q_j = βk_j with β = {scale}, ε = {trial.at.epsilon:g}",
        cannot="width 1, keys k_1 < k_2 < k_3: qk_2 is at most the larger of qk_1 and qk_3, so a_2 ≤ ½ for every q",
    )


def _by_algebra(trial: Trial) -> list[Evidence]:
    """Key j beats its neighbours by βδ and the others by more, δ = 1 − cos(2π/n); on a line a middle key never wins."""
    known = _known(trial, trial.at.n, f"n = {trial.at.n:.12g}")
    parts = least_width_proved(trial, can=_circle_is_enough(trial), cannot=_line_is_not(trial), known=known)
    return parts if trial.form.needed is None else [*parts, _neighbours_need(trial)]


def _circle_is_enough(trial: Trial) -> Evidence:
    """The n−1 others together weigh at most (n−1)e^{−βδ} times key j, for n = 1+m and ε = 1/(1+p)."""
    [half] = trial.field(angles=("pi/n",))
    p, t, m = trial.field("(1-epsilon)/epsilon", "slack", counts=("n-1",))
    claimed = trial.form.enough(1 / (1 + p), 1 + m).exp()
    return conjunction(
        identity(circle_gap(half), 1 - (2 * half).cos(), "δ = 1 − cos(2π/n) = 2 sin²(π/n)"),
        nonnegative(1 / (1 + m / claimed / (1 + t)) - (1 - 1 / (1 + p)), "a_j ≥ 1−ε on the circle"),
    )


def _neighbours_need(trial: Trial) -> Evidence:
    """A margin below the claimed one by a factor 1+s in e^{βδ}: two neighbours alone keep a_j below 1−ε."""
    p, s, t, n = trial.field("(1-epsilon)/epsilon", "claimed/e^margin-1", "rest", counts=("n",))
    claimed = trial.form.needed(1 / (1 + p), n).exp()
    weight = 1 / (1 + 2 * (1 + s) / claimed + t)
    return positive(1 - 1 / (1 + p) - weight, "a smaller β leaves a_j < 1−ε on the circle")


def _line_is_not(trial: Trial) -> Evidence:
    """(z_1−z_2)(z_3−z_2) ≤ 0 for keys in order, so some logit is z_2 + s with s ≥ 0, and a_2 ≤ ½ < 1−ε."""
    q, left, right, s, rest = trial.field("q", "k_2-k_1", "k_3-k_2", "e^s-1", "rest")
    return conjunction(
        nonnegative(q * left * (q * right), "width 1: some other logit is at least the middle key's"),
        nonnegative(Fraction(1, 2) - 1 / (1 + (1 + s) + rest), "so the middle key's weight is at most ½"),
    )


def _by_brute_force(trial: Trial) -> list[Evidence]:
    """The reference layer's weights for all n queries on the circle, and for random queries on a line."""
    (n, size), rng, rule = few_keys(trial.at.n), trial.rng("line"), AttentionRule(scale=1.0)
    scale, keys = in_balls(lambda count: _scale(trial, count), n), circle_keys(n)
    weight = float(np.diagonal(attention_weights(scale * keys, keys, rule=rule)).min())
    wanted, known = (1 - trial.at.epsilon) * (1 - rounding(n, scale)), _known(trial, n, size)
    found = least_width_tried(trial, n=n, weight=weight, wanted=wanted, known=known)
    line, queries = np.sort(rng.normal(size=(_LINE_KEYS, 1)), axis=0), 100 * rng.normal(size=(_LINE_QUERIES, 1))
    middle = float(attention_weights(queries, line, rule=rule)[:, 1:-1].max())
    detail = f"on a line the inner keys get at most {middle:.6g} from {_LINE_QUERIES} queries"
    status = "holds" if middle <= 0.5 + 1e-12 and trial.form.least(n) >= 2 else "undecided"
    return smaller_case([found, Evidence(status=status, detail=detail)], tried=n, asked=trial.at.n)


def _figure(at: Settings) -> HeatMap:
    n = int(min(at.n, 24))
    keys = circle_keys(n)
    scale = float(neighbours_margin(at.epsilon, n) / circle_gap(np.pi / n))
    return HeatMap(
        title="Width 2 is enough",
        caption=f"Weights of n = {n} keys on a circle (columns) under the queries βk_j (rows), β = {scale:.4g}: each "
        "query finds its own key, in just two dimensions.",
        x=Axis(label="key", lower=1.0),
        y=Axis(label="query", lower=1.0),
        values=softmax(scale * keys @ keys.T),
        lower=0.0,
        upper=1.0,
    )


CLAIM = Claim(
    id="narrow-heads-single-out-few",
    section="1 retrieval",
    statement="a head narrower than n cannot single out each of n keys: n keys k_i with queries q_j that give a_j ≥ "
    "1−ε for every j exist only if the width of keys and queries is at least n",
    latex=r"\exists\,k_1..k_n,q_1..q_n\in\mathbb R^d:\ a_j(q_j)\ge1-\varepsilon\ \forall j\;\Longrightarrow\;d\ge n",
    expected="refuted",
    parameters=(integer("n", 10, lower=3), real("epsilon", 0.01, lower=0, upper=0.5, is_open=True)),
    conditions=("a = softmax(Kq)",),
    assumes=("the cosine falls on [0, π]",),
    # The least head width that does the task for n keys; the margin that is enough for 1−ε, and one that is needed.
    form=Form(least=lambda n: n, enough=copy_margin, needed=None),
    near_misses=(
        NearMiss("width 2 is enough for every n ≥ 3, and width 1 is not", {"least": lambda _n: 2}),
        NearMiss(
            "on the unit circle q_j = βk_j is enough from β = log((n−1)(1−ε)/ε)/(1−cos(2π/n)) on",
            {"least": lambda _n: 2, "enough": copy_margin},
        ),
        NearMiss(
            "and there β ≥ log(2(1−ε)/ε)/(1−cos(2π/n)) is needed", {"least": lambda _n: 2, "needed": neighbours_margin}
        ),
    ),
    methods={"brute force": _by_brute_force, "algebra": _by_algebra},
    derivation="Keys k_i = (cos 2πi/n, sin 2πi/n), query βk_j: the logits are β cos(2π(i−j)/n), so key j beats its "
    "two neighbours by β(1−cos(2π/n)) and every other key by more. The two neighbours alone need β = "
    "log(2(1−ε)/ε)/(1−cos(2π/n)), which is very nearly enough: 27.69 at n = 10, ε = 0.01. What narrow heads give up "
    "is not ability but scale: β ≈ n²·5.29/(2π²) at ε = 0.01. On a line (width 1) a middle key never has the largest "
    "logit.",
    source="Brody, Alon and Yahav 2023, On the expressivity role of LayerNorm in transformers' attention (keys that no "
    "query can select lie within the convex hull of the others); elementary geometry of the circle",
    figure=_figure,
)
