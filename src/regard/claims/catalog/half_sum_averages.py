"""Misconception: the mean of two keys, used as a query, averages their values."""

from regard.analysis.closed_forms.softmax import average_weight, other_weight
from regard.claims._retrieval import short_of_half, weight_methods
from regard.claims.claim import Claim, NearMiss, integer

CLAIM = Claim(
    id="half-sum-averages",
    section="1 retrieval",
    statement="orthonormal keys: q = ½(k_a+k_b) averages, a_a = a_b ≈ ½",
    latex=r"q=\tfrac12(k_a+k_b)\;\Rightarrow\;a_a=a_b\approx\tfrac12",
    expected="refuted",
    parameters=(integer("n", 10, lower=3),),
    conditions=("orthonormal keys", "≈ means within 0.05"),
    form=lambda _beta, n: (1 + 0 * n) / 2,
    near_misses=(
        NearMiss("a_a = √e/(2√e+n−2)", average_weight),
        NearMiss("a_a falls short of ½ by ½(n−2)/(2√e+n−2)", lambda beta, n: (1 - (n - 2) * other_weight(beta, n)) / 2),
    ),
    methods=weight_methods("a_a", "q = ½(k_a+k_b)", num_hot=2, beta=0.5),
    derivation="The logits are ½, ½ and n−2 zeros, so a_a = √e/(2√e+n−2): 0.3837 at n = 3, 0.1459 at n = 10. "
    "Averaging the keys does not average the values: it halves the logits, which flattens the softmax.",
    source="CS224N assignment 4, question 1(b)",
    figure=lambda at: short_of_half(at, beta=0.5, name="q = ½(k_a+k_b)"),
    demonstration="copy?goal=average&degrees=45&beta=0.5&n=10",
)
