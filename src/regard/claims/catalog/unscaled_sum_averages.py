"""Misconception: the plain sum of two keys averages their values."""

from regard.analysis.closed_forms.softmax import average_weight, other_weight
from regard.claims._retrieval import short_of_half, weight_methods
from regard.claims.claim import Claim, NearMiss, integer

CLAIM = Claim(
    id="unscaled-sum-averages",
    section="1 retrieval",
    statement="orthonormal keys: q = k_a+k_b already averages, a_a = a_b ≈ ½",
    latex=r"q=k_a+k_b\;\Rightarrow\;a_a=a_b\approx\tfrac12",
    expected="refuted",
    parameters=(integer("n", 10, lower=3),),
    conditions=("orthonormal keys", "≈ means within 0.05"),
    form=lambda _beta, n: (1 + 0 * n) / 2,
    near_misses=(
        NearMiss("a_a = e/(2e+n−2)", average_weight),
        NearMiss("a_a falls short of ½ by ½(n−2)/(2e+n−2)", lambda beta, n: (1 - (n - 2) * other_weight(beta, n)) / 2),
    ),
    methods=weight_methods("a_a", "q = k_a+k_b", num_hot=2, beta=1.0),
    derivation="The logits are 1, 1 and n−2 zeros, so a_a = e/(2e+n−2): 0.4223 at n = 3, 0.2023 at n = 10, "
    "and it falls with n. It is ½ only for n = 2. The scale must grow like log n (see `average-scale`).",
    source="CS224N assignment 4, question 1(b)",
    figure=lambda at: short_of_half(at, beta=1.0, name="q = k_a+k_b"),
    demonstration="copy?goal=average&degrees=45&beta=1&n=10",
)
