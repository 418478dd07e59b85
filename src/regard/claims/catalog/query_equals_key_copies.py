"""Misconception: a query equal to a key copies its value."""

import numpy as np

from regard.analysis.closed_forms.arithmetic import exp
from regard.analysis.closed_forms.softmax import copy_weight, share, uniform_weight
from regard.claims._figures import counts, guide_at
from regard.claims._retrieval import KEYS_AXIS, weight_methods
from regard.claims.claim import Claim, NearMiss, Settings, integer
from regard.render.figures import Axis, Chart, Guide, Series


def _figure(at: Settings) -> Chart:
    keys = counts(3, 1000)
    return Chart(
        title="A unit margin is not enough",
        caption="The weight on key j under q = k_j. It is below 0.58 with only three keys, and falls towards 1/n.",
        x=KEYS_AXIS,
        y=Axis(label="weight a_j", lower=0.0, upper=1.1),
        series=(
            Series(label="q = k_j", x=keys, y=copy_weight(1.0, keys)),
            Series(label="q = βk_j, β = 3 + log n", x=keys, y=copy_weight(3 + np.log(keys), keys)),
            Series(label="1/n", x=keys, y=uniform_weight(keys), style="dashed"),
        ),
        guides=(Guide(at=1.0, label="the misconception: 1"), *guide_at(at.n, f"n = {at.n:g}", keys)),
    )


CLAIM = Claim(
    id="query-equals-key-copies",
    section="1 retrieval",
    statement="orthonormal keys: if q = k_j then a_j ≈ 1",
    latex=r"q=k_j\;\Rightarrow\;a_j\approx1",
    expected="refuted",
    parameters=(integer("n", 10, lower=3),),
    conditions=("orthonormal keys", "≈ means within 0.05"),
    form=lambda _beta, n: 1 + 0 * n,
    near_misses=(
        NearMiss("a_j = e/(e+n−1)", copy_weight),
        NearMiss(
            "a_j is the largest weight one of n keys can have when all logits lie within 1 of each other",
            lambda spread, n: share(exp(spread), n - 1),
        ),
    ),
    methods=weight_methods("a_j", "q = k_j", num_hot=1, beta=1.0),
    derivation="k_jᵀq = 1 and the other n−1 logits are 0, so a_j = e/(e+n−1): 0.576 at n = 3, 0.232 at n = 10, "
    "and less than 0.58 for every n ≥ 3. A unit margin is not enough; q = βk_j copies as β grows.",
    source="CS224N assignment 4, question 1(a)",
    figure=_figure,
    demonstration="copy?goal=copy&degrees=0&beta=1&n=10",
)
