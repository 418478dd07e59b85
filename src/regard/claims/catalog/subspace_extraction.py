"""AAᵀ extracts v_a from the sum v_a + v_b of vectors in orthogonal subspaces."""

from regard.claims._retrieval import EXTRACTION_METHODS, SUBSPACES, subspace_chart
from regard.claims.claim import Claim, Form, NearMiss

CLAIM = Claim(
    id="subspace-extraction",
    section="1 retrieval",
    statement="A (d×m), B (d×p) with orthonormal columns and AᵀB = 0, v_a ∈ col A, v_b ∈ col B, s = v_a+v_b: "
    "M = AAᵀ gives Ms = v_a",
    latex=r"A^\top A=I,\ A^\top B=0,\ v_a=Ax,\ v_b=By\;\Rightarrow\;AA^\top(v_a+v_b)=v_a",
    expected="proved",
    parameters=SUBSPACES,
    conditions=("d = m + p + spare",),
    # M as a function of A and B, and what M(Ax + By) should be as a function of A and x.
    form=Form(matrix=lambda a, _b: a @ a.T, target=lambda a, x: a @ x),
    near_misses=(
        NearMiss("M = Aᵀ gives Ms = v_a", {"matrix": lambda a, _b: a.T}),
        NearMiss("M = BBᵀ gives Ms = v_a", {"matrix": lambda _a, b: b @ b.T}),
        NearMiss("M = AAᵀ+BBᵀ gives Ms = v_a", {"matrix": lambda a, b: a @ a.T + b @ b.T}),
    ),
    methods=EXTRACTION_METHODS,
    derivation="v_a = Ax and v_b = By for some x and y, so AAᵀ(v_a+v_b) = A(AᵀA)x + A(AᵀB)y = Ax = v_a. "
    "AAᵀ projects onto col A; the same matrix works for every pair of vectors, without knowing either.",
    source="CS224N, attention assignment, question 1(b)(i) (assignment 5 in the years that asked it)",
    figure=lambda at: subspace_chart(
        at,
        title="The projector recovers v_a",
        caption="The coordinates of v_a and of AAᵀs, where s = v_a + v_b: they agree.",
        name="AAᵀs",
        matrix=lambda a: a @ a.T,
    ),
)
