"""Misconception: Aᵀ alone extracts v_a from the sum v_a + v_b."""

from regard.claims._retrieval import EXTRACTION_METHODS, SUBSPACES, subspace_chart
from regard.claims.claim import Claim, Form, NearMiss

CLAIM = Claim(
    id="subspace-transpose",
    section="1 retrieval",
    statement="A (d×m), B (d×p) with orthonormal columns and AᵀB = 0, v_a ∈ col A, v_b ∈ col B, s = v_a+v_b: "
    "M = Aᵀ gives Ms = v_a",
    latex=r"A^\top A=I,\ A^\top B=0,\ v_a=Ax,\ v_b=By\;\Rightarrow\;A^\top(v_a+v_b)=v_a",
    expected="refuted",
    parameters=SUBSPACES,
    conditions=("d = m + p + spare",),
    # M as a function of A and B, and what M(Ax + By) should be as a function of A and x.
    form=Form(matrix=lambda a, _b: a.T, target=lambda a, x: a @ x),
    near_misses=(
        NearMiss("M = AAᵀ gives Ms = v_a", {"matrix": lambda a, _b: a @ a.T}),
        NearMiss("M = Aᵀ gives the m coordinates of v_a in A", {"target": lambda _a, x: x}),
    ),
    methods=EXTRACTION_METHODS,
    derivation="Aᵀ(Ax+By) = x: the m coordinates of v_a in A, a vector of m entries, while v_a = Ax has d. "
    "They agree for all v_a only if m = d and Ax = x for all x, that is, A = I. Multiplying by A gives AAᵀs = v_a.",
    source="CS224N, attention assignment, question 1(b)(i) (assignment 5 in the years that asked it)",
    figure=lambda at: subspace_chart(
        at,
        title="Coordinates are not the vector",
        caption="v_a has d coordinates; Aᵀs has only m, the coordinates of v_a in the basis A, which are different "
        "numbers.",
        name="Aᵀs",
        matrix=lambda a: a.T,
    ),
)
