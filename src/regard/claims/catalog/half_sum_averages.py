"""The myth that the mean of two keys, as a query, averages their values."""

from regard.analysis.closed_forms.retrieval import average_weight, other_weight
from regard.claims._retrieval import weight_routes
from regard.claims.claim import Claim, Rival
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter

CLAIM = Claim(
    id="half-sum-averages",
    section="1 retrieval",
    statement="orthonormal keys: q = ½(k_a+k_b) averages, a_a = a_b ≈ ½",
    latex=r"q=\tfrac12(k_a+k_b)\;\Rightarrow\;a_a=a_b\approx\tfrac12",
    expected="refuted",
    parameters=(Parameter(name="n", default=10, lower=3, is_integer=True),),
    conditions=("orthonormal keys", "≈ means within 0.05"),
    form=lambda _beta, n: (1 + 0 * n) / 2,
    rivals=(
        Rival(statement="a_a = √e/(2√e+n−2)", form=average_weight, becomes="proved"),
        Rival(
            statement="a_a falls short of ½ by ½(n−2)/(2√e+n−2)",
            form=lambda beta, n: (1 - (n - 2) * other_weight(beta, n)) / 2,
            becomes="proved",
        ),
    ),
    routes=weight_routes("a_a", "q = ½(k_a+k_b)", num_hot=2, beta=0.5),
    derivation="The logits are ½, ½ and n−2 zeros, so a_a = √e/(2√e+n−2): 0.3837 at n = 3, 0.1459 at n = 10. "
    "Averaging the keys is not averaging the values: it halves the logits, and softmax flattens.",
    source="CS224N assignment 4, question 1(b)",
    figure=retrieval.half_sum,
)
