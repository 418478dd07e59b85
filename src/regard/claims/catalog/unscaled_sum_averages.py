"""The myth that the plain sum of two keys averages their values."""

from regard.analysis.closed_forms.retrieval import average_weight, other_weight
from regard.claims._retrieval import weight_routes
from regard.claims.claim import Claim, Rival
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter

CLAIM = Claim(
    id="unscaled-sum-averages",
    section="1 retrieval",
    statement="orthonormal keys: q = k_a+k_b already averages, a_a = a_b ≈ ½",
    latex=r"q=k_a+k_b\;\Rightarrow\;a_a=a_b\approx\tfrac12",
    expected="refuted",
    parameters=(Parameter(name="n", default=10, lower=3, is_integer=True),),
    conditions=("orthonormal keys", "≈ means within 0.05"),
    form=lambda _beta, n: (1 + 0 * n) / 2,
    rivals=(
        Rival(statement="a_a = e/(2e+n−2)", form=average_weight, becomes="proved"),
        Rival(
            statement="a_a falls short of ½ by ½(n−2)/(2e+n−2)",
            form=lambda beta, n: (1 - (n - 2) * other_weight(beta, n)) / 2,
            becomes="proved",
        ),
    ),
    routes=weight_routes("a_a", "q = k_a+k_b", num_hot=2, beta=1.0),
    derivation="The logits are 1, 1 and n−2 zeros, so a_a = e/(2e+n−2): 0.4223 at n = 3, 0.2023 at n = 10, "
    "and it falls with n. Only for n = 2 is it ½. The scale must grow like log n (claim `average-scale`).",
    source="CS224N assignment 4, question 1(b)",
    figure=retrieval.whole_sum,
)
