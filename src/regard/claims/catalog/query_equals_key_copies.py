"""The myth that a query equal to a key copies its value."""

from regard.analysis.closed_forms.retrieval import copy_weight, dispersed_weight
from regard.claims._retrieval import weight_routes
from regard.claims.claim import Claim, Rival
from regard.claims.figures import retrieval
from regard.claims.parameters import Parameter

CLAIM = Claim(
    id="query-equals-key-copies",
    section="1 retrieval",
    statement="orthonormal keys: if q = k_j then a_j ≈ 1",
    latex=r"q=k_j\;\Rightarrow\;a_j\approx1",
    expected="refuted",
    parameters=(Parameter(name="n", default=10, lower=3, is_integer=True),),
    conditions=("orthonormal keys", "≈ means within 0.05"),
    form=lambda _beta, n: 1 + 0 * n,
    rivals=(
        Rival(statement="a_j = e/(e+n−1)", form=copy_weight, becomes="proved"),
        Rival(
            statement="a_j is the most that one of n keys can weigh when all logits lie within 1 of each other",
            form=dispersed_weight,
            becomes="proved",
        ),
    ),
    routes=weight_routes("a_j", "q = k_j", num_hot=1, beta=1.0),
    derivation="k_jᵀq = 1 and the other n−1 logits are 0, so a_j = e/(e+n−1): 0.576 at n = 3, 0.232 at n = 10, "
    "and less than 0.58 for every n ≥ 3. A unit margin is not enough; q = βk_j copies as β grows.",
    source="CS224N assignment 4, question 1(a)",
    figure=retrieval.one_key,
)
